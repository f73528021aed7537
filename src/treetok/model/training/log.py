"""The training log: one line of JSON per report and, with tensorboardX, curves for TensorBoard."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from treetok.errors import TreetokError, TreetokWarning
from treetok.install_hint import install_hint
from treetok.model.training.trainer import StepReport

LINES = "log.jsonl"
CURVES = "tensorboard"
# TensorBoard tags; curves with the same prefix are shown together.
TAGS = {
    "character": "loss/character",
    "span": "loss/span",
    "next_word": "loss/next_word",
    "parser": "loss/parser",
    "validation_character": "validation/character",
    "validation_span": "validation/span",
    "validation_next_word": "validation/next_word",
    "learning_rate": "training/learning_rate",
    "words_per_second": "training/words_per_second",
}


class TrainingLog:
    """The log in a directory; the log of an earlier run is kept and appended to.

    first_step: the step that training continues from. Points of later steps, logged by a run that was killed and
        now logged again, are hidden in the curves; their lines stay, and the last line of a step is valid.

    with TrainingLog(directory, trainer.step) as log:
        trainer.run(log.write)
    """

    def __init__(self, directory: str | os.PathLike[str], first_step: int = 0) -> None:
        self.directory, self.first_step = Path(directory), first_step
        # Opened on the first write: only one of several processes writes.
        self._curves: Any = None
        self._has_begun = False

    def write(self, report: StepReport, further: Mapping[str, object] | None = None) -> None:
        """Append a report, with further figures in its line."""
        figures = report.figures()
        try:
            if not self._has_begun:
                self.directory.mkdir(parents=True, exist_ok=True)
                self._curves = self._open_curves()
                self._has_begun = True
            with (self.directory / LINES).open("a", encoding="utf-8") as file:
                file.write(json.dumps({**figures, **(further or {})}) + "\n")
            if self._curves is not None:
                for name, tag in TAGS.items():
                    # Without a parser its loss is always 0: no curve.
                    if name in figures and (name != "parser" or report.parser):
                        self._curves.add_scalar(tag, figures[name], report.step)
        except OSError as error:
            raise TreetokError(f"cannot write the log in {self.directory}: {error.strerror or error}") from None

    def _open_curves(self) -> Any:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            warnings.warn(
                f"only {self.directory / LINES} is written, no curves for TensorBoard, which need tensorboardX:"
                f" {install_hint('train')}",
                TreetokWarning,
                stacklevel=3,
            )
            return None
        hidden_from = self.first_step + 1 if self.first_step else None
        # A thread writes the curves: a process that is killed loses the last second of them, but no line.
        # The suffix distinguishes files created in the same second.
        suffix = f".{time.time_ns()}"
        folder = str(self.directory / CURVES)
        return SummaryWriter(folder, purge_step=hidden_from, flush_secs=1, filename_suffix=suffix)

    def close(self) -> None:
        if self._curves is not None:
            self._curves.close()
            self._curves = None
        self._has_begun = False

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

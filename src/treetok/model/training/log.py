"""What training reports, kept: a line of JSON for every report and, with tensorboardX, curves for TensorBoard."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from treetok.errors import TreetokError, TreetokWarning
from treetok.model.training.trainer import StepReport

LINES = "log.jsonl"
CURVES = "tensorboard"
# The tags of TensorBoard, which puts curves whose tags begin alike together.
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


class Curves:
    """An event file as TensorBoard reads it. Written by hand, event by event: the usual writer hands events to a
    thread, which loses the last ones when the process is killed and says nothing of a full disk."""

    def __init__(self, directory: Path, first_step: int) -> None:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog
        from tensorboardX.proto.summary_pb2 import Summary

        self._event, self._summary = Event, Summary
        directory.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads all files of a directory in the order of their names.
        self._file = EventsWriter(str(directory / "events"), f".{time.time_ns()}")
        if first_step:
            start = SessionLog(status=SessionLog.START)
            self._file.write_event(Event(wall_time=time.time(), step=first_step + 1, session_log=start))

    def write(self, step: int, values: dict[str, float]) -> None:
        summary = self._summary(
            value=[self._summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        )
        self._file.write_event(self._event(wall_time=time.time(), step=step, summary=summary))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class TrainingLog:
    """The log in a directory; what an earlier run wrote there is kept and gone on from.

    first_step: the step that training goes on from. Curves of later steps, which a run that was killed has drawn
        and this one draws again, are hidden; their lines stay, and the last line of a step is the one that counts.

    with TrainingLog(directory, trainer.step) as log:
        trainer.run(log.write)
    """

    def __init__(self, directory: str | os.PathLike[str], first_step: int = 0) -> None:
        self.directory, self.first_step = Path(directory), first_step
        # Opened when there is something to write: of several processes only one writes.
        self._curves: Curves | None = None
        self._has_begun = False

    def write(self, report: StepReport, further: Mapping[str, object] | None = None) -> None:
        """Add a report, and further figures to its line."""
        figures = report.figures()
        try:
            if not self._has_begun:
                self.directory.mkdir(parents=True, exist_ok=True)
                self._curves = self._open_curves()
                self._has_begun = True
            with (self.directory / LINES).open("a", encoding="utf-8") as file:
                file.write(json.dumps({**figures, **(further or {})}) + "\n")
            if self._curves is not None:
                # Without a parser its loss is 0 throughout: no curve.
                names = [name for name in TAGS if name in figures and (name != "parser" or report.parser)]
                self._curves.write(report.step, {TAGS[name]: figures[name] for name in names})
        except OSError as error:
            raise TreetokError(f"cannot write the log in {self.directory}: {error.strerror or error}") from None

    def _open_curves(self) -> Curves | None:
        try:
            return Curves(self.directory / CURVES, self.first_step)
        except ImportError:
            warnings.warn(
                f"only {self.directory / LINES} is written, no curves for TensorBoard, which need tensorboardX:"
                " pip install 'treetok[train]'",
                TreetokWarning,
                stacklevel=3,
            )
            return None

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

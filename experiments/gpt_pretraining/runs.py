"""What came out of the training of each model: one small file for each, from which tables are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpt_pretraining.training import Curve
from treetok.errors import TreetokError, first_difference
from whole_file import write_whole

FIGURES = ("parameters", "tokens", "bytes", "steps", "flops", "seconds", "device", "frequency_mismatch")


@dataclass(frozen=True)
class PretrainingRun:
    """
    tokenizer, entries: the tokenizer's name and size.
    table: what identifies the ids that the tokenizer makes of the text's words.
    size: the name of the model's size.
    settings: of the model and its training, and what identifies the texts.
    figures: parameters, tokens, steps, floating-point operations, seconds and device; and, by held-out text,
        `frequency_mismatch`.
    nats: of every held-out document, by text.
    """

    tokenizer: str
    entries: int
    table: str
    size: str
    seed: int
    settings: dict[str, Any]
    figures: dict[str, Any]
    curve: Curve
    nats: dict[str, list[float]]

    @property
    def name(self) -> str:
        return run_name(self.tokenizer, self.entries, self.size, self.seed)

    def save(self, folder: Path) -> None:
        write_whole(folder / f"{self.name}.json", json.dumps(asdict(self)) + "\n")

    @classmethod
    def load(cls, path: Path) -> PretrainingRun:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            run = cls(**content | {"curve": Curve(**content["curve"])})
            run.check()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TreetokError(f"{path} has nothing of a pretrained model: {error!r}; remove it") from None
        return run

    def check(self) -> None:
        """Raise an error if parts are missing."""
        sizes: dict[str, list[int]] = self.settings["held_out_bytes"]
        if {text: len(nats) for text, nats in self.nats.items()} != {text: len(of) for text, of in sizes.items()}:
            raise ValueError("nats are not those of the held-out documents")
        for name in FIGURES:
            self.figures[name]


def label(tokenizer: str, entries: int) -> str:
    """A tokenizer in the names of files.

    >>> label("TreeTok en", 32000)
    'TreeTok-en-32000'
    """
    return f"{tokenizer}-{entries}".replace(" ", "-").replace("/", "-").lstrip("-")


def run_name(tokenizer: str, entries: int, size: str, seed: int) -> str:
    """
    >>> run_name("TreeTok en", 32000, "small", 0)
    'TreeTok-en-32000-small-seed0'
    """
    return f"{label(tokenizer, entries)}-{size}-seed{seed}"


def finished_run(folder: Path, name: str, settings: dict[str, Any], table: str) -> PretrainingRun | None:
    """The run of this name, if it is in the folder; an error if it has other settings or another tokenizer."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    found = PretrainingRun.load(path)
    wanted = json.loads(json.dumps(settings))
    if found.settings != wanted:
        difference = first_difference(found.settings, wanted)
        raise TreetokError(f"{path} is of another training: {difference}; remove it, or choose other --runs")
    if found.table != table:
        raise TreetokError(f"{path} is of another tokenizer of this name; remove it, or choose other --runs")
    return found


def load_runs(folder: Path) -> list[PretrainingRun]:
    """All runs in a folder. Those of one size must have been trained alike, and all measured on the same text."""
    runs = [PretrainingRun.load(path) for path in sorted(folder.glob("*-seed*.json"))]
    check_alike(runs)
    return runs


def check_alike(runs: Sequence[PretrainingRun]) -> None:
    first_of_size: dict[str, PretrainingRun] = {}
    for run in runs:
        first = first_of_size.setdefault(run.size, run)
        if run.settings != first.settings:
            difference = first_difference(run.settings, first.settings)
            raise TreetokError(
                f"{run.name} cannot be compared with {first.name}: {difference}; remove one of them"
            )

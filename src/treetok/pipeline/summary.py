"""The table printed at the end of a run: stages, time, peak memory, figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treetok.pipeline.run_directory import StageRecord
from treetok.pipeline.train_tokenizer import Trained
from treetok.progress import in_minutes, in_units

STEPS = "steps"


def summary(trained: Trained) -> str:
    """
    >>> from treetok.pipeline.run_directory import StageRecord
    >>> record = StageRecord({}, {}, {"words": 5}, 61.0, {"cpu": 2_000_000})
    >>> print(summary(Trained(None, {"words": record}, set())))
    stage    time    peak memory  figures
    words    1:01    2.0 MB       5 words
    """
    rows = [("stage", "time", "peak memory", "figures")]
    kept_short = False
    for name, record in trained.stages.items():
        seconds = in_minutes(record.seconds) + (" *" if name in trained.done_before else "")
        memory = ", ".join(
            in_units(amount, "B") + (f" {kind.upper()}" if kind != "cpu" else "")
            for kind, amount in record.peak_memory.items()
        )
        figures = figures_as_text(record.figures)
        if is_cut_short(record):
            others = {figure: value for figure, value in record.figures.items() if figure != STEPS}
            taken, planned = record.figures[STEPS], record.inputs["training"][STEPS]
            figures = f"{taken} of {planned} steps, {figures_as_text(others)}"
            kept_short = kept_short or name in trained.done_before
        rows.append((name, seconds, memory, figures))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "    ".join(cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True))
        + f"    {row[2].ljust(widths[2])}  {row[3]}"
        for row in rows
    ]
    if trained.done_before:
        lines.append("* done in an earlier run")
    if kept_short:
        lines.append(
            "a model that --minutes cut short is kept as it is: to train it longer, choose another directory"
        )
    return "\n".join(line.rstrip() for line in lines)


def is_cut_short(record: StageRecord) -> bool:
    """Whether a model was trained for fewer steps than planned, for lack of time."""
    planned, taken = record.inputs.get("training", {}).get(STEPS), record.figures.get(STEPS)
    return isinstance(planned, int) and isinstance(taken, int) and taken < planned


def figures_as_text(figures: Mapping[str, Any]) -> str:
    """Integers go before their names, all other values after.

    >>> figures_as_text({"words": 1200, "method": "bpe", "parser_agreement_unseen": 0.91})
    '1200 words, method bpe, parser agreement unseen 0.91'
    """
    return ", ".join(
        f"{value} {name.replace('_', ' ')}" if type(value) is int else f"{name.replace('_', ' ')} {value}"
        for name, value in figures.items()
    )

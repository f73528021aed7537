"""The curves of training: bits per byte of unseen training text, over the text and over the operations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpt_pretraining.runs import PretrainingRun
from gpt_pretraining.tables import Runs, by_tokenizer, tables_of_runs, with_common_seeds
from treetok.evaluate.plot import PANEL_SIZE, STYLE

# Points of a curve that are averaged, and those at the beginning that are left out: they are far above the rest.
SMOOTHED, LEFT_OUT = 10, 0.1

Floats = npt.NDArray[np.float64]


def smoothed(values: Floats, width: int = SMOOTHED) -> Floats:
    """The mean of every `width` points in a row.

    >>> smoothed(np.array([1.0, 3.0, 5.0, 7.0]), 2).tolist()
    [2.0, 4.0, 6.0]
    """
    width = min(width, len(values))
    return np.convolve(values, np.full(width, 1 / width), mode="valid")


def mean_curve(runs: Runs, quantity: str) -> tuple[Floats, Floats]:
    """The curve over some quantity, averaged over seeds, which have the same text in other orders."""
    points = min(len(run.curve.bits_per_byte) for run in runs)
    first = round(LEFT_OUT * points)
    bits = np.mean([run.curve.bits_per_byte[first:points] for run in runs], axis=0)
    return smoothed(np.array(getattr(runs[0].curve, quantity)[first:points], dtype=np.float64)), smoothed(bits)


def draw(target: Path, runs: list[PretrainingRun]) -> None:
    """A row for each size of model and of vocabulary."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    groups = tables_of_runs(runs)
    quantities = {"bytes_seen": ("megabytes of text", 1e6), "flops": ("operations (10^15)", 1e15)}
    with rc_context(STYLE):
        figure = Figure(figsize=(PANEL_SIZE[0] * 2, PANEL_SIZE[1] * len(groups)), layout="constrained")
        rows = figure.subplots(len(groups), 2, squeeze=False)
        for axes_of_row, (title, chosen) in zip(rows, groups.items(), strict=True):
            for axes, (quantity, (name, unit)) in zip(axes_of_row, quantities.items(), strict=True):
                last = 0.0
                for tokenizer, of_seeds in by_tokenizer(with_common_seeds(chosen)).items():
                    at, bits = mean_curve(of_seeds, quantity)
                    axes.plot(at / unit, bits, label=tokenizer)
                    last = max(last, at[-1] / unit)
                axes.set_title(title)
                axes.set_xscale("log")
                # Labels of logarithmic axes are formulas, which are off.
                ticks = [last / 8, last / 4, last / 2, last]
                axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
                axes.minorticks_off()
                axes.set_xlabel(name)
                axes.set_ylabel("bits per byte of training text")
                axes.grid(alpha=0.3)
                axes.legend(frameon=False, fontsize="small", loc="upper right")
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, format="svg", metadata={"Date": None})

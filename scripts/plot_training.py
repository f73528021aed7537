"""Plot tree recall and losses against steps, from the logs of a training run.

    python scripts/plot_training.py my-tokenizer/training curves.svg

Tree recall is there if the run watched gold segmentations (`treetok train --gold`).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

from treetok import TreetokError
from treetok.cli.script_errors import run
from treetok.install_hint import install_hint

LOSSES = ("character", "span", "next_word")

Curves = dict[str, list[tuple[float, float]]]


def read_curves(directory: Path) -> tuple[Curves, Curves]:
    """Recall and validation losses by name: steps, counted on from model to model, and values."""
    logs = sorted(directory.glob("member-*/log.jsonl"), key=lambda path: int(path.parent.name.split("-")[1]))
    if not logs:
        raise TreetokError(f"{directory} has no logs of training (member-1/log.jsonl and so on)")
    recalls: Curves = defaultdict(list)
    losses: Curves = defaultdict(list)
    before = 0
    for log in logs:
        # Of a step that was taken twice the last line counts.
        lines = {(line := json.loads(text))["step"]: line for text in log.read_text(encoding="utf-8").splitlines()}
        for step, line in sorted(lines.items()):
            for name, value in line.items():
                if name.startswith("recall_"):
                    recalls[name.removeprefix("recall_")].append((before + step, value[0]))
            for name in LOSSES:
                if f"validation_{name}" in line:
                    losses[name.replace("_", " ")].append((before + step, line[f"validation_{name}"]))
        before += max(lines, default=0)
    return recalls, losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="DIR/training of a run")
    parser.add_argument(
        "picture", type=Path, help="where the picture goes; its ending says which kind: .svg, .png"
    )
    options = parser.parse_args()
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TreetokError(f"plotting needs matplotlib: {install_hint('eval')}") from None
    recalls, losses = read_curves(options.directory)
    panels = [
        (title, curves) for title, curves in (("tree recall, %", recalls), ("validation loss", losses)) if curves
    ]
    if not panels:
        raise TreetokError(f"the logs in {options.directory} have neither recall nor validation losses")
    figure = Figure(figsize=(6.4 * len(panels), 4.2), layout="constrained")
    for axes, (title, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for name, points in sorted(curves.items()):
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=f"{name}: {points[-1][1]:.1f}")
        axes.set(title=title, xlabel="steps, all models in turn")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(options.picture)


if __name__ == "__main__":
    run(main)

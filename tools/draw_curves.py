"""Draw tree recall against time from the log of a training run: of the committee as far as it is trained.

python tools/draw_curves.py run.jsonl docs/training-curve.svg
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from xml.sax.saxutils import escape

from treetok import TreetokError
from treetok.cli.script import run

WIDTH, HEIGHT, MARGIN, KEY_WIDTH = 640, 360, 48, 190
COLOURS = ["#1f6fb2", "#c7502b", "#3a8f4d", "#7b4fa3", "#8a6d1d"]
NAMES = {"morpho2010_en": "Morpho", "compound_en": "Compound"}


def curves_of(lines: list[str]) -> dict[str, list[tuple[float, float]]]:
    """Name of a gold set -> minutes and recall, leaves counted, of the trees as they are read by default.

    >>> curves_of(['{"seconds": 60, "gold": [80.0, 70.0]}', '{"seconds": 61, "span": 3.5}'])
    {'gold': [(1.0, 80.0)]}
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        news = json.loads(line)
        for name, value in news.items():
            if isinstance(value, list) and len(value) == 2 and not name.endswith("as_in_the_paper"):
                curves.setdefault(name, []).append((news["seconds"] / 60, value[0]))
    return curves


def beginnings_of(lines: list[str]) -> list[float]:
    """The minutes at which the training of a member began.

    >>> beginnings_of(['{"seconds": 30, "starting_at": 0}', '{"seconds": 60, "step": 5}'])
    [0.5]
    """
    return [news["seconds"] / 60 for news in map(json.loads, lines) if "starting_at" in news]


def drawing(curves: dict[str, list[tuple[float, float]]], beginnings: list[float]) -> str:
    points = [point for curve in curves.values() for point in curve]
    last = max(minutes for minutes, _ in points)
    low = 5 * int(min(recall for _, recall in points) // 5)
    high = 5 * int(max(recall for _, recall in points) // 5 + 1)
    right, bottom = WIDTH - KEY_WIDTH, HEIGHT - MARGIN

    def x(minutes: float) -> float:
        return round(MARGIN + (right - MARGIN) * minutes / last, 1)

    def y(recall: float) -> float:
        return round(bottom - (bottom - MARGIN) * (recall - low) / (high - low), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="14">Tree recall while training (leaves counted, %)</text>',
    ]
    for recall in range(low, high + 1, 5):
        parts.append(f'<path d="M{MARGIN} {y(recall)}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 8}" y="{y(recall) + 4}" text-anchor="end">{recall}</text>')
    for minutes in range(int(last) + 1):
        parts.append(f'<text x="{x(minutes)}" y="{bottom + 18}" text-anchor="middle">{minutes}</text>')
    parts.append(
        f'<text x="{(MARGIN + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">minutes since the start</text>'
    )
    for member, minutes in enumerate(beginnings, start=1):
        place = f'x="{x(minutes) + 4}" y="{MARGIN - 6}" fill="#777"'
        parts.append(f'<path d="M{x(minutes)} {MARGIN - 14}V{bottom}" stroke="#999" stroke-dasharray="3 4"/>')
        parts.append(f"<text {place}>model {member}</text>")
    for number, (name, curve) in enumerate(sorted(curves.items(), key=lambda item: -item[1][-1][1])):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x(minutes)},{y(recall)}" for minutes, recall in curve)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(a)}" cy="{y(b)}" r="2.5" fill="{colour}"/>' for a, b in curve]
        label = f"{NAMES.get(name, name)}: {curve[-1][1]:.1f}"
        key = MARGIN + 12 + 20 * number
        parts.append(f'<rect x="{right + 16}" y="{key - 9}" width="12" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{right + 34}" y="{key - 2}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    lines = options.log.read_text(encoding="utf-8").splitlines()
    if not curves_of(lines):
        raise TreetokError(f"{options.log} has no recall: train with --gold")
    options.picture.write_text(drawing(curves_of(lines), beginnings_of(lines)), encoding="utf-8")


if __name__ == "__main__":
    run(main)

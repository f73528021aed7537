"""A picture of a comparison: how long text becomes against how well words are cut, a point a tokenizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

PANEL_WIDTH, HEIGHT, MARGIN, TOP = 460, 380, 56, 44
LETTER_WIDTH, LINE_HEIGHT = 6.6, 14
COLOURS = ["#1f6fb2", "#c7502b", "#3a8f4d", "#7b4fa3", "#8a6d1d", "#b0307a", "#3d8b8b", "#555555"]
MOST_TICKS = 7


@dataclass(frozen=True)
class Point:
    """`low` and `high` say how sure `y` is."""

    name: str
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    title: str
    x_label: str
    y_label: str
    points: list[Point]


def draw_panels(panels: Sequence[Panel]) -> str:
    """The panels side by side, as SVG. A name has the same colour in all of them."""
    names = list(dict.fromkeys(point.name for panel in panels for point in panel.points))
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    width = PANEL_WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
        ' role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape('; '.join(panel.title for panel in panels))}</title>",
        f'<rect width="{width}" height="{HEIGHT}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        parts += [f'<g transform="translate({number * PANEL_WIDTH} 0)">', *draw_panel(panel, colours), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def draw_panel(panel: Panel, colours: dict[str, str]) -> list[str]:
    x_ticks = ticks([point.x for point in panel.points])
    y_ticks = ticks([end for point in panel.points for end in (point.low, point.high)])
    left, right, bottom = MARGIN, PANEL_WIDTH - 24, HEIGHT - MARGIN

    def across(x: float) -> float:
        return round(left + (right - left) * (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]), 1)

    def up(y: float) -> float:
        return round(bottom - (bottom - TOP) * (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]), 1)

    middle = (left + right) / 2
    parts = [f'<text x="{left}" y="24" font-size="14">{escape(panel.title)}</text>']
    for y in y_ticks:
        parts.append(f'<path d="M{left} {up(y)}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{up(y) + 4}" text-anchor="end">{y:g}</text>')
    for x in x_ticks:
        parts.append(f'<path d="M{across(x)} {TOP}V{bottom}" stroke="#eee"/>')
        parts.append(f'<text x="{across(x)}" y="{bottom + 18}" text-anchor="middle">{x:g}</text>')
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escape(panel.x_label)}</text>')
    parts.append(
        f'<text transform="translate(16 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(panel.y_label)}</text>"
    )
    for point in panel.points:
        x, colour = across(point.x), colours[point.name]
        parts.append(f'<path d="M{x} {up(point.low)}V{up(point.high)}" stroke="{colour}" stroke-opacity="0.5"/>')
        parts.append(f'<circle cx="{x}" cy="{up(point.y)}" r="4.5" fill="{colour}"/>')
    places = place_labels([(across(point.x), up(point.y), point.name) for point in panel.points], left, right)
    for point, (x, y) in zip(panel.points, places, strict=True):
        parts.append(f'<text x="{x:g}" y="{y:g}" fill="{colours[point.name]}">{escape(point.name)}</text>')
    return parts


def place_labels(marks: list[tuple[float, float, str]], left: float, right: float) -> list[tuple[float, float]]:
    """Where the names of marks begin: on the side that has room, moved up where they would overlap."""
    places: dict[int, tuple[float, float]] = {}
    taken: list[tuple[float, float, float]] = []
    # From the lowest upwards.
    for number in sorted(range(len(marks)), key=lambda number: -marks[number][1]):
        x, y, name = marks[number]
        width = LETTER_WIDTH * len(name)
        start = x + 9 if x + 9 + width <= right else max(left, x - 9 - width)
        base = y + 4
        while any(
            start < other_end and other_start < start + width and abs(base - other_base) < LINE_HEIGHT
            for other_start, other_end, other_base in taken
        ):
            base -= 1
        taken.append((start, start + width, base))
        places[number] = (round(start, 1), round(base, 1))
    return [places[number] for number in range(len(marks))]


def ticks(values: list[float]) -> list[float]:
    """Round numbers evenly spaced that enclose all values.

    >>> ticks([1.32, 1.07, 1.18]), ticks([42.0, 67.5])
    ([1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35], [40, 45, 50, 55, 60, 65, 70])
    >>> ticks([3.0])
    [2.85, 2.9, 2.95, 3.0, 3.05, 3.1, 3.15]
    """
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.15, high + 0.15
    power = math.floor(math.log10((high - low) / MOST_TICKS))
    for step in (mantissa * 10.0 ** (power + shift) for shift in (0, 1) for mantissa in (1, 2, 5)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < MOST_TICKS:
            break
    digits = max(0, 1 - power)
    numbers = [round(number * step, digits) for number in range(first, last + 1)]
    return [int(number) for number in numbers] if step >= 1 else numbers

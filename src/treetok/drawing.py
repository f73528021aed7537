"""Draw a tree: box-drawing characters for the terminal, SVG for everything else."""

from __future__ import annotations

import unicodedata
from html import escape

from treetok.control_characters import escape_controls
from treetok.tree import LEAF, Tree

# A drawing takes up to n rows of n columns; longer words are shown as brackets, which say the same.
LONGEST_DRAWN = 200


def node_rows(tree: Tree) -> list[tuple[int, int, int, int]]:
    """(start, end, split, height) of every node, children before parents; leaves have height 0."""
    heights: dict[tuple[int, int], int] = {}
    rows = []
    for start, end, split in reversed(list(tree.nodes())):
        height = 0
        if split != LEAF:
            height = 1 + max(heights[start, split + 1], heights[split + 1, end])
        heights[start, end] = height
        rows.append((start, end, split, height))
    return rows


def visible(character: str) -> str:
    """Replace characters that would not be visible with a placeholder about one column wide."""
    if character == " ":
        return "␣"
    category = unicodedata.category(character)
    if category.startswith("M"):
        return "◌" + character
    if category.startswith(("C", "Z")):
        return "�"
    return character


def draw_text(tree: Tree) -> str:
    """Letters in the last row, nodes above them.

    >>> print(draw_text(Tree("ask", [1, 2])))
     ┌┴─┐
    ┌┴┐ │
    a s k
    """
    if len(tree.text) > LONGEST_DRAWN:
        return escape_controls(tree.brackets())
    rows = node_rows(tree)
    top = rows[-1][3]
    columns = 2 * len(tree.text) - 1
    canvas = [[" "] * columns for _ in range(top)]
    middle: dict[tuple[int, int], int] = {}
    level: dict[tuple[int, int], int] = {}
    for start, end, split, height in rows:
        if split == LEAF:
            middle[start, end], level[start, end] = 2 * start, 0
            continue
        children = ((start, split + 1), (split + 1, end))
        x_left, x_right = (middle[child] for child in children)
        row = canvas[top - height]
        for x in range(x_left + 1, x_right):
            row[x] = "─"
        row[x_left], row[x_right] = "┌", "┐"
        x_middle = (x_left + x_right) // 2
        row[x_middle] = "┴"
        for child, x in zip(children, (x_left, x_right), strict=True):
            for between in range(level[child] + 1, height):
                canvas[top - between][x] = "│"
        middle[start, end], level[start, end] = x_middle, height
    letters = ""
    for character in tree.text:
        wide = unicodedata.east_asian_width(character) in "WF"
        letters += visible(character) + ("" if wide else " ")
    return "\n".join(["".join(row).rstrip() for row in canvas] + [letters.rstrip()])


def draw_svg(tree: Tree) -> str:
    """Letters along the bottom, straight lines from each node to its two children."""
    step, row_height, margin, font = 24, 26, 20, 18
    rows = node_rows(tree)
    top = rows[-1][3]
    width = 2 * margin + step * (len(tree.text) - 1)
    height = 2 * margin + row_height * top + font
    baseline = margin + row_height * top
    position: dict[tuple[int, int], tuple[float, float]] = {}
    lines, letters = [], []
    for start, end, split, node_height in rows:
        if split == LEAF:
            x, y = margin + step * start * 1.0, baseline * 1.0
            shown = escape(visible(tree.text[start]))
            letters.append(f'<text x="{x:g}" y="{y + font:g}">{shown}</text>')
        else:
            children = [position[start, split + 1], position[split + 1, end]]
            x = (children[0][0] + children[1][0]) / 2
            y = baseline - row_height * node_height * 1.0
            lines += [f'<path d="M{x:g} {y:g}L{cx:g} {cy:g}"/>' for cx, cy in children]
        position[start, end] = (x, y)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img">',
            f"<title>{escape(''.join(map(visible, tree.text)))}</title>",
            '<g stroke="currentColor" stroke-width="1.5" stroke-linecap="round">',
            *lines,
            "</g>",
            f'<g font-family="sans-serif" font-size="{font}" text-anchor="middle" fill="currentColor">',
            *letters,
            "</g>",
            "</svg>",
            "",
        ]
    )


def draw_html(tree: Tree) -> str:
    """A picture; brackets if it would be too large."""
    return (
        draw_svg(tree)
        if len(tree.text) <= LONGEST_DRAWN
        else f"<pre>{escape(escape_controls(tree.brackets()))}</pre>"
    )

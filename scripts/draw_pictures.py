"""Pictures for docs/how-it-works.md, drawn from what the shipped `en` does.

python scripts/draw_pictures.py docs/pictures
"""

from __future__ import annotations

import sys
from html import escape
from itertools import accumulate, pairwise
from pathlib import Path

from treetok import Tree, TreeTokenizer
from treetok.drawing import node_rows
from treetok.tree import LEAF, with_leading_space

STEP, ROW, MARGIN, FONT = 30, 30, 24, 18
COLOURS = ("#b9daf8", "#f8d9b9", "#b9f8cb", "#f8b9d9", "#f3ecb0", "#d9c4f8")


class Picture:
    def __init__(self) -> None:
        self.shapes: list[str] = []

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        self.shapes.append(f'<text x="{x:g}" y="{y:g}"{style}>{escape(text)}</text>')

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str = "") -> None:
        points = f"M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}"
        self.shapes.append(f'<path d="{points}" stroke="black" stroke-width="1.5"{style}/>')

    def box(self, x: float, y: float, width: float, text: str, fill: str = "none") -> None:
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{FONT + 12}" rx="5" fill="{fill}"'
            ' stroke="black" stroke-opacity="0.4"/>'
        )
        self.text(x + width / 2, y + FONT + 1, text)

    def svg(self, width: float, height: float, title: str) -> str:
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
                f' height="{height:g}" role="img">',
                f"<title>{escape(title)}</title>",
                f'<g font-family="sans-serif" font-size="{FONT}" text-anchor="middle">',
                *self.shapes,
                "</g>",
                "</svg>",
                "",
            ]
        )


def word_picture(tok: TreeTokenizer, word: str) -> str:
    """The tree of a word inside a sentence. Matching goes down the black lines and stops at dots; if post-merge
    joins pieces, what comes of it is a row below."""
    segmenter = tok.state.segmenter()
    text, scores = " " + word, with_leading_space(tok.tree(word).scores())
    matched, merged = segmenter.match_top_down(text, scores), segmenter.cut(text, scores)
    stops = set(spans(matched))
    picture = Picture()
    rows = node_rows(Tree(text, scores))
    letters_y = MARGIN + ROW * rows[-1][3]
    position: dict[tuple[int, int], tuple[float, float]] = {}
    for start, end, split, height in rows:
        if split == LEAF:
            position[start, end] = MARGIN + STEP * start, letters_y
            picture.text(MARGIN + STEP * start, letters_y + FONT, shown(text[start]))
            continue
        children = [(start, split + 1), (split + 1, end)]
        x = sum(position[child][0] for child in children) / 2
        position[start, end] = x, letters_y - ROW * height
        is_inside = any(first <= start and end <= last for first, last in stops)
        for child in children:
            picture.line(position[start, end], position[child], ' stroke-opacity="0.2"' if is_inside else "")
    for start, end in stops:
        x, y = position[start, end]
        picture.shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="5"/>')
    y = letters_y + 2 * FONT
    for pieces in [matched] if matched == merged else [matched, merged]:
        for number, (start, end) in enumerate(spans(pieces)):
            fill = COLOURS[number % len(COLOURS)]
            picture.box(
                MARGIN + STEP * (start - 0.45), y, STEP * (end - start - 0.1), shown(text[start:end]), fill
            )
        y += FONT + 22
    return picture.svg(2 * MARGIN + STEP * (len(text) - 1), y, f"How {word} is segmented")


def shown(text: str) -> str:
    return text.replace(" ", "␣")


def spans(pieces: list[str]) -> list[tuple[int, int]]:
    """
    >>> spans(["wind", "surf"])
    [(0, 4), (4, 8)]
    """
    return list(pairwise(accumulate(map(len, pieces), initial=0)))


def text_picture(tok: TreeTokenizer, text: str) -> str:
    """A text, its words, their tokens, and the ids of these."""
    encoding = tok.encode_with_offsets(text)
    widths = [max(11 * len(token) + 10, 52) for token in encoding.tokens]
    starts = list(accumulate(widths, lambda x, width: x + width + 8, initial=110))
    picture = Picture()
    row = 64
    for number, name in enumerate(["text", "words", "tokens", "ids"]):
        picture.text(8, MARGIN + FONT + row * number, name, ' text-anchor="start" font-style="italic"')
    picture.box(110, MARGIN, starts[-1] - 118, shown(text))
    words = tok.state.text_profile.split(text)
    for number, word in enumerate(words):
        tokens = [place for place, word_id in enumerate(encoding.word_ids) if word_id == number]
        left, right = starts[tokens[0]], starts[tokens[-1] + 1] - 8
        picture.line(((left + right) / 2, MARGIN + FONT + 12), ((left + right) / 2, MARGIN + row))
        picture.box(left, MARGIN + row, right - left, shown(word))
        for place in tokens:
            x = starts[place] + widths[place] / 2
            picture.line((x, MARGIN + row + FONT + 12), (x, MARGIN + 2 * row))
            picture.box(
                starts[place],
                MARGIN + 2 * row,
                widths[place],
                shown(encoding.tokens[place]),
                COLOURS[place % len(COLOURS)],
            )
            picture.line((x, MARGIN + 2 * row + FONT + 12), (x, MARGIN + 3 * row))
            picture.text(x, MARGIN + 3 * row + FONT, str(encoding.ids[place]))
    return picture.svg(starts[-1] + MARGIN, MARGIN * 2 + 3 * row + FONT, f"How '{text}' becomes ids")


def training_picture() -> str:
    """What comes from what when a tokenizer is trained."""
    picture = Picture()
    middle, width = 90, 150
    names = ["raw text", "neural model", "trees"]
    for number, name in enumerate(names):
        x = 10 + 190 * number
        picture.box(x, middle - 15, width, name, COLOURS[0])
        picture.line((x + width, middle), (x + 190, middle))
    picture.shapes.append(
        '<rect x="580" y="8" width="190" height="164" rx="8" fill="none" stroke="black" stroke-dasharray="5 4"/>'
    )
    for y, name in zip((35, 90, 145), ("lexicon", "parser", "vocabulary"), strict=True):
        picture.line((580, middle), (600, y))
        picture.box(600, y - 15, width, name, COLOURS[1])
    picture.text(675, 192, "the tokenizer", ' font-style="italic"')
    return picture.svg(790, 200, "What a tokenizer is made from")


def pictures() -> dict[str, str]:
    """Files and what is in them."""
    tok = TreeTokenizer.load("en")
    return {
        "text-to-ids.svg": text_picture(tok, "The mistranslated paperbacks."),
        "top-down.svg": word_picture(tok, "windsurfing"),
        "post-merge.svg": word_picture(tok, "unreasonably"),
        "training.svg": training_picture(),
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (Path(sys.argv[1]) / name).write_text(svg, encoding="utf-8")

"""Count the tokens, words and characters of files, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from treetok.corpus.blocks import blocks_of_words
from treetok.corpus.lines import decode
from treetok.corpus.reading import has_rows, read_blocks, read_texts
from treetok.corpus.rows import Report
from treetok.encode_files import size_of, together
from treetok.progress import Progress

COUNTED_AT_ONCE = 4 << 20
# A list of the words is made, which takes several times the memory.
SPLIT_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class TextCounts:
    """Words are separated by whitespace, as `wc -w` counts them."""

    tokens: int = 0
    words: int = 0
    characters: int = 0

    def __add__(self, other: TextCounts) -> TextCounts:
        return TextCounts(self.tokens + other.tokens, self.words + other.words, self.characters + other.characters)


def count_files(
    encoder: Any, files: list[Path], text_column: str, threads: int, progress: Progress
) -> list[TextCounts]:
    counts = []
    before = 0
    with progress.stage("counting", sum(map(size_of, files)), "B") as stage:
        for path in files:
            parts = counts_of_parts(encoder, path, text_column, threads, partial(stage.at_offset, before))
            counts.append(sum(parts, start=TextCounts()))
            before += size_of(path)
            stage.at(before)
    return counts


def counts_of_parts(
    encoder: Any, path: Path, text_column: str, threads: int, report: Report
) -> Iterator[TextCounts]:
    if has_rows(path):
        for texts in together(read_texts(path, text_column, report), COUNTED_AT_ONCE):
            ids, _ = encoder.encode_flat(texts, threads)
            yield TextCounts(len(ids), sum(map(number_of_words, texts)), sum(map(len, texts)))
    else:
        before = ""
        for line, block in blocks_of_words(read_blocks(path, report), COUNTED_AT_ONCE):
            text = decode(block, path, line)
            words = number_of_words(text) - is_one_word(before, text[:1])
            before = text[-1:]
            yield TextCounts(len(encoder.encode_utf8(block, threads)), words, len(text))


def number_of_words(text: str) -> int:
    """As many as `text.split()` has, without a list of all of them.

    >>> number_of_words("two words")
    2
    """
    starts = range(0, len(text), SPLIT_AT_ONCE)
    words = sum(len(text[start : start + SPLIT_AT_ONCE].split()) for start in starts)
    return words - sum(is_one_word(text[start - 1 : start], text[start]) for start in starts[1:])


def is_one_word(before: str, after: str) -> bool:
    """Whether a word goes on from one character to the next; there may be none."""
    return bool(before and after) and not before.isspace() and not after.isspace()

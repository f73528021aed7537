"""Count the tokens, words and characters of files, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from treetok.corpus.reading import decode, has_rows, read_blocks, read_texts
from treetok.encode_files import Report, blocks_of_words, size_of, together
from treetok.progress import Progress

# A list of the words of a block is made, which takes several times its size.
COUNTED_AT_ONCE = 4 << 20


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
            yield TextCounts(len(ids), sum(len(text.split()) for text in texts), sum(map(len, texts)))
    else:
        for line, block in blocks_of_words(read_blocks(path, report), COUNTED_AT_ONCE):
            text = decode(block, path, line)
            yield TextCounts(len(encoder.encode_utf8(block, threads)), len(text.split()), len(text))

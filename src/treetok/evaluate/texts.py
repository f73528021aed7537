"""Held-out text, one sentence per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from treetok.corpus.compression import COMPRESSIONS
from treetok.corpus.reading import JSON_LINES, PARQUET, read_texts
from treetok.errors import TreetokError

# End of a sentence in WikiText: a full stop with spaces around it.
END_OF_SENTENCE = re.compile(r"(?<=\s[.!?])\s+")
# End of a sentence in other text. Also splits after "Mr.": good enough for training text, which is not scored.
LIKELY_END = re.compile(r"(?<=[.!?])\s+(?=[^\sa-z\d])")


@dataclass(frozen=True)
class HeldOutText:
    """The sentences of a text that nothing was trained on; none is blank."""

    name: str
    sentences: list[str]


def read_text(path: str | Path, split_sentences: bool = False) -> HeldOutText:
    """Read a file with one sentence per line; blank lines are skipped.

    split_sentences: lines are paragraphs as in WikiText, to be split after every full stop with spaces around it;
        the sentence lengths in the paper's Table 2 assume this.
    """
    sentences = list(sentences_of(Path(path), split_sentences))
    if not sentences:
        raise TreetokError(f"{path} has no text")
    return HeldOutText(name_of(path), sentences)


def first_sentences(paths: list[Path], characters: int) -> list[str]:
    """Sentences from the start of the files, about as many as make up this number of characters."""
    taken: list[str] = []
    room = characters
    for path in paths:
        for line in sentences_of(path, split_sentences=False):
            if room <= 0:
                return taken
            taken += LIKELY_END.split(line)
            room -= len(line)
    if not taken:
        raise TreetokError(f"{', '.join(map(str, paths))}: no text")
    return taken


def sentences_of(path: Path, split_sentences: bool) -> Iterator[str]:
    for line in lines_of(path):
        for sentence in wikitext_sentences(line) if split_sentences else [line.strip()]:
            if sentence:
                yield sentence


def wikitext_sentences(line: str) -> list[str]:
    """
    >>> wikitext_sentences(" It fell . Mr. Smith ran ! ")
    ['It fell .', 'Mr. Smith ran !']
    """
    return END_OF_SENTENCE.split(line.strip())


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file in any format that training reads; a JSON or Parquet record ends a line."""
    kinds = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSIONS]
    records = bool(kinds) and kinds[-1] in JSON_LINES + PARQUET
    # The pieces of a line that has not ended yet.
    line: list[str] = []
    for piece in read_texts(path):
        first, *others = piece.split("\n")
        line.append(first)
        for start in others:
            yield "".join(line)
            line = [start]
        if records:
            yield "".join(line)
            line = []
    yield "".join(line)


def name_of(path: str | Path) -> str:
    """The name of a file in tables.

    >>> name_of("gold/morpho2010_en.tsv"), name_of("wiki.valid.raw"), name_of("news.txt.xz")
    ('morpho2010_en', 'wiki.valid', 'news')
    """
    name = Path(path).name
    endings = islice(reversed(Path(path).suffixes), 2)
    for ending in endings:
        if ending.lower() in (*COMPRESSIONS, *JSON_LINES, *PARQUET, ".txt", ".raw", ".tokens", ".tsv"):
            name = name.removesuffix(ending)
    return name

"""A tokenizer read from a table of words and their tokens.

For tokenizers that cannot be run where results are computed (on a GPU machine without network access, say), and
for any other tool that segments words. The file is JSON Lines, plain or compressed: the first line describes the
tokenizer, every other line is a word, its tokens and, where the tokens do not join to the word (markers, unknown
letters), its pieces.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from treetok.corpus.compression import COMPRESSIONS
from treetok.errors import TreetokError
from treetok.evaluate.baselines.pre_tokenized import PreTokenizedTokenizer, SegmentedWord
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.texts import lines_of
from treetok.text import Profile, profile_named

SUFFIXES = (".cuts", *(".cuts" + compression for compression in COMPRESSIONS))


def save_word_table(tokenizer: EvalTokenizer, words: Iterable[str], profile: Profile, path: Path) -> None:
    """Segment words and write the table. Words are as the profile splits them: in lossless, with their spaces."""
    head = {
        "name": tokenizer.name,
        "profile": profile.name,
        "profile_version": profile.version,
        "vocabulary_size": tokenizer.vocabulary_size,
    }
    lines = [json.dumps(head, ensure_ascii=False)]
    for word in words:
        tokens = tokenizer.tokenize(word)
        row: list[Any] = [word, tokens]
        if "".join(tokens) != word:
            row.append(tokenizer.segment(word))
        lines.append(json.dumps(row, ensure_ascii=False))
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(lzma.compress(content, preset=6) if path.suffix == ".xz" else content)


def load_word_table(path: Path, name: str | None = None) -> PreTokenizedTokenizer:
    """Read a table. Segmenting a word that it lacks is an error."""
    lines = iter(lines_of(path))
    try:
        head = json.loads(next(lines))
        profile = profile_named(head["profile"], head.get("profile_version", 1))
        size = head["vocabulary_size"]
        name = name or head["name"]
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ValueError(f"its name is {name!r}")
        if size is not None and (type(size) is not int or size < 1):
            raise ValueError(f"vocabulary_size is {size!r}")
    except (StopIteration, ValueError, KeyError, TypeError, RecursionError, TreetokError) as error:
        raise TreetokError(f"{path}, line 1: not the head of a word table: {error!r}") from None
    table: dict[str, SegmentedWord] = {}
    tokens: set[str] = set()
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        try:
            word, segmented = read_row(json.loads(line))
            if word in table:
                raise ValueError(f"{word!r} is listed twice")
        except (ValueError, RecursionError) as error:
            raise TreetokError(f"{path}, line {number}: {error}") from None
        table[word] = segmented
        tokens.update(segmented.tokens)
    if size is not None and len(tokens) > size:
        raise TreetokError(f"{path} has {len(tokens)} different tokens, more than its vocabulary_size of {size}")

    def look_up(word: str) -> SegmentedWord:
        if word not in table:
            raise TreetokError(f"{path} has no entry for {word!r}")
        return table[word]

    return PreTokenizedTokenizer(name, size, profile, look_up)


def read_row(row: Any) -> tuple[str, SegmentedWord]:
    """
    >>> read_row(["walks", ["walk", "##s"], ["walk", "s"]])
    ('walks', SegmentedWord(pieces=('walk', 's'), tokens=('walk', '##s')))
    """
    if not isinstance(row, list) or len(row) not in (2, 3) or not all(isinstance(part, list) for part in row[1:]):
        raise ValueError("expected a word, the list of its tokens and, optionally, the list of its pieces")
    word, tokens, pieces = row[0], row[1], row[-1]
    if not all(isinstance(string, str) and string for string in (word, *tokens, *pieces)) or not tokens:
        raise ValueError("words, tokens and pieces must be non-empty strings")
    if "".join(pieces) != word:
        raise ValueError("the pieces do not join to the word")
    return word, SegmentedWord(tuple(pieces), tuple(tokens))

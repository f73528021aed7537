"""A contestant that is a table: words, and the tokens each becomes.

For tokenizers that cannot be run where figures are made (on a GPU machine without network, say), and for anything
else that cuts words. Lines of JSON, plain or packed as .xz: first what it is, then a word and its tokens a line,
and the word's pieces where the tokens do not join to it (markers, unknown letters).
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from treetok.corpus.reading import COMPRESSIONS
from treetok.errors import TreetokError
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.rivals.wordwise import CutWord, WordwiseContestant
from treetok.evaluate.texts import lines_of
from treetok.text import Profile, profile_named

SUFFIXES = (".cuts", *(".cuts" + packed for packed in COMPRESSIONS))


def save_table(contestant: Contestant, words: Iterable[str], profile: Profile, path: Path) -> None:
    """Write the cuts of words as they stand in text that the profile has cut: in lossless, with their spaces."""
    head = {"name": contestant.name, "profile": profile.name, "vocabulary_size": contestant.vocabulary_size}
    lines = [json.dumps(head, ensure_ascii=False)]
    for word in words:
        tokens = contestant.tokenize(word)
        row: list[Any] = [word, tokens]
        if "".join(tokens) != word:
            row.append(contestant.segment(word))
        lines.append(json.dumps(row, ensure_ascii=False))
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(lzma.compress(content, preset=6) if path.suffix == ".xz" else content)


def load_table(path: Path, name: str | None = None) -> WordwiseContestant:
    """The contestant that a table describes. Words that it lacks are an error when they are to be cut."""
    lines = iter(lines_of(path))
    try:
        head = json.loads(next(lines))
        profile, size = profile_named(head["profile"]), head["vocabulary_size"]
        name = name or head["name"]
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ValueError(f"its name is {name!r}")
        if size is not None and (type(size) is not int or size < 1):
            raise ValueError(f"vocabulary_size is {size!r}")
    except (StopIteration, ValueError, KeyError, TypeError, TreetokError) as error:
        raise TreetokError(f"{path}, line 1: not the head of a table of cuts: {error!r}") from None
    cuts: dict[str, CutWord] = {}
    known: set[str] = set()
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        try:
            word, cut = read_row(json.loads(line))
            if word in cuts:
                raise ValueError(f"{word!r} stands there twice")
        except ValueError as error:
            raise TreetokError(f"{path}, line {number}: {error}") from None
        cuts[word] = cut
        known.update(cut.tokens)
    if size is not None and len(known) > size:
        raise TreetokError(f"{path} has {len(known)} different tokens, more than its vocabulary_size of {size}")

    def look_up(word: str) -> CutWord:
        if word not in cuts:
            raise TreetokError(f"{path} has no cut of {word!r}")
        return cuts[word]

    return WordwiseContestant(name, size, profile, look_up)


def read_row(row: Any) -> tuple[str, CutWord]:
    """
    >>> read_row(["walks", ["walk", "##s"], ["walk", "s"]])
    ('walks', CutWord(pieces=('walk', 's'), tokens=('walk', '##s')))
    """
    if not isinstance(row, list) or len(row) not in (2, 3) or not all(isinstance(part, list) for part in row[1:]):
        raise ValueError("it should be a word, the list of its tokens and, perhaps, that of its pieces")
    word, tokens, pieces = row[0], row[1], row[-1]
    if not all(isinstance(string, str) and string for string in (word, *tokens, *pieces)) or not tokens:
        raise ValueError("words, tokens and pieces are strings that are not empty")
    if "".join(pieces) != word:
        raise ValueError("the pieces do not join to the word")
    return word, CutWord(tuple(pieces), tuple(tokens))

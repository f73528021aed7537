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

from treetok.errors import TreetokError
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.rivals.wordwise import CutWord, WordwiseContestant
from treetok.evaluate.texts import lines_of
from treetok.text import profile_named

SUFFIXES = (".cuts", ".cuts.xz")


def save_table(contestant: Contestant, words: Iterable[str], profile: str, path: Path) -> None:
    """Write the cuts of words, which are those of a profile, as a table."""
    head = {"name": contestant.name, "profile": profile, "vocabulary_size": contestant.vocabulary_size}
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
        profile = profile_named(head["profile"])
        name, size = str(name or head["name"]), head["vocabulary_size"]
        if size is not None and (type(size) is not int or size < 1):
            raise ValueError(f"vocabulary_size is {size!r}")
    except (StopIteration, ValueError, KeyError, TypeError) as error:
        raise TreetokError(f"{path}, line 1: not the head of a table of cuts ({error!r})") from None
    cuts: dict[str, CutWord] = {}
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        try:
            word, tokens, *pieces = json.loads(line)
            cut = CutWord(tuple(pieces[0] if pieces else tokens), tuple(tokens))
            if not tokens or not all(type(part) is str for part in (word, *cut.pieces, *cut.tokens)):
                raise ValueError("it should be a word and a list of its tokens")
            if "".join(cut.pieces) != word:
                raise ValueError("the pieces do not join to the word")
        except (ValueError, TypeError) as error:
            raise TreetokError(f"{path}, line {number}: {error}") from None
        cuts[word] = cut

    def look_up(word: str) -> CutWord:
        if word not in cuts:
            raise TreetokError(f"{path} has no cut of {word!r}")
        return cuts[word]

    return WordwiseContestant(name, size, profile, look_up)

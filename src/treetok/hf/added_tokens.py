"""Finding added tokens, special or not, in a text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# With more, looking each up at every place where one could begin is slower than splitting in Python.
MOST_FOR_NATIVE = 64


class Part(NamedTuple):
    """A part of a text: an added token, or ordinary text (None)."""

    start: int
    end: int
    token_id: int | None


class AddedTokens:
    """The tokens that were added to a vocabulary: at each place in a text, the longest one is found. Immutable.

    As in the tokenizers library, a token with `single_word` is not found inside a word, and one with `lstrip` or
    `rstrip` takes the white space beside it.
    """

    def __init__(self, tokens: Mapping[int, Any], special_tokens: Collection[str]) -> None:
        """`special_tokens` are those that the tokenizer itself can find in a text."""
        self._tokens = {token.content: (number, token) for number, token in tokens.items()}
        self._lengths: dict[str, list[int]] = {}
        for length, first in sorted({(len(text), text[0]) for text in self._tokens}, reverse=True):
            self._lengths.setdefault(first, []).append(length)
        self._beginnings = (
            re.compile("[" + "".join(map(re.escape, sorted(self._lengths))) + "]") if tokens else None
        )
        plain = all(
            token.content in special_tokens and not (token.lstrip or token.rstrip or token.single_word)
            for token in tokens.values()
        )
        # The names of the tokens if the tokenizer itself can find all of them.
        self.native = list(self._tokens) if plain and len(tokens) <= MOST_FOR_NATIVE else None

    def may_be_in(self, texts: Sequence[str]) -> bool:
        """Whether the first character of a token is in any of the texts: looks at all of them at once."""
        together = "".join(texts)
        return any(first in together for first in self._lengths)

    def split(self, text: str) -> list[Part]:
        """The parts of a text; none is empty."""
        parts: list[Part] = []
        done = 0
        for start, end, number in self._found(text):
            if done < start:
                parts.append(Part(done, start, None))
            parts.append(Part(start, end, number))
            done = end
        if done < len(text):
            parts.append(Part(done, len(text), None))
        return parts

    def _found(self, text: str) -> Iterator[tuple[int, int, int]]:
        done = searched = 0
        for beginning in self._beginnings.finditer(text) if self._beginnings else ():
            start = beginning.start()
            end = start + self._longest(text, start)
            if start < searched or start == end:
                continue
            searched = end
            number, token = self._tokens[text[start:end]]
            if token.single_word and is_inside_word(text, start, end):
                continue
            while token.lstrip and start > done and text[start - 1].isspace():
                start -= 1
            while token.rstrip and end < len(text) and text[end].isspace():
                end += 1
            yield start, end, number
            done = searched = end

    def _longest(self, text: str, start: int) -> int:
        """The length of the longest token here, or 0."""
        fitting = (length for length in self._lengths[text[start]] if start + length <= len(text))
        return next((length for length in fitting if text[start : start + length] in self._tokens), 0)


def is_inside_word(text: str, start: int, end: int) -> bool:
    """
    >>> is_inside_word("ab cd", 3, 5), is_inside_word("abcd", 2, 4)
    (False, True)
    """
    return re.match(r"\w", text[end : end + 1]) is not None or re.match(r"\w", text[:start][-1:]) is not None

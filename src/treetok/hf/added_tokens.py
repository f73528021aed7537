"""Finding added tokens, special or not, in a text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import regex

from treetok.string_search import StringSearch

# With more, looking each up at every place where one could begin is slower than splitting in Python.
MOST_FOR_NATIVE = 64
# What `\w` is in Rust; in Python, it has no combining marks.
OF_WORDS = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")


class Part(NamedTuple):
    """A part of a text: an added token, or ordinary text (None)."""

    start: int
    end: int
    token_id: int | None


class AddedTokens:
    """The tokens that were added to a vocabulary: at each place in a text, the longest one is found. Immutable.

    As in the tokenizers library, a token with `single_word` is not found inside a word, and one with `lstrip` or
    `rstrip` takes the white space beside it. Time grows with the length of the text, whatever the tokens are.
    """

    def __init__(self, tokens: Mapping[int, Any], special_tokens: Collection[str]) -> None:
        """`special_tokens` are those that the tokenizer itself can find in a text."""
        self._tokens = {token.content: (number, token) for number, token in tokens.items()}
        self._beginnings = {text[0] for text in self._tokens}
        plain = all(
            token.content in special_tokens and not (token.lstrip or token.rstrip or token.single_word)
            for token in tokens.values()
        )
        # The names of the tokens if the tokenizer itself can find all of them.
        self.native = list(self._tokens) if plain and len(tokens) <= MOST_FOR_NATIVE else None

    def __getstate__(self) -> dict[str, Any]:
        # Use does not change the pickle.
        return {name: value for name, value in self.__dict__.items() if name != "_search"}

    @cached_property
    def _search(self) -> StringSearch:
        return StringSearch(self._tokens)

    def may_be_in(self, texts: Sequence[str]) -> bool:
        """Whether the first character of a token is in any of the texts: looks at all of them at once."""
        together = "".join(texts)
        return any(first in together for first in self._beginnings)

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
        if not self.may_be_in([text]):
            return
        done = searched = 0
        for start, length in self._search.longest_at_each_start(text):
            if start < searched:
                continue
            end = searched = start + length
            number, token = self._tokens[text[start:end]]
            if token.single_word and is_inside_word(text, start, end):
                continue
            while token.lstrip and start > done and text[start - 1].isspace():
                start -= 1
            while token.rstrip and end < len(text) and text[end].isspace():
                end += 1
            yield start, end, number
            done = searched = end


def is_inside_word(text: str, start: int, end: int) -> bool:
    """
    >>> is_inside_word("ab cd", 3, 5), is_inside_word("abcd", 2, 4)
    (False, True)
    """
    around = text[max(start - 1, 0) : start] + text[end : end + 1]
    return OF_WORDS.search(around) is not None

"""Texts to ids, offsets and word ids with a TreeTokenizer and added tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from treetok.errors import TreetokError
from treetok.hf.added_tokens import AddedTokens
from treetok.text import profile_named
from treetok.tokenizer import TreeTokenizer

# A text, or one that the user has split into words.
Text = str | Sequence[str]


class Aligned(NamedTuple):
    """The tokens of a text: ids, where they are in the text, and to which of its words they belong. If the user has
    split the text, offsets count from the beginning of each word."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    words: list[int]


class TextEncoder:
    """Encodes texts in which added tokens are found. Immutable, so that threads can share it."""

    def __init__(self, treetok: TreeTokenizer, tokens: Mapping[int, Any]) -> None:
        self.treetok = treetok
        self.added = AddedTokens(tokens, treetok.vocab_size)
        self._profile = profile_named(treetok.state.profile, treetok.state.profile_version)

    def without_added_tokens(self) -> TextEncoder:
        return TextEncoder(self.treetok, {})

    def encode(self, texts: Sequence[str], threads: int | None = None) -> list[list[int]]:
        if not self.added.may_be_in(texts):
            return self.treetok.encode_batch(texts, threads=threads)
        if self.added.native is not None:
            return self.treetok.encode_batch(texts, threads=threads, allowed_special=self.added.native)
        parts_of_texts = list(map(self.added.split, texts))
        ordinary = [
            text[start:end]
            for text, parts in zip(texts, parts_of_texts, strict=True)
            for start, end, number in parts
            if number is None
        ]
        encoded = iter(self.treetok.encode_batch(ordinary, threads=threads))
        return [
            list(chain.from_iterable(next(encoded) if number is None else (number,) for _, _, number in parts))
            for parts in parts_of_texts
        ]

    def encode_words(self, texts: Sequence[Sequence[str]], threads: int | None = None) -> list[list[int]]:
        """Encode texts that are given as words, each as it appears inside a sentence."""
        words = [self._profile.in_running_text(checked_word(word)) for text in texts for word in text]
        encoded = iter(self.encode(words, threads))
        return [list(chain.from_iterable(next(encoded) for _ in text)) for text in texts]

    def align(self, text: Text) -> Aligned:
        """The tokens of one text."""
        return self._align_text(text) if isinstance(text, str) else self._align_words(text)

    def _align_text(self, text: str) -> Aligned:
        aligned = Aligned([], [], [])
        words = 0
        for start, end, number in self.added.split(text):
            if number is None:
                encoding = self.treetok.encode_with_offsets(text[start:end])
                aligned.ids.extend(encoding.ids)
                aligned.offsets.extend((start + first, start + last) for first, last in encoding.offsets)
                aligned.words.extend(words + word for word in self._words_of(text[start:end], encoding.ids))
                words = aligned.words[-1] + 1 if encoding.ids else words
            else:
                aligned.ids.append(number)
                aligned.offsets.append((start, end))
                aligned.words.append(words)
                words += 1
        return aligned

    def _align_words(self, words: Sequence[str]) -> Aligned:
        aligned = Aligned([], [], [])
        for number, word in enumerate(words):
            in_text = self._profile.in_running_text(checked_word(word))
            space = len(in_text) - len(word)
            of_word = self._align_text(in_text)
            aligned.ids.extend(of_word.ids)
            aligned.offsets.extend((max(start - space, 0), max(end - space, 0)) for start, end in of_word.offsets)
            aligned.words.extend([number] * len(of_word.ids))
        return aligned

    def _words_of(self, text: str, ids: Sequence[int]) -> list[int]:
        """The number of the word that each token belongs to."""
        table = self.treetok.state.table
        lengths = list(table.lengths_of(ids))
        words: list[int] = []
        for number, word in enumerate(self._profile.split(text)):
            left = len(word)
            # A word ends with the token that covers its last character, or with the last byte of that.
            while len(words) < len(ids) and (left or is_continuation(table.bytes[ids[len(words)]])):
                left -= lengths[len(words)]
                words.append(number)
        return words


def is_continuation(token: bytes) -> bool:
    """Whether a token is a byte of a character, but not its first.

    >>> is_continuation("é".encode()[1:]), is_continuation(b"e"), is_continuation(b"")
    (True, False, False)
    """
    return len(token) == 1 and token[0] & 0xC0 == 0x80


def checked_word(word: object) -> str:
    if not isinstance(word, str):
        raise TreetokError(f"the words of a text must be strings, not {type(word).__name__}")
    return word

"""The native core behind a normaliser, which it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from treetok.cached_property import cached_property
from treetok.reference_encoder import FlatOffsets, Int64, ReferenceEncoder, ids_of_stream
from treetok.special_token_search import Specials
from treetok.text import check_encodable
from treetok.text.normalized import normalise, normalise_with_places
from treetok.tokenizer_state import TokenizerState

if TYPE_CHECKING:
    from treetok import _core


class NormalizingEncoder:
    """Does what the native encoder does to the normal form of texts.

    Special tokens are looked for in texts as they are: what becomes `<|endoftext|>` only in normal form is text.
    So where there are special tokens to look for in a text that changes, its parts would have to be normalised one
    by one; that is left to the plain Python.
    """

    def __init__(self, native: _core.Encoder, state: TokenizerState) -> None:
        assert state.normalizer is not None
        self._native, self._state, self._normalizer = native, state, state.normalizer

    @cached_property
    def _reference(self) -> ReferenceEncoder:
        return ReferenceEncoder(self._state)

    def _normal(self, texts: Sequence[str], specials: Specials | None) -> list[str] | None:
        """Texts in normal form; None if plain Python has to do it. Parts of a normal form are in it as well."""
        for text in texts:
            check_encodable(text)
        normal = [normalise(self._normalizer, text) for text in texts]
        return None if specials and normal != texts else normal

    def encode(self, text: str, specials: Specials | None = None) -> list[int]:
        return self.encode_batch([text], 1, specials)[0]

    def encode_batch(self, texts: list[str], threads: int, specials: Specials | None = None) -> list[list[int]]:
        normal = self._normal(texts, specials)
        if normal is None:
            return self._reference.encode_batch(texts, threads, specials)
        return self._native.encode_batch(normal, threads, specials)

    def encode_flat(
        self, texts: list[str], threads: int, specials: Specials | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
        normal = self._normal(texts, specials)
        if normal is None:
            return self._reference.encode_flat(texts, threads, specials)
        return self._native.encode_flat(normal, threads, specials)

    def encode_sampled(
        self, texts: list[str], threads: int, threshold: int, seed: int, specials: Specials | None = None
    ) -> list[list[int]]:
        normal = self._normal(texts, specials)
        if normal is None:
            return self._reference.encode_sampled(texts, threads, threshold, seed, specials)
        return self._native.encode_sampled(normal, threads, threshold, seed, specials)

    def encode_with_offsets(self, texts: list[str], threads: int, specials: Specials | None = None) -> FlatOffsets:
        normal = self._normal(texts, specials)
        if normal is None:
            return self._reference.encode_with_offsets(texts, threads, specials)
        ids, starts, ends, words, offsets = self._native.encode_with_offsets(normal, threads, specials)
        for number, text in enumerate(texts):
            if normal[number] != text:
                here = slice(int(offsets[number]), int(offsets[number + 1]))
                _, first, last = normalise_with_places(self._normalizer, text)
                places = np.array(first, dtype=np.int64), np.array(last, dtype=np.int64)
                starts[here], ends[here] = original_places(starts[here], ends[here], words[here], *places)
        return ids, starts, ends, words, offsets

    def encode_utf8(self, text: bytes, threads: int) -> npt.NDArray[np.uint32]:
        if not text.isascii():
            text = normalise(self._normalizer, text.decode()).encode()
        return self._native.encode_utf8(text, threads)

    def encode_stream(self, stream: IO[bytes], threads: int, expected: int = 0) -> npt.NDArray[np.uint32]:
        return ids_of_stream(self, stream, threads)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool, separator: str) -> str | None:
        return self._native.decode(ids, skip_special_tokens, separator)

    def split(self, text: str) -> list[str]:
        return self._native.split(normalise(self._normalizer, text))

    def pieces(self, word: str) -> list[str]:
        return self._native.pieces(word)

    def scores(self, word: str) -> list[float]:
        return self._native.scores(word)


def original_places(starts: Int64, ends: Int64, words: Int64, first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """Where tokens of a normal form are in the text as it was. `first` and `last` say that of its characters. A
    token that covers none is at the end of the one before it, or at the start of its word."""
    if not len(starts):
        return starts, ends
    is_new_word = np.concatenate([[True], words[1:] != words[:-1]])
    first_of_word = np.maximum.accumulate(np.where(is_new_word, np.arange(len(words)), 0))
    begins_word = starts == starts[first_of_word]
    empty_at = np.where(begins_word, first[np.minimum(starts, len(first) - 1)], last[starts - 1])
    is_empty = starts == ends
    new_starts = np.where(is_empty, empty_at, first[np.minimum(starts, len(first) - 1)])
    return new_starts, np.where(is_empty, empty_at, last[ends - 1])

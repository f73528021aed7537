"""Text to ids and back in plain Python: the specification of the native core, and its stand-in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from treetok.corpus.blocks import blocks_of_words
from treetok.sampling import Dropout
from treetok.special_token_search import Specials, split_at_specials
from treetok.text import check_encodable
from treetok.tokenizer_state import TokenizerState
from treetok.word_encoder import WordEncoder

# Texts of a batch are encoded together up to this many characters, which bounds memory.
CHARACTERS_AT_ONCE = 1 << 22
# Of a stream.
BYTES_AT_ONCE = 1 << 22

# Ids, starts, ends and words of tokens, and offsets of texts.
Int64 = npt.NDArray[np.int64]
FlatOffsets = tuple[npt.NDArray[np.uint32], Int64, Int64, Int64, npt.NDArray[np.uint64]]
# The number of the word of a special token.
NO_WORD = -1


class ReferenceEncoder:
    """Encodes and decodes with a tokenizer's state."""

    def __init__(self, state: TokenizerState) -> None:
        self._profile = state.text_profile
        self._table = state.table
        self._words = WordEncoder(state)

    def encode(self, text: str, specials: Specials | None = None) -> list[int]:
        return self.encode_batch([text], 1, specials)[0]

    def encode_batch(
        self, texts: Sequence[str], threads: int, specials: Specials | None = None
    ) -> list[list[int]]:
        encoded: list[list[int]] = []
        for group in groups_of_texts(texts, CHARACTERS_AT_ONCE):
            encoded += self._encode_together(group, threads, specials)
        return encoded

    def encode_flat(
        self, texts: Sequence[str], threads: int, specials: Specials | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
        encoded = self.encode_batch(texts, threads, specials)
        offsets = np.zeros(len(encoded) + 1, dtype=np.uint64)
        np.cumsum([len(ids) for ids in encoded], out=offsets[1:])
        ids = np.fromiter(chain.from_iterable(encoded), dtype=np.uint32, count=int(offsets[-1]))
        return ids, offsets

    def encode_with_offsets(
        self, texts: Sequence[str], threads: int, specials: Specials | None = None
    ) -> FlatOffsets:
        """Ids, where every token starts and ends in its text, the number of its word there (NO_WORD for special
        tokens), and where each text begins in these arrays."""
        # Their unseen words are parsed together.
        self.encode_batch(texts, threads, specials)
        encoded = [list(self._places(text, specials)) for text in texts]
        columns = np.array(list(chain.from_iterable(encoded)), dtype=np.int64).reshape(-1, 4).T
        offsets = np.zeros(len(encoded) + 1, dtype=np.uint64)
        np.cumsum([len(of_text) for of_text in encoded], out=offsets[1:])
        ids, starts, ends, words = map(np.ascontiguousarray, columns)
        return ids.astype(np.uint32), starts, ends, words, offsets

    def _places(self, text: str, specials: Specials | None) -> Iterator[tuple[int, int, int, int]]:
        """Id, start, end and number of the word of each token of a text."""
        start_of_part = number = 0
        for part, special_id in split_at_specials(text, specials):
            if special_id is not None:
                yield special_id, start_of_part, start_of_part + len(part), NO_WORD
            else:
                words, places = self._profile.split_with_offsets(part)
                known = self._words.ids(words)
                for word, places_of_word in zip(words, places, strict=True):
                    of_word = self._table.offsets(known[word], places_of_word)
                    for token_id, (start, end) in zip(known[word], of_word, strict=True):
                        yield token_id, start_of_part + start, start_of_part + end, number
                    number += 1
            start_of_part += len(part)

    def encode_sampled(
        self, texts: Sequence[str], threads: int, threshold: int, seed: int, specials: Specials | None = None
    ) -> list[list[int]]:
        """Sampled segmentations (`sampling.py`)."""
        dropout = Dropout(threshold, seed)
        encoded: list[list[int]] = []
        for group in groups_of_texts(texts, CHARACTERS_AT_ONCE):
            parts = [list(self._split(text, specials)) for text in group]
            words_of_all = {word for of_text in parts for word in of_text if isinstance(word, str)}
            scores = self._words.scores(sorted(words_of_all))
            for of_text in parts:
                ids: list[int] = []
                number = 0
                for word in of_text:
                    if isinstance(word, int):
                        ids.append(word)
                        continue
                    declines = dropout.of_word(len(encoded), number)
                    ids += self._words.sampled_ids(word, scores[word], declines)
                    number += 1
                encoded.append(ids)
        return encoded

    def _split(self, text: str, specials: Specials | None) -> Iterator[str | int]:
        """The words of a text, and the ids of special tokens."""
        for part, special_id in split_at_specials(text, specials):
            if special_id is None:
                yield from self._profile.split(part)
            else:
                yield special_id

    def encode_utf8(self, text: bytes, threads: int) -> npt.NDArray[np.uint32]:
        """The ids of text in bytes."""
        return self.encode_flat([text.decode()], threads)[0]

    def encode_stream(self, stream: IO[bytes], threads: int, expected: int = 0) -> npt.NDArray[np.uint32]:
        """The ids of text that is read from a stream. `expected`: an estimate of how many bytes there are."""
        return ids_of_stream(self, stream, threads)

    def decode(self, ids: Iterable[int], skip_special_tokens: bool, separator: str) -> str:
        special_ids = set(self._table.special_tokens.values()) if skip_special_tokens else ()
        kept = [n for n in map(self._table.checked_id, ids) if n not in special_ids]
        return separator.encode().join(self._table.bytes_of(kept)).decode("utf-8", "replace")

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        return self._profile.split(text)

    def pieces(self, word: str) -> list[str]:
        """The pieces of a word as the profile splits it."""
        return self._words.pieces([word])[word]

    def scores(self, word: str) -> Sequence[float]:
        """The scores of its splits."""
        return self._words.scores([word])[word]

    def _encode_together(self, texts: Sequence[str], threads: int, specials: Specials | None) -> list[list[int]]:
        """Encode texts that have been checked; their unseen words are parsed together."""
        # The words of each text, or the id of a special token.
        parts: list[list[list[str] | int]] = []
        for text in texts:
            parts.append(
                [
                    self._profile.split(part) if special_id is None else special_id
                    for part, special_id in split_at_specials(text, specials)
                ]
            )
        words_of_all = chain.from_iterable(
            words for of_text in parts for words in of_text if not isinstance(words, int)
        )
        known = self._words.ids(words_of_all, threads)
        encoded = []
        for of_text in parts:
            ids: list[int] = []
            for words in of_text:
                if isinstance(words, int):
                    ids.append(words)
                else:
                    ids += chain.from_iterable(map(known.__getitem__, words))
            encoded.append(ids)
        return encoded


def ids_of_stream(encoder: Any, stream: IO[bytes], threads: int) -> npt.NDArray[np.uint32]:
    """The ids of text that is read and encoded in blocks."""
    blocks = iter(lambda: stream.read(BYTES_AT_ONCE), b"")
    return np.concatenate(
        [encoder.encode_utf8(block, threads) for _, block in blocks_of_words(blocks, BYTES_AT_ONCE)]
    )


def groups_of_texts(texts: Iterable[str], characters: int) -> Iterator[list[str]]:
    """Check texts, and yield them in groups that have this many characters or one text more.

    >>> list(groups_of_texts(["one", "two", "three", "four"], 6))
    [['one', 'two'], ['three', 'four']]
    """
    group: list[str] = []
    size = 0
    for text in texts:
        check_encodable(text)
        group.append(text)
        size += len(text)
        if size >= characters:
            yield group
            group, size = [], 0
    if group:
        yield group

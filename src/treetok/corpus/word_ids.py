"""A corpus as one row of word numbers: what a model of running text is trained on."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.text import Profile, check_encodable


@dataclass(frozen=True)
class WordSequence:
    """The words of a text in a row: `words[numbers[t]]` is the t-th. Words are what trees are read off."""

    words: list[str]
    numbers: npt.NDArray[np.int32]

    def counts(self) -> dict[str, int]:
        times = np.bincount(self.numbers, minlength=len(self.words)).tolist()
        return dict(zip(self.words, times, strict=True))


class _Numbers(dict[str, int]):
    """Strings numbered in the order in which they are first asked for."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


def read_sequence(
    texts: Iterable[str],
    profile: Profile,
    max_words: int = 1 << 31,
) -> WordSequence:
    """Number the words of texts. As in counting, only distinct chunks are split into words. Reading ends when
    there are about `max_words` (chunks, to be exact).

    >>> from treetok.text import profile_named
    >>> sequence = read_sequence(["The cat's cat"], profile_named("uncased"))
    >>> sequence.words, sequence.numbers.tolist()
    (['the', 'cat', "'s"], [0, 1, 2, 1])
    """
    chunk_numbers, word_numbers = _Numbers(), _Numbers()
    row = array("i")
    for text in texts:
        check_encodable(text)
        row.extend(map(chunk_numbers.__getitem__, profile.chunks(text)))
        if len(row) >= max_words:
            break
    words_of_chunks = array("i")
    how_many = np.zeros(len(chunk_numbers), dtype=np.int64)
    for number, chunk in enumerate(chunk_numbers):
        words = [word_numbers[profile.letters(word)] for word in profile.split(chunk)]
        words_of_chunks.extend(words)
        how_many[number] = len(words)
    chunks = np.frombuffer(row, dtype=np.int32) if row else np.zeros(0, dtype=np.int32)
    flat = np.array(words_of_chunks, dtype=np.int32)
    lengths = how_many[chunks]
    first = np.cumsum(how_many) - how_many
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return WordSequence(list(word_numbers), flat[np.repeat(first[chunks], lengths) + within])

"""A corpus as one sequence of word ids, the input for models trained on running text."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.text import Profile, check_encodable


@dataclass(frozen=True)
class WordSequence:
    """The words of a text in order: `words[numbers[t]]` is the t-th, as returned by `Profile.letters`."""

    words: list[str]
    numbers: npt.NDArray[np.int32]

    def counts(self) -> dict[str, int]:
        times = np.bincount(self.numbers, minlength=len(self.words)).tolist()
        return dict(zip(self.words, times, strict=True))


class _Ids(dict[str, int]):
    """Assigns ids to strings in the order in which they are first looked up."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


class SequenceBuilder:
    """Collects a text chunk by chunk until it has about `max_words` words (strictly, chunks)."""

    def __init__(self, profile: Profile, max_words: int = 1 << 31) -> None:
        self.profile, self.max_words = profile, max_words
        self._chunk_ids = _Ids()
        self._sequence = array("i")

    def is_full(self) -> bool:
        return len(self._sequence) >= self.max_words

    def add(self, chunks: Iterable[str]) -> None:
        """Add chunks of text as returned by `Profile.chunks`."""
        self._sequence.extend(map(self._chunk_ids.__getitem__, chunks))

    def sequence(self) -> WordSequence:
        """The words collected so far. As in counting, each distinct chunk is split into words only once."""
        word_ids = _Ids()
        words_of_chunks = array("i")
        words_per_chunk = np.zeros(len(self._chunk_ids), dtype=np.int64)
        for number, chunk in enumerate(self._chunk_ids):
            words = [word_ids[self.profile.letters(word)] for word in self.profile.split(chunk)]
            words_of_chunks.extend(words)
            words_per_chunk[number] = len(words)
        chunks = np.frombuffer(self._sequence, dtype=np.int32) if self._sequence else np.zeros(0, dtype=np.int32)
        flat = np.array(words_of_chunks, dtype=np.int32)
        lengths = words_per_chunk[chunks]
        first = np.cumsum(words_per_chunk) - words_per_chunk
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return WordSequence(list(word_ids), flat[np.repeat(first[chunks], lengths) + within])


def read_sequence(texts: Iterable[str], profile: Profile, max_words: int = 1 << 31) -> WordSequence:
    """Read texts into one sequence of word ids.

    >>> from treetok.text import profile_named
    >>> sequence = read_sequence(["The cat's cat"], profile_named("uncased"))
    >>> sequence.words, sequence.numbers.tolist()
    (['the', 'cat', "'s"], [0, 1, 2, 1])
    """
    builder = SequenceBuilder(profile, max_words)
    for text in texts:
        check_encodable(text)
        builder.add(profile.chunks(text))
        if builder.is_full():
            break
    return builder.sequence()

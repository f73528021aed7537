"""Strings as arrays of characters, and random batches of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.corpus.characters import characters_by_count
from treetok.errors import TreetokError

Integers = npt.NDArray[np.int64]

# A chart is as wide as its longest string, and its cost grows with the cube of that.
SHORTEST_TO_LONGEST = 2 / 3


class CharacterTable:
    """Numbers of characters. 0 is any character that is not in the table; it also pads.

    >>> CharacterTable("abc").ids(["cab", "ax"])
    array([[3, 1, 2],
           [1, 0, 0]])
    """

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = list(characters)
        self._number = {character: number for number, character in enumerate(characters, start=1)}

    def __len__(self) -> int:
        return len(self.characters) + 1

    @classmethod
    def of_words(cls, counts: Mapping[str, int], min_count: int = 2) -> CharacterTable:
        """Rarer characters share the number of unknown ones, so that the grammar learns what these are like."""
        return cls([character for character, count in characters_by_count(counts) if count >= min_count])

    def ids(self, words: Sequence[str]) -> Integers:
        """[word, character], padded with 0."""
        ids = np.zeros((len(words), max(map(len, words), default=0)), dtype=np.int64)
        for row, word in zip(ids, words, strict=True):
            row[: len(word)] = [self._number.get(character, 0) for character in word]
        return ids


@dataclass(frozen=True)
class Batch:
    """Distinct words, longest first, as rows of the training words, and how often each was drawn."""

    rows: Integers
    lengths: Integers
    counts: Integers


class TrainingWords:
    """The distinct words of a text, longest first, and how often each occurs.

    A word of one character has no tree, and one that is longer than `longest` is left out to save time.
    """

    def __init__(self, counts: Mapping[str, int], longest: int, min_count: int = 1) -> None:
        kept = [word for word, count in counts.items() if 2 <= len(word) <= longest and count >= min_count]
        if not kept:
            raise TreetokError(
                f"the text has no words of 2 to {longest} characters that occur {min_count} times or more"
            )
        self.words = sorted(kept, key=lambda word: (-len(word), word))
        self.lengths = np.array([len(word) for word in self.words])
        self.ends = np.cumsum([counts[word] for word in self.words])
        self.running_words = int(self.ends[-1])

    def __len__(self) -> int:
        return len(self.words)

    def draw(self, running_words: int, seed: int, step: int) -> Batch:
        """Running words of the text at random. What is drawn depends on the seed and the step alone."""
        places = np.random.default_rng((seed, step)).integers(self.running_words, size=running_words)
        # They are found faster in order.
        places.sort()
        rows, counts = np.unique(np.searchsorted(self.ends, places, side="right"), return_counts=True)
        return Batch(rows, self.lengths[rows], counts)


def charts(lengths: Integers, rank: int, most_values: int) -> Iterator[slice]:
    """Divide strings, longest first, among charts: strings of similar length, and charts of limited size.

    >>> list(charts(np.array([9, 8, 6, 5, 5, 4]), rank=1, most_values=180))
    [slice(0, 2, None), slice(2, 6, None)]
    """
    start = 0
    while start < len(lengths):
        longest = int(lengths[start])
        similar = int(np.searchsorted(-lengths, -SHORTEST_TO_LONGEST * longest, side="right"))
        fit = start + max(1, most_values // (longest * longest * rank))
        end = min(similar, fit)
        yield slice(start, end)
        start = end

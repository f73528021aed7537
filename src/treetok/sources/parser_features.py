"""Input features of the parser for each letter of a word: its character, and the morphemes that begin there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from treetok.span_table import I64, U64, SpanTable, character_hashes

UNKNOWN_CHARACTER, FIRST_CHARACTER = 1, 2


class LetterFeatures:
    """Looks up the characters and morphemes of many words at once; the letters of all words are concatenated.

    >>> features = LetterFeatures("abs", ["ab", "bs"], longest=2)
    >>> features.characters_in(["abs", "xb"]).tolist()
    [2, 3, 4, 1, 3]
    >>> [(width, at.tolist(), row.tolist()) for width, at, row in features.morphemes_in(["sab", "abs"])]
    [(2, [1, 3, 4], [1, 1, 2])]
    """

    def __init__(self, characters: Sequence[str], morphemes: Sequence[str], longest: int) -> None:
        """`characters` and `morphemes` are sorted; only morphemes of 2 to `longest` letters are used."""
        self.characters = list(characters)
        self.morphemes = [morpheme for morpheme in morphemes if 2 <= len(morpheme) <= longest]
        self.longest = max(map(len, self.morphemes), default=0)
        self._codes = code_points("".join(self.characters))
        hashes = hashes_of(self.morphemes)
        order = np.argsort(hashes, kind="stable")
        self._hashes: U64 = hashes[order]
        # Row 0 means no morpheme.
        self._rows = (order + 1).astype(np.int32)
        # Whoever made a file may have chosen strings of equal hashes: those found are compared letter by letter.
        self._letters = character_hashes(self.morphemes)
        self._lengths = np.array([len(morpheme) for morpheme in self.morphemes], dtype=np.int64)
        self._starts: I64 = np.cumsum(self._lengths) - self._lengths
        self._most_of_a_hash = int(np.unique(self._hashes, return_counts=True)[1].max(initial=0))

    def characters_in(self, words: Sequence[str]) -> npt.NDArray[np.int32]:
        """The index of each letter's character; 1 if it is unknown."""
        codes = code_points("".join(words))
        if not len(self._codes):
            return np.full(len(codes), UNKNOWN_CHARACTER, dtype=np.int32)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known = self._codes[at] == codes
        return np.where(known, at + FIRST_CHARACTER, UNKNOWN_CHARACTER).astype(np.int32)

    def morphemes_in(self, words: Sequence[str]) -> Iterator[tuple[int, I64, npt.NDArray[np.int32]]]:
        """For each width, yield the positions at which morphemes of that width begin, and their rows."""
        if not self.morphemes:
            return
        spans = SpanTable(words)
        first_letter = np.cumsum(spans.lengths) - spans.lengths
        for word, start, width, hashes in spans.by_width():
            if width > self.longest:
                return
            if width > 1:
                first = first_letter[word] + start
                rows = np.zeros(len(first), dtype=np.int32)
                at = np.searchsorted(self._hashes, hashes)
                for following in range(self._most_of_a_hash):
                    here = np.minimum(at + following, len(self._hashes) - 1)
                    alike = np.flatnonzero(self._hashes[here] == hashes)
                    row = self._rows[here[alike]]
                    is_there = self._are_there(row, spans.codes, first[alike], width)
                    rows[alike[is_there]] = row[is_there]
                found = np.flatnonzero(rows)
                yield width, first[found], rows[found]

    def _are_there(
        self, rows: npt.NDArray[np.int32], letters: U64, first: I64, width: int
    ) -> npt.NDArray[np.bool_]:
        """Whether these morphemes have that width, and their letters are in `letters` from `first` on."""
        numbers = rows - 1
        are_there: npt.NDArray[np.bool_] = self._lengths[numbers] == width
        starts = self._starts[numbers]
        for at in range(width):
            last = len(self._letters) - 1
            are_there &= self._letters[np.minimum(starts + at, last)] == letters[first + at]
        return are_there


def code_points(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def hashes_of(strings: Sequence[str]) -> U64:
    """The hash of each whole string, equal to the hash of that span in `SpanTable`."""
    hashes = np.zeros(len(strings), dtype=np.uint64)
    spans = SpanTable(strings)
    for word, _, width, of_width in spans.by_width():
        whole = spans.lengths[word] == width
        hashes[word[whole]] = of_width[whole]
    return hashes

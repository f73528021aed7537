"""Words with precomputed trees: three flat arrays, keyed by the letters of a word.

Words are sorted and found by binary search: building a hash table of all of them would take longer than the
rest of loading a tokenizer.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.batched_depths import batch_split_depths
from treetok.cached_property import cached_property
from treetok.errors import TreetokError
from treetok.native import core, why_not_native
from treetok.text.word_limit import LONGEST_WORD

BYTES_AT_ONCE = 1 << 16
NOT_UTF8 = "the words in the lexicon are not UTF-8"


def count_characters(utf8: npt.NDArray[np.uint8]) -> int:
    """
    >>> count_characters(np.frombuffer("née".encode(), np.uint8))
    3
    """
    if why_not_native() is None:
        counted: int | None = core().count_characters(utf8)
        if counted is None:
            raise TreetokError(NOT_UTF8)
        return counted
    decoder = codecs.getincrementaldecoder("utf-8")()
    count = 0
    try:
        # Part by part: as one string it would take as much memory again.
        for start in range(0, len(utf8), BYTES_AT_ONCE):
            count += len(decoder.decode(utf8[start : start + BYTES_AT_ONCE].data))
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise TreetokError(NOT_UTF8) from None
    return count


class Lexicon:
    """Words (as returned by `Profile.letters`) and the depth of every split in their trees.

    >>> lexicon = Lexicon.from_scores({"asking": [1, 2, 9, 2, 1], "bed": [1, 2]})
    >>> len(lexicon), lexicon.scores("bed"), lexicon.scores("ask")
    (2, [-1, 0], None)
    """

    def __init__(
        self, utf8: npt.NDArray[np.uint8], lengths: npt.NDArray[np.uint8], depths: npt.NDArray[np.uint8]
    ) -> None:
        """`utf8` is the sorted words, concatenated; `lengths` is the number of characters in each; `depths` is the
        split depths of all words, concatenated."""
        if len(lengths) and (lengths.min() < 2 or lengths.max() > LONGEST_WORD):
            raise TreetokError(f"a word in the lexicon has fewer than 2 or more than {LONGEST_WORD} characters")
        characters = int(lengths.sum(dtype=np.int64))
        if characters != count_characters(utf8) or characters - len(lengths) != len(depths):
            raise TreetokError("the words in the lexicon do not match their trees in length")
        self.utf8, self.lengths, self.depths = utf8, lengths, depths

    @classmethod
    def from_scores(cls, scores: Mapping[str, Sequence[float]]) -> Lexicon:
        words = sorted(scores)
        lengths = np.array([len(word) for word in words], dtype=np.uint8)
        utf8 = np.frombuffer("".join(words).encode(), dtype=np.uint8)
        return cls(utf8, lengths, batch_split_depths([scores[word] for word in words]))

    def __len__(self) -> int:
        return len(self.lengths)

    def __reduce__(self) -> tuple[Any, ...]:
        # Bytes, since pickled arrays differ by which of them have the same dtype object.
        return lexicon_from_bytes, tuple(array.tobytes() for array in (self.utf8, self.lengths, self.depths))

    # Computed at the first look-up, since the native core does without.

    @cached_property
    def _text(self) -> str:
        return str(self.utf8.data, "utf-8")

    @cached_property
    def _starts(self) -> list[int]:
        """The start offset of every word, and the end of the last."""
        return [0, *np.cumsum(self.lengths, dtype=np.int64).tolist()]

    def _word(self, number: int) -> str:
        return self._text[self._starts[number] : self._starts[number + 1]]

    def words(self) -> list[str]:
        return [self._text[start:end] for start, end in pairwise(self._starts)]

    def scores(self, letters: str) -> list[int] | None:
        """The split scores of a word, or None if it is not in the lexicon."""
        number = bisect_left(range(len(self)), letters, key=self._word)
        if number == len(self) or self._word(number) != letters:
            return None
        # Each preceding word has one split fewer than it has letters.
        first = self._starts[number] - number
        return [-depth for depth in self.depths[first : first + len(letters) - 1].tolist()]


def lexicon_from_bytes(*arrays: bytes) -> Lexicon:
    utf8, lengths, depths = (np.frombuffer(array, dtype=np.uint8) for array in arrays)
    return Lexicon(utf8, lengths, depths)

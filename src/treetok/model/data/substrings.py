"""The distinct substrings of words.

The inside vector of a span depends on its letters alone, so the words of a batch share one table of distinct
substrings. Ids go by width; each substring has one occurrence on record, a word and a start, from which the halves
of its splits follow by arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.span_table import U64, SpanTable, mix, string_hashes

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SubstringTable:
    """Ids of width w run from `width_starts[w - 1]` to `width_starts[w]`.

    `substring_of_span` has one entry per span of every word, in the order of `treetok.span_table.SpanTable`: the
    span of width w and start i in a word of n letters is entry first_span[word] + (w-1)n - (w-1)(w-2)/2 + i.
    """

    lengths: I64
    first_span: I64
    substring_of_span: I32
    width_starts: I64
    # One occurrence of each substring.
    word_of_substring: I32
    start_of_substring: I32
    # As `SpanTable.by_width` hashes them; ascending within each width.
    hash_of_substring: U64

    @property
    def widest(self) -> int:
        return len(self.width_starts) - 1

    def __len__(self) -> int:
        return int(self.width_starts[-1])

    def find(self, strings: Sequence[str]) -> tuple[I64, I64]:
        """The places, in the list, of those strings that are substrings, and the ids they have.

        >>> table = tabulate_substrings(["ana", "an"])
        >>> places, ids = table.find(["na", "x", "ana", "anan"])
        >>> places.tolist(), [table.strings(["ana", "an"])[number] for number in ids]
        ([0, 2], ['na', 'ana'])
        """
        lengths = np.array([len(string) for string in strings], dtype=np.int64)
        hashes = mix(string_hashes(strings))
        places, ids = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for width in range(1, self.widest + 1):
            first, last = self.width_starts[width - 1 : width + 1].tolist()
            of_width = np.flatnonzero(lengths == width)
            place = np.searchsorted(self.hash_of_substring[first:last], hashes[of_width])
            found = self.hash_of_substring[first + np.minimum(place, last - first - 1)] == hashes[of_width]
            places.append(of_width[found])
            ids.append(first + place[found])
        return np.concatenate(places), np.concatenate(ids)

    def strings(self, words: Sequence[str]) -> list[str]:
        """The substrings themselves, by id."""
        widths = np.repeat(np.arange(1, self.widest + 1), np.diff(self.width_starts)).tolist()
        occurrences = zip(self.word_of_substring.tolist(), self.start_of_substring.tolist(), widths, strict=True)
        return [words[word][start : start + width] for word, start, width in occurrences]


def tabulate_substrings(words: Sequence[str]) -> SubstringTable:
    """Assign ids to the distinct substrings of words.

    >>> table = tabulate_substrings(["ana", "an"])
    >>> sorted(table.strings(["ana", "an"]))
    ['a', 'an', 'ana', 'n', 'na']
    >>> table.width_starts.tolist()
    [0, 2, 4, 5]
    """
    spans = SpanTable(words)
    substring_of_span = np.zeros(spans.total, dtype=np.int32)
    width_starts = [0]
    in_words, starts, distinct_hashes = [], [], []
    for word, start, width, hashes in spans.by_width():
        distinct, first, substring = np.unique(hashes, return_index=True, return_inverse=True)
        at = spans.number(word, np.int64(width), start)  # type: ignore[arg-type]
        substring_of_span[at] = width_starts[-1] + substring
        width_starts.append(width_starts[-1] + len(first))
        in_words.append(word[first])
        starts.append(start[first])
        distinct_hashes.append(distinct)
    empty = np.zeros(0, dtype=np.int64)
    return SubstringTable(
        spans.lengths,
        spans.first_span,
        substring_of_span,
        np.array(width_starts),
        np.concatenate([empty, *in_words]).astype(np.int32),
        np.concatenate([empty, *starts]).astype(np.int32),
        np.concatenate([np.zeros(0, dtype=np.uint64), *distinct_hashes]),
    )

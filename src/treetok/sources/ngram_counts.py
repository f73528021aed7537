"""Trees from counts: split every span where min(count(left), count(right)) is highest.

The counts are of the n-grams inside the words of a corpus, each word weighted by its frequency. There is no
training: the table is built in seconds on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError
from treetok.span_table import I64, U64, SpanTable, walk_trees

# An n-gram seen once is no more informative than an unseen one: dropping it changes no tree of a known word.
LEAST_COUNT = 2
# Bounds the memory of one batch.
SPANS_PER_BATCH = 4_000_000


def run_starts(values: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """The start index of each run of equal values.

    >>> run_starts(np.array([4, 4, 7, 4])).tolist()
    [0, 2, 3]
    """
    return np.flatnonzero(np.concatenate([[True] * (len(values) > 0), values[1:] != values[:-1]]))


def counts_from_bytes(hashes: bytes, counts: bytes) -> CountTrees:
    return CountTrees(np.frombuffer(hashes, dtype=np.uint64), np.frombuffer(counts, dtype=np.uint64))


class CountTrees:
    """Trees from a table of n-gram counts, keyed by sorted 64-bit hashes.

    >>> trees = CountTrees.from_words({"walking": 3, "talking": 3, "walk": 5, "ring": 2})
    >>> [list(map(int, scores)) for scores in trees.split_scores(["walking"])]
    [[-1, -2, -3, 0, -1, -2]]
    """

    def __init__(self, hashes: U64, counts: U64) -> None:
        if hashes.shape != counts.shape or hashes.ndim != 1:
            raise TreetokError("the number of n-gram hashes differs from the number of counts")
        if len(hashes) > 1 and not bool(np.all(hashes[:-1] < hashes[1:])):
            raise TreetokError("the n-gram hashes are not sorted")
        self.hashes = hashes
        self.counts = counts

    def __reduce__(self) -> tuple[Any, ...]:
        # Bytes, since pickled arrays differ by whether they have the same dtype object.
        return counts_from_bytes, (self.hashes.tobytes(), self.counts.tobytes())

    @classmethod
    def from_words(cls, word_counts: Mapping[str, int]) -> CountTrees:
        """Count the n-grams of words, weighted by the counts of the words."""
        words = sorted(word_counts)
        times = np.array([word_counts[word] for word in words], dtype=np.uint64)
        hashes, counts = [], []
        for word, _, _, of_width in SpanTable(words).by_width():
            order = np.argsort(of_width, kind="stable")
            sorted_hashes = of_width[order]
            firsts = run_starts(sorted_hashes)
            sums = np.add.reduceat(times[word[order]], firsts)
            kept = sums >= LEAST_COUNT
            hashes.append(sorted_hashes[firsts[kept]])
            counts.append(sums[kept])
        if not hashes:
            return cls(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64))
        all_hashes, all_counts = np.concatenate(hashes), np.concatenate(counts)
        order = np.argsort(all_hashes, kind="stable")
        all_hashes, all_counts = all_hashes[order], all_counts[order]
        # Hash collisions are practically impossible; keep the first.
        distinct = run_starts(all_hashes)
        return cls(all_hashes[distinct], all_counts[distinct])

    def look_up(self, hashes: U64) -> I64:
        """The counts of n-grams, given their hashes; 0 if not in the table."""
        if not len(self.hashes):
            return np.zeros(len(hashes), dtype=np.int64)
        # Sorted lookups are cache-friendly: several times faster in a large table.
        order = np.argsort(hashes)
        sorted_hashes = hashes[order]
        at = np.minimum(np.searchsorted(self.hashes, sorted_hashes), len(self.hashes) - 1)
        found = np.empty(len(hashes), dtype=np.int64)
        found[order] = np.where(self.hashes[at] == sorted_hashes, self.counts[at], np.uint64(0))
        return found

    def split_scores(self, words: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """For each word, minus the depth of every split in its tree."""
        scores: list[npt.NDArray[np.float32]] = []
        batch: list[str] = []
        spans = 0
        for word in words:
            batch.append(word)
            spans += len(word) * (len(word) + 1) // 2
            if spans >= SPANS_PER_BATCH:
                scores += self._batch_scores(batch)
                batch, spans = [], 0
        return scores + self._batch_scores(batch)

    def _batch_scores(self, words: list[str]) -> list[npt.NDArray[np.float32]]:
        if not words:
            return []
        spans = SpanTable(words)
        counts = np.zeros(spans.total, dtype=np.int64)
        for word, start, width, hashes in spans.by_width():
            counts[spans.number(word, np.int64(width), start)] = self.look_up(hashes)  # type: ignore[arg-type]

        def best_split(word: I64, start: I64, end: I64) -> I64:
            # One row per split of each span.
            splits = end - start - 1
            row = np.repeat(np.arange(len(word)), splits)
            left_width = np.arange(len(row)) - (np.cumsum(splits) - splits)[row] + 1
            row_word, row_start = word[row], start[row]
            smaller = np.minimum(
                counts[spans.number(row_word, left_width, row_start)],
                counts[spans.number(row_word, (end - start)[row] - left_width, row_start + left_width)],
            )
            best = np.maximum.reduceat(smaller, np.cumsum(splits) - splits)
            candidates = np.flatnonzero(smaller == best[row])
            leftmost = candidates[run_starts(row[candidates])]
            middle: I64 = start + left_width[leftmost]
            return middle

        return walk_trees(spans.lengths, best_split)

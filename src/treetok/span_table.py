"""All spans of a batch of words in flat arrays: span indices, and hashes of the characters in each span."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

HASH_BASE = np.uint64(0x9E3779B97F4A7C15)


def mix(values: U64) -> U64:
    """Hash 64-bit integers (the splitmix64 finaliser)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def character_hashes(strings: Sequence[str]) -> U64:
    """The hash of every character of all strings, one after the other."""
    codes = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return mix(codes.astype(np.uint64) + np.uint64(1))


def string_hashes(strings: Sequence[str]) -> U64:
    """The hash of every string: that of a span of the same characters, before it is mixed.

    >>> spans = {width: hashes.tolist() for _, _, width, hashes in SpanTable(["ab"]).by_width()}
    >>> mix(string_hashes(["b", "ab"])).tolist() == [spans[1][1], spans[2][0]]
    True
    """
    lengths = np.array([len(string) for string in strings], dtype=np.int64)
    codes, first = character_hashes(strings), np.cumsum(lengths) - lengths
    hashes = np.zeros(len(strings), dtype=np.uint64)
    for at in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > at)
        hashes[longer] = hashes[longer] * HASH_BASE + codes[first[longer] + at]
    return hashes


def spans_before_width(n: Any, width: Any) -> Any:
    """Number of spans narrower than `width` in a word of n letters; takes numbers, arrays or tensors.

    >>> [spans_before_width(4, width) for width in (1, 2, 3, 4)]
    [0, 4, 7, 9]
    """
    return (width - 1) * n - (width - 1) * (width - 2) // 2


def walk_trees(lengths: I64, split_of: Callable[[I64, I64, I64], I64]) -> list[npt.NDArray[np.float32]]:
    """Walk the trees of all words in parallel, one depth at a time; returns minus the depth of every split.

    split_of: given word indices, starts and ends of spans, returns the position at which each span is split.

    >>> halves = lambda word, start, end: (start + end) // 2
    >>> [depths.tolist() for depths in walk_trees(np.array([4, 1, 2]), halves)]
    [[-1.0, 0.0, -1.0], [], [0.0]]
    """
    last_split = np.cumsum(np.maximum(lengths - 1, 0))
    first_split = last_split - np.maximum(lengths - 1, 0)
    depths = np.zeros(int(last_split[-1]) if len(lengths) else 0, dtype=np.float32)
    word = np.flatnonzero(lengths > 1)
    start, end = np.zeros_like(word), lengths[word]
    depth = 0
    while len(word):
        middle = split_of(word, start, end)
        depths[first_split[word] + middle - 1] = -depth
        word = np.concatenate([word, word])
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        inner = end - start > 1
        word, start, end = word[inner], start[inner], end[inner]
        depth += 1
    return np.split(depths, last_split[:-1])


class SpanTable:
    """All spans of a batch of words, ordered by word, then width, then start."""

    def __init__(self, words: Sequence[str]) -> None:
        self.lengths = np.array([len(word) for word in words], dtype=np.int64)
        self.codes = character_hashes(words)
        sizes = self.lengths * (self.lengths + 1) // 2
        self.first_span: I64 = np.cumsum(sizes) - sizes
        self.total = int(sizes.sum())

    def number(self, word: I64, width: I64, start: I64) -> I64:
        """The index of the span of the given width and start in a word."""
        index: I64 = self.first_span[word] + spans_before_width(self.lengths[word], width) + start
        return index

    def by_width(self) -> Iterator[tuple[I64, I64, int, U64]]:
        """For each width, yield the words and starts of all its spans, the width, and the span hashes."""
        word = np.repeat(np.arange(len(self.lengths)), self.lengths)
        begin = np.cumsum(self.lengths) - self.lengths
        at = np.arange(len(self.codes))
        start = at - begin[word]
        hashes = np.zeros(len(at), dtype=np.uint64)
        width = 1
        while len(at):
            hashes = hashes * HASH_BASE + self.codes[at + (width - 1)]
            yield word, start, width, mix(hashes)
            fits = start + width < self.lengths[word]
            word, start, at, hashes = word[fits], start[fits], at[fits], hashes[fits]
            width += 1

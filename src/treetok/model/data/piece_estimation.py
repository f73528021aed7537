"""Probabilities of pieces: expectation maximisation over all ways to cut the words of a text.

The trainer of Unigram always finds the same pieces, but their probabilities differ a little from run to run, as it
adds up in no fixed order. So they are estimated anew.

Shapes: W words, O occurrences of a piece as a substring of a word, P pieces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.span_table import I64, SpanTable, mix, string_hashes

ROUNDS = 4
# Of a piece that no likely cut of any word has.
LEAST_EXPECTED = 1e-3
DECIMALS = 4

F64 = npt.NDArray[np.float64]


def log_probabilities_of(pieces: Sequence[str], word_counts: Mapping[str, int]) -> dict[str, float]:
    """Log-probabilities that make the words likely: some rounds of expectation maximisation from a uniform start.

    >>> log_probabilities_of(["a", "b", "ab"], {"ab": 3, "b": 1})
    {'a': -4.8936, 'b': -1.3641, 'ab': -0.3053}
    """
    if not pieces:
        return {}
    words = sorted(word_counts)
    counts_W = np.array([word_counts[word] for word in words], dtype=np.float64)
    occurrences = Occurrences.of(pieces, words)
    probability_P = np.full(len(pieces), 1 / len(pieces))
    for _ in range(ROUNDS):
        expected_P = np.maximum(occurrences.expected(probability_P, counts_W), LEAST_EXPECTED)
        probability_P = expected_P / math.fsum(expected_P.tolist())
    rounded = [round(math.log(p), DECIMALS) for p in probability_P.tolist()]
    return dict(zip(pieces, rounded, strict=True))


@dataclass(frozen=True)
class Occurrences:
    """All places where words have a piece as a substring: word, start, end and piece, in the order of ends."""

    lengths_W: I64
    word_O: I64
    start_O: I64
    end_O: I64
    piece_O: I64

    @classmethod
    def of(cls, pieces: Sequence[str], words: Sequence[str]) -> Occurrences:
        hashes = mix(string_hashes(pieces))
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        longest = max(map(len, pieces))
        table = SpanTable(words)
        found: list[tuple[I64, ...]] = [(np.zeros(0, dtype=np.int64),) * 4]
        for word, start, width, of_span in table.by_width():
            if width > longest:
                break
            place = np.minimum(np.searchsorted(hashes, of_span), len(hashes) - 1)
            at = np.flatnonzero(hashes[place] == of_span)
            found.append((word[at], start[at], start[at] + width, order[place[at]]))
        word_O, start_O, end_O, piece_O = (np.concatenate(parts) for parts in zip(*found, strict=True))
        by_end = np.argsort(end_O, kind="stable")
        return cls(table.lengths, word_O[by_end], start_O[by_end], end_O[by_end], piece_O[by_end])

    def expected(self, probability_P: F64, counts_W: F64) -> F64:
        """How often each piece is expected in the cuts of all words (forward-backward algorithm)."""
        words, longest = len(self.lengths_W), int(self.lengths_W.max(initial=0))
        every_word = np.arange(words)
        p_O = probability_P[self.piece_O]
        # [place, word]: the sum over all cuts of the letters before, and after, each place.
        before, after = np.zeros((2, longest + 1, words))
        before[0] = 1.0
        first = np.searchsorted(self.end_O, np.arange(longest + 2))
        for end in range(1, longest + 1):
            at = slice(first[end], first[end + 1])
            ways = before[self.start_O[at], self.word_O[at]] * p_O[at]
            before[end] = np.bincount(self.word_O[at], ways, minlength=words)
        after[self.lengths_W, every_word] = 1.0
        for end in range(longest, 0, -1):
            at = slice(first[end], first[end + 1])
            np.add.at(after, (self.start_O[at], self.word_O[at]), p_O[at] * after[end, self.word_O[at]])
        total_W = before[self.lengths_W, every_word]
        # 0 if a word has a character that no piece has: it has no cuts.
        share_W = np.divide(counts_W, total_W, out=np.zeros(words), where=total_W > 0)
        ways = before[self.start_O, self.word_O] * p_O * after[self.end_O, self.word_O]
        return np.bincount(self.piece_O, ways * share_W[self.word_O], minlength=len(probability_P)).astype(
            np.float64
        )

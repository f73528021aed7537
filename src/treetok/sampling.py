"""Subword regularization: segmentations sampled along the tree, as BPE-dropout does along merges.

Every string that top-down matching would stop at, or that post-merge would make, is declined with a given
probability; matching then goes on with the subtrees. Single characters are never declined. So 0 is the usual
segmentation, and 1 splits words into characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from treetok.segment import Segmenter
from treetok.tree import LEAF, arrange_splits

MASK = (1 << 64) - 1
# Probabilities are compared with this many bits of random numbers.
BITS = 53

# Whether the string between two characters of a word is declined.
Declines = Callable[[int, int], bool]


def mix(number: int) -> int:
    """SplitMix64: scrambles the bits of a number (Steele, Lea and Flood 2014).

    >>> hex(mix(0))
    '0xe220a8397b1dcdaf'
    """
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


@dataclass(frozen=True)
class Dropout:
    """What is declined depends on nothing but the seed, the number of the text in its batch, the number of the
    word in the text, and the place in the word: not on threads, nor on what was encoded before.

    threshold: the probability times 2**BITS.
    """

    threshold: int
    seed: int

    @classmethod
    def of(cls, probability: float, seed: int) -> Dropout:
        return cls(int(probability * (1 << BITS)), seed)

    def of_word(self, text: int, word: int) -> Declines:
        key = mix(mix(mix(self.seed) ^ text) ^ word)
        return lambda start, end: mix(key ^ (start << 8 | end)) >> (64 - BITS) < self.threshold


def sample_pieces(segmenter: Segmenter, word: str, scores: Sequence[float], declines: Declines) -> list[str]:
    """`Segmenter.cut` with dropout."""
    cuts = merge(segmenter, word, match(segmenter, word, scores, declines, True), declines)
    markers = sum(segmenter.markers.get(piece, 0) for piece in pieces_at(word, cuts))
    if markers:
        plain = merge(segmenter, word, match(segmenter, word, scores, declines, False), declines)
        cuts = plain if len(plain) < len(cuts) + markers else cuts
    return pieces_at(word, cuts)


def pieces_at(word: str, cuts: Sequence[int]) -> list[str]:
    """
    >>> pieces_at("walked", [0, 4, 6])
    ['walk', 'ed']
    """
    return [word[start:end] for start, end in pairwise(cuts)]


def match(
    segmenter: Segmenter, word: str, scores: Sequence[float], declines: Declines, markers: bool
) -> list[int]:
    """`Segmenter.match_top_down` with dropout: where pieces begin, and the end of the word."""
    stops = segmenter.pieces if markers else segmenter.costs
    splits = arrange_splits(scores)
    cuts = []
    stack = [(0, len(word), splits.root)]
    while stack:
        start, end, split = stack.pop()
        is_token = end - start <= segmenter.longest and word[start:end] in stops
        if split == LEAF or (is_token and not declines(start, end)):
            cuts.append(start)
        else:
            stack.append((split + 1, end, splits.right[split]))
            stack.append((start, split + 1, splits.left[split]))
    return [*cuts, len(word)]


def merge(segmenter: Segmenter, word: str, cuts: list[int], declines: Declines) -> list[int]:
    """`Segmenter.post_merge` with dropout. What was declined before is declined again."""
    best, last_start = [0], [0]
    for end in range(1, len(cuts)):
        lowest = best[end - 1] + segmenter.pieces.get(word[cuts[end - 1] : cuts[end]], segmenter.unknown)
        from_piece = end - 1
        for start in range(end - 2, -1, -1):
            if cuts[end] - cuts[start] > segmenter.longest:
                break
            cost = segmenter.costs.get(word[cuts[start] : cuts[end]])
            if cost is not None and best[start] + cost < lowest and not declines(cuts[start], cuts[end]):
                lowest, from_piece = best[start] + cost, start
        best.append(lowest)
        last_start.append(from_piece)
    merged = [len(word)]
    end = len(cuts) - 1
    while end:
        end = last_start[end]
        merged.append(cuts[end])
    return merged[::-1]

"""Which tokens of a text or of a pair are kept when there are too many: the same as in the tokenizers library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from treetok.errors import TreetokError

Strategy = Literal["longest_first", "only_first", "only_second"]
Side = Literal["left", "right"]
# Tokens start to end of a sequence.
Span = tuple[int, int]


def kept(length: int, most: int, side: Side) -> Span:
    """What is kept of a sequence; `side` is where tokens are removed.

    >>> kept(10, 4, "right"), kept(10, 4, "left")
    ((0, 4), (6, 10))
    """
    if length <= most:
        return 0, length
    return (0, most) if side == "right" else (length - most, length)


def windows(length: int, most: int, stride: int, side: Side) -> list[Span]:
    """Spans of at most `most` tokens that cover a sequence; neighbours share `stride` tokens. The first is what is
    kept, the others are the overflow.

    >>> windows(10, 4, 1, "right")
    [(0, 4), (3, 7), (6, 10)]
    >>> windows(10, 4, 1, "left")
    [(6, 10), (3, 7), (0, 4)]
    """
    if length <= most:
        return [(0, length)]
    if most == 0:
        return [(0, 0)]
    if stride >= most:
        raise TreetokError(
            f"stride must be less than the {most} tokens that max_length leaves for the text, not {stride}"
        )
    spans = [(start, min(start + most, length)) for start in range(0, length - stride, most - stride)]
    return spans if side == "right" else [(length - end, length - start) for start, end in spans]


def limits(lengths: Sequence[int], most: int, strategy: Strategy) -> tuple[int, ...]:
    """How many tokens of a text, or of each text of a pair, may stay if there is room for `most`, fewer than there
    are.

    >>> limits([10, 3], 8, "longest_first"), limits([10, 3], 8, "only_first"), limits([10, 9], 8, "longest_first")
    ((5, 3), (5, 3), (4, 4))
    """
    if len(lengths) == 1:
        if strategy == "only_second":
            raise TreetokError("truncation='only_second' needs a pair of texts")
        return (most,)
    if most == 0:
        return 0, 0
    first, second = lengths
    if strategy == "longest_first":
        shorter = min(first, second)
        longer = max(shorter, most - shorter)
        if shorter + longer > most:
            shorter, longer = most // 2, most - most // 2
        return (shorter, longer) if first <= second else (longer, shorter)
    remove = first + second - most
    length, name = (first, "first") if strategy == "only_first" else (second, "second")
    if length <= remove:
        raise TreetokError(
            f"the pair has {remove} tokens too many for max_length, and its {name} text only {length} tokens:"
            " use truncation='longest_first' or a larger max_length"
        )
    return (first - remove, second) if strategy == "only_first" else (first, second - remove)


def rows_of_windows(windows_of_texts: Sequence[list[Span]]) -> list[tuple[Span, ...]]:
    """All combinations of the windows of two texts: what is kept of both, then the others in the order that the
    tokenizers library has. Of one text, its windows."""
    if len(windows_of_texts) == 1:
        return [(span,) for span in windows_of_texts[0]]
    firsts, seconds = windows_of_texts
    overflow_of_first = [(first, second) for first in firsts[1:] for second in seconds]
    return [(firsts[0], seconds[0]), *overflow_of_first, *((firsts[0], second) for second in seconds[1:])]

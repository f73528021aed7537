"""Which tokens of a text, or of a pair of texts, are kept when there are too many: what the tokenizers library does."""

from __future__ import annotations

from typing import Literal

from treetok.errors import TreetokError

Strategy = Literal["longest_first", "only_first", "only_second"]
Side = Literal["left", "right"]
# Tokens start to end of a sequence.
Span = tuple[int, int]


def windows(length: int, most: int, stride: int, side: Side) -> list[Span]:
    """Spans of at most `most` tokens that cover a sequence; two neighbours share `stride` tokens. The first is what
    is kept, the others are the overflow.

    >>> windows(10, 4, 1, "right")
    [(0, 4), (3, 7), (6, 10)]
    >>> windows(10, 4, 1, "left")
    [(6, 10), (3, 7), (0, 4)]
    """
    if length <= most:
        return [(0, length)]
    if most == 0:
        return [(0, 0), (0, length)]
    if stride >= most:
        raise TreetokError(
            f"stride must be less than the {most} tokens that max_length leaves for the text, not {stride}"
        )
    spans = [(start, min(start + most, length)) for start in range(0, length - stride, most - stride)]
    return spans if side == "right" else [(length - end, length - start) for start, end in spans]


def limits(first: int, second: int | None, most: int, strategy: Strategy) -> tuple[int, int]:
    """How many tokens of each sequence may stay, if `most` may in total. `second` is None if there is only one.

    >>> limits(10, 3, 8, "longest_first"), limits(10, 3, 8, "only_first"), limits(10, 9, 8, "longest_first")
    ((5, 3), (5, 3), (4, 4))
    """
    if second is None:
        if strategy == "only_second":
            raise TreetokError("truncation='only_second' needs a pair of texts")
        return most, 0
    remove = first + second - most
    if remove <= 0 or most <= 0:
        return (first, second) if remove <= 0 else (0, 0)
    if strategy == "longest_first":
        shorter, longer = min(first, second), max(min(first, second), most - min(first, second))
        if shorter + longer > most:
            shorter, longer = most // 2, most - most // 2
        return (shorter, longer) if first <= second else (longer, shorter)
    length, name = (first, "first") if strategy == "only_first" else (second, "second")
    if length <= remove:
        raise TreetokError(
            f"the pair has {remove} tokens too many for max_length, and its {name} text only {length} tokens:"
            " use truncation='longest_first' or a larger max_length"
        )
    return (first - remove, second) if strategy == "only_first" else (first, second - remove)


def pairs_of_windows(firsts: list[Span], seconds: list[Span]) -> list[tuple[Span, Span]]:
    """All pairs of windows: what is kept of both, then the rest in the order of the tokenizers library."""
    kept = [(firsts[0], seconds[0])]
    rest = [(first, second) for first in firsts[1:] for second in seconds]
    return kept + rest + [(firsts[0], second) for second in seconds[1:]]

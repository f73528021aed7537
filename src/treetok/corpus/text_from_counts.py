"""Word counts as text again: trainers of other tokenizers take text, not counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

REPEATED_AT_ONCE = 1000


def counts_as_text(word_counts: Mapping[str, int], separator: str) -> Iterator[str]:
    """Words as often as they were counted, many at a time.

    >>> list(counts_as_text({"ab": 2, "c": 1}, "|"))
    ['ab|ab', 'c']
    """
    for word, times in word_counts.items():
        if times >= REPEATED_AT_ONCE:
            line = separator.join([word] * REPEATED_AT_ONCE)
            for _ in range(times // REPEATED_AT_ONCE):
                yield line
        if times % REPEATED_AT_ONCE:
            yield separator.join([word] * (times % REPEATED_AT_ONCE))

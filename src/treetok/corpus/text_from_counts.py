"""Turn word counts back into text, for tokenizer trainers that take text rather than counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

REPEATS_PER_LINE = 1000


def counts_as_text(word_counts: Mapping[str, int], separator: str) -> Iterator[str]:
    """Yield each word as often as it was counted, many repeats per string.

    >>> list(counts_as_text({"ab": 2, "c": 1}, "|"))
    ['ab|ab', 'c']
    """
    for word, times in word_counts.items():
        if times >= REPEATS_PER_LINE:
            line = separator.join([word] * REPEATS_PER_LINE)
            for _ in range(times // REPEATS_PER_LINE):
                yield line
        if times % REPEATS_PER_LINE:
            yield separator.join([word] * (times % REPEATS_PER_LINE))

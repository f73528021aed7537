"""Character counts and coverage of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def characters_by_count(word_counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Characters and their counts, most frequent first; ties are broken by code point.

    >>> characters_by_count({"abba": 10, "xb": 1})
    [('b', 21), ('a', 20), ('x', 1)]
    """
    counts: Counter[str] = Counter()
    for word, times in word_counts.items():
        for character in word:
            counts[character] += times
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def covering_characters(words: Mapping[str, int], coverage: float) -> frozenset[str]:
    """The most frequent characters, as many as it takes to cover the fraction `coverage` of the text.

    >>> sorted(covering_characters({"abba": 10, "x": 1}, 0.9))
    ['a', 'b']
    """
    counts = characters_by_count(words)
    enough = coverage * sum(times for _, times in counts)
    kept: list[str] = []
    covered = 0
    for character, times in counts:
        if covered >= enough:
            break
        kept.append(character)
        covered += times
    return frozenset(kept)

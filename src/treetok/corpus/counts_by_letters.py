"""Word counts grouped by the letters that trees are built over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treetok.text import Profile


def counts_by_letters(word_counts: Mapping[str, int], profile: Profile) -> dict[str, int]:
    """Sum the counts of words that share a tree: in some profiles, words that differ in case or a leading space.

    >>> from treetok.text import profile_named
    >>> counts_by_letters({" Walk": 2, "walk": 1, " ring": 3}, profile_named("lossless"))
    {'walk': 3, 'ring': 3}
    """
    counts: dict[str, int] = {}
    for word, times in word_counts.items():
        letters = profile.letters(word)
        counts[letters] = counts.get(letters, 0) + times
    return counts

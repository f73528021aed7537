"""A limit on word length, so that a megabyte of the same letter becomes many short words."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_WORD = 64


def split_long_words(
    words: list[str], own_way: Callable[[str], list[str] | None] = lambda word: None
) -> list[str]:
    """Split words of more than LONGEST_WORD characters into pieces of at most that length, unless `own_way` splits
    them.

    >>> [len(word) for word in split_long_words(["ab", "x" * 130])]
    [2, 64, 64, 2]
    """
    if not words or len(max(words, key=len)) <= LONGEST_WORD:
        return words
    pieces: list[str] = []
    for word in words:
        parts = own_way(word) if len(word) > LONGEST_WORD else [word]
        pieces += parts or [word[start : start + LONGEST_WORD] for start in range(0, len(word), LONGEST_WORD)]
    return pieces

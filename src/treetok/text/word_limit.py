"""A limit on word length, so that a megabyte of the same letter becomes many short words."""

from __future__ import annotations

LONGEST_WORD = 64


def split_long_words(words: list[str]) -> list[str]:
    """Split words of more than LONGEST_WORD characters into pieces of at most that length.

    >>> [len(word) for word in split_long_words(["ab", "x" * 130])]
    [2, 64, 64, 2]
    """
    if not words or len(max(words, key=len)) <= LONGEST_WORD:
        return words
    return [word[start : start + LONGEST_WORD] for word in words for start in range(0, len(word), LONGEST_WORD)]

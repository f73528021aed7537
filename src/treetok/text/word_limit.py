"""A limit on the length of a word, so that one megabyte of one letter is many short words."""

from __future__ import annotations

LONGEST_WORD = 64


def cut_long_words(words: list[str]) -> list[str]:
    """Cut every word of more than LONGEST_WORD characters into runs of that length.

    >>> [len(word) for word in cut_long_words(["ab", "x" * 130])]
    [2, 64, 64, 2]
    """
    if not words or len(max(words, key=len)) <= LONGEST_WORD:
        return words
    return [word[start : start + LONGEST_WORD] for word in words for start in range(0, len(word), LONGEST_WORD)]

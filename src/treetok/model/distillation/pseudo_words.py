"""Pseudo-words: strings that look like words, so that the parser has more trees to learn from than words."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random

from treetok.sources.tree_agreement import SHORTEST_WORD

# Parts of pseudo-compounds: shorter words are seldom stems, longer ones make compounds too long for a chart, and
# rare ones are often names and typos.
SHORTEST_PART, LONGEST_PART, LEAST_COUNT = 3, 8, 3
# Occur in no word.
START, END = "\n" * 4, "\n"


def pseudo_words(words: Sequence[str], size: int, seed: int = 0) -> list[str]:
    """Strings that are not words, sampled from a character 5-gram model of the distinct words; possibly fewer than
    `size`."""
    words = [word for word in words if END not in word]
    known, longest = set(words), max(map(len, words), default=0)
    followers: dict[str, list[str]] = {}
    for word in words:
        written = START + word + END
        for at in range(len(START), len(written)):
            followers.setdefault(written[at - len(START) : at], []).append(written[at])
    random = Random(seed)
    sampled: dict[str, None] = {}
    for _ in range(2 * size):
        if len(sampled) == size or not words:
            break
        string = START
        letter = ""
        while letter != END and len(string) <= len(START) + longest:
            string += letter
            candidates = followers[string[-len(START) :]]
            letter = candidates[int(random.random() * len(candidates))]
        string = string[len(START) :]
        if SHORTEST_WORD <= len(string) <= longest and string not in known:
            sampled[string] = None
    return list(sampled)


def pseudo_compounds(word_counts: Mapping[str, int], size: int, longest: int, seed: int = 0) -> list[str]:
    """Strings that are not words, each made of two words, which are drawn by the square root of their counts; they
    have at most `longest` letters. Possibly fewer than `size`.

    >>> pseudo_compounds({"wind": 9, "surf": 9, "of": 100, "windsurf": 1}, 2, longest=8, seed=1)
    ['surfwind', 'surfsurf']
    """
    parts = [
        word
        for word in sorted(word_counts)
        if SHORTEST_PART <= len(word) <= LONGEST_PART and word_counts[word] >= LEAST_COUNT and word.isalpha()
    ]
    ends = list(accumulate(math.sqrt(word_counts[word]) for word in parts))
    random = Random(seed)
    sampled: dict[str, None] = {}
    for _ in range(3 * size):
        if len(sampled) == size or not parts:
            break
        first, second = (parts[bisect(ends, random.random() * ends[-1])] for _ in range(2))
        if len(first + second) <= longest and first + second not in word_counts:
            sampled[first + second] = None
    return list(sampled)

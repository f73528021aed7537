"""Pseudo-words: strings that look like words, so that the parser has more trees to learn from than words."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.sources.tree_agreement import SHORTEST_WORD

# Parts of pseudo-compounds: shorter words are seldom stems, longer ones make compounds too long for a chart, and
# rare ones are often names and typos.
SHORTEST_PART, LONGEST_PART, LEAST_COUNT = 3, 8, 3
# Occur in no word.
START, END = "\n" * 4, "\n"
SAMPLED_AT_ONCE = 100_000


def pseudo_words(words: Sequence[str], size: int, seed: int = 0) -> list[str]:
    """Strings that are not words, sampled from a character 5-gram model of the distinct words; possibly fewer than
    `size`."""
    words = [word for word in words if END not in word]
    known, longest = set(words), max(map(len, words), default=0)
    if not longest or not size:
        return []
    model = CharacterModel(words)
    rng = np.random.default_rng(seed)
    sampled: dict[str, None] = {}
    at_once = min(size, SAMPLED_AT_ONCE)
    for _ in range(0, 2 * size, at_once):
        for string in model.sample(at_once, longest, rng):
            if len(string) >= SHORTEST_WORD and string not in known and len(sampled) < size:
                sampled[string] = None
        if len(sampled) == size:
            break
    return list(sampled)


class CharacterModel:
    """The letters that follow every four letters of some words, as often as they do.

    Entries are the letters of all words and the ends of words, those with the same context one after the other.
    """

    def __init__(self, words: Sequence[str]) -> None:
        text = "".join(START + word + END for word in words)
        codes = code_points(text)
        in_word = np.ones(len(text), dtype=bool)
        blocks = np.array([len(START) + len(word) + len(END) for word in words])
        starts = np.cumsum(blocks) - blocks
        in_word[(starts[:, None] + np.arange(len(START))).reshape(-1)] = False
        entries = np.flatnonzero(in_word)
        # The four letters from every place on, as a number: a pair of pairs.
        pair = numbered_pairs(codes[:-1], codes[1:])
        context = numbered_pairs(pair[:-2], pair[2:])
        before = context[entries - len(START)]
        order = np.argsort(before, kind="stable")
        self._code = codes[entries[order]]
        self._next_context = context[entries[order] - len(START) + 1]
        self._count = np.bincount(before, minlength=int(context.max()) + 1)
        self._first = np.cumsum(self._count) - self._count
        self._start = context[0]

    def sample(self, size: int, longest: int, rng: np.random.Generator) -> list[str]:
        """Random strings; those longer than `longest` are left out."""
        codes = np.zeros((size, longest + 1), dtype=np.uint32)
        lengths = np.full(size, longest + 1)
        growing, context = np.arange(size), np.full(size, self._start)
        for length in range(longest + 1):
            entry = self._first[context] + (rng.random(len(growing)) * self._count[context]).astype(np.int64)
            code = self._code[entry]
            goes_on = code != ord(END)
            lengths[growing[~goes_on]] = length
            growing, context = growing[goes_on], self._next_context[entry[goes_on]]
            codes[growing, length] = code[goes_on]
        codes, lengths = codes[lengths <= longest], lengths[lengths <= longest]
        text = codes[np.arange(longest + 1) < lengths[:, None]].tobytes().decode("utf-32-le", "surrogatepass")
        return [text[start:end] for start, end in pairwise(accumulate(lengths.tolist(), initial=0))]


def code_points(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def numbered_pairs(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """A number for every pair of numbers, equal for equal pairs, without gaps.

    >>> numbered_pairs(np.array([3, 3, 0]), np.array([5, 1, 5])).tolist()
    [2, 1, 0]
    """
    pairs = left.astype(np.int64) * (int(right.max()) + 1) + right
    numbers: npt.NDArray[np.int64] = np.unique(pairs, return_inverse=True)[1]
    return numbers


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

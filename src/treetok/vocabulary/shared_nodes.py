"""The trees of a corpus as one table of distinct nodes.

Words share subtrees: `ing` in `walking` and `talking` is one node. A node is defined by its two children (and so
by its string). All algorithms treat a node the same way wherever it occurs, so sums over words become sums over
nodes, weighted by their frequency.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from treetok.cached_property import cached_property
from treetok.markers import Marker, marked

I64 = npt.NDArray[np.int64]


class SharedNodes:
    """Node k has the string `tokens[token[k]]`; `left[k]` and `right[k]` are its children, -1 for a character.

    `levels` lists the inner nodes by height, lowest first: children come before their parents, and each level
    takes one numpy call. `roots` and `frequencies` have one row per word; `repeating` marks the words in which
    some string occurs at two inner nodes (like `an` in `banana`).
    """

    def __init__(self, trees: Iterable[tuple[str, Sequence[float], int]]) -> None:
        tokens: list[str] = []
        left, right = array("i"), array("i")
        token: list[int] = []
        height: list[int] = []
        roots, frequencies, repeating = array("i"), array("q"), array("b")
        token_of_string: dict[str, int] = {}
        leaf_of_character: dict[str, int] = {}
        node_of_halves: dict[int, int] = {}
        # Inlined: this loop visits every letter of every word, and function calls would take a third of the time.
        for word, scores, frequency in trees:
            waiting: list[int] = []  # left children whose right sibling is not complete yet
            waiting_scores: list[float] = []
            tokens_of_word: list[int] = []
            remaining_scores = iter(scores)
            for character in word:
                node = leaf_of_character.get(character, -1)
                if node < 0:
                    node = leaf_of_character[character] = len(left)
                    token_of_string[character] = len(tokens)
                    left.append(-1)
                    right.append(-1)
                    token.append(len(tokens))
                    height.append(0)
                    tokens.append(character)
                # As in treetok.tree.arrange_splits; after the last character all nodes are completed.
                score = next(remaining_scores, math.inf)
                while waiting and waiting_scores[-1] < score:
                    waiting_scores.pop()
                    half = waiting.pop()
                    halves = half << 32 | node
                    whole = node_of_halves.get(halves, -1)
                    if whole < 0:
                        string = tokens[token[half]] + tokens[token[node]]
                        number = token_of_string.get(string, -1)
                        if number < 0:
                            number = token_of_string[string] = len(tokens)
                            tokens.append(string)
                        whole = node_of_halves[halves] = len(left)
                        left.append(half)
                        right.append(node)
                        token.append(number)
                        below_left, below_right = height[half], height[node]
                        height.append(1 + (below_left if below_left > below_right else below_right))
                    node = whole
                    tokens_of_word.append(token[node])
                waiting.append(node)
                waiting_scores.append(score)
            roots.append(node)
            frequencies.append(frequency)
            repeating.append(len(set(tokens_of_word)) < len(tokens_of_word))

        self.tokens = tokens
        self.left: I64 = np.array(left, dtype=np.int64)
        self.right: I64 = np.array(right, dtype=np.int64)
        self.token: I64 = np.array(token, dtype=np.int64)
        self.roots: I64 = np.array(roots, dtype=np.int64)
        self.frequencies: I64 = np.array(frequencies, dtype=np.int64)
        self.repeating: npt.NDArray[np.bool_] = np.array(repeating, dtype=bool)
        self.leaves: I64 = np.flatnonzero(self.left < 0)
        heights = np.array(height, dtype=np.int64)
        order = np.argsort(heights, kind="stable")
        ends = np.cumsum(np.bincount(heights))
        self.levels: list[I64] = np.split(order, ends[:-1])[1:] if len(heights) else []

    def __len__(self) -> int:
        return len(self.token)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each token."""
        return {string: number for number, string in enumerate(self.tokens)}

    @cached_property
    def with_space(self) -> I64:
        """For each token, the number of the token that becomes it behind the joiner; -1 if there is none."""
        found = np.full(len(self.tokens), -1, dtype=np.int64)
        for number, token in enumerate(self.tokens):
            joined = self.numbers.get(marked(Marker.JOIN, token) or "", -1)
            if joined >= 0:
                found[joined] = number
        return found

    def frequent_words(self, min_count: int, min_letters: int) -> set[str]:
        """The words that occur at least `min_count` times and have enough letters."""
        often = np.flatnonzero(self.frequencies >= min_count)
        strings = (self.tokens[number] for number in self.token[self.roots[often]].tolist())
        return {word for word in strings if len(word.lstrip(" ")) >= min_letters}

    def sum_at_roots(self, words: npt.NDArray[np.bool_] | slice = slice(None)) -> I64:
        """For each node, how often it is the root of one of the words."""
        sums = np.zeros(len(self), dtype=np.int64)
        np.add.at(sums, self.roots[words], self.frequencies[words])
        return sums

    def sum_by_token(self, nodes: I64, values: I64) -> I64:
        """For each token, the sum of the values at the given nodes."""
        sums = np.zeros(len(self.tokens), dtype=np.int64)
        np.add.at(sums, self.token[nodes], values)
        return sums

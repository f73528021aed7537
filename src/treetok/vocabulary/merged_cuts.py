"""What a vocabulary costs once post-merge has joined pieces, also across trees.

A token counts for more than the subtrees that have its string. `ize` is hardly ever a subtree, since trees have
`[[legal iz] e]` beside `[[legal iz] ing]`; as a token it saves one in each of these verbs. `ers` is hardly ever a
subtree either; as a token it undoes the boundary of `player s` in every such plural. So tokens also save what they
join, and joining pieces costs something where it erases the end of a word of the text.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from treetok.markers import Marker, marked_strings
from treetok.segment import Segmenter
from treetok.vocabulary.shared_nodes import I64, SharedNodes
from treetok.vocabulary.top_down_cuts import COST_PER_TOKEN, Bools, TopDownCuts

# Shorter or rarer words are too often words by accident.
MIN_LETTERS, MIN_COUNT = 3, 2
# The worth of an absent token is estimated from runs of up to this many tokens.
MAX_RUN = 3

Span = tuple[int, int]


class MergedCuts:
    """All words segmented as the tokenizer will: top-down, then post-merge for the fewest tokens.

    `erased_end_cost` is charged for every end of a word that a merge erases. With a joiner, words are segmented
    with it even where the tokenizer would do without, to save a token.

    `total` is the cost of the text. `worth` is as in `TopDownCuts`, and includes the merges that each string makes
    or would make where it is not a subtree; it is an estimate, since merges compete.
    """

    def __init__(
        self,
        nodes: SharedNodes,
        candidates: Bools,
        present: Bools,
        weights: I64,
        costs: I64,
        erased_end_cost: int,
        joiner: bool = False,
    ) -> None:
        top_down = TopDownCuts(nodes, present, weights, costs, joiner)
        self.total = top_down.total
        self.worth = top_down.worth.copy()
        self._costs: list[int] = costs.tolist()
        self._erased_end_cost = erased_end_cost
        self._numbers = nodes.numbers
        self._candidates: list[bool] = candidates.tolist()
        self._words = nodes.frequent_words(MIN_COUNT, MIN_LETTERS)
        counts = TopDownCuts(nodes, present, nodes.frequencies, costs, joiner).counts
        entries = np.flatnonzero(present).tolist()
        vocabulary = {nodes.tokens[k]: int(counts[k]) for k in entries}
        joined = marked_strings(vocabulary, [Marker.JOIN] if joiner else [])
        self._segmenter = Segmenter(vocabulary, True, joined)
        in_pieces = np.flatnonzero(~present[nodes.token[nodes.roots]] & (nodes.left[nodes.roots] >= 0))
        walk = TopDownWalk(nodes, [token in self._segmenter.pieces for token in nodes.tokens])
        for root, weight in zip(nodes.roots[in_pieces].tolist(), weights[in_pieces].tolist(), strict=True):
            self._add(nodes.tokens[nodes.token[root]], *walk.pieces(root), weight)

    def _add(self, word: str, pieces: list[str], split: set[Span], weight: int) -> None:
        merged = self._segmenter.post_merge(pieces)
        if len(merged) < len(pieces):
            for start, end, saved, erased in self._merges(word, pieces, merged):
                gain = weight * (saved - self._erased_end_cost * erased)
                self.total -= gain
                self.worth[self._numbers[word[start:end]]] += gain
        for start, end, saved, erased in self._possible_merges(word, merged):
            if (start, end) not in split:
                gain = weight * (saved - self._erased_end_cost * erased)
                self.worth[self._numbers[word[start:end]]] += gain

    def _merges(self, word: str, pieces: list[str], merged: list[str]) -> Iterator[tuple[int, int, int, int]]:
        """The tokens that are made by merging: start, end, cost saved, and erased ends of words."""
        start, rest = 0, iter(pieces)
        for token in merged:
            end = start + len(token)
            at, cost, erased = start, -self._cost(token), 0
            while at < end:
                piece = next(rest)
                at += len(piece)
                cost += self._cost(piece)
                erased += at < end and word[:at] in self._words
            if piece != token:
                yield start, end, cost, erased
            start = end

    def _possible_merges(self, word: str, merged: list[str]) -> Iterator[tuple[int, int, int, int]]:
        """The same for absent candidates that would merge two or three tokens."""
        start = 0
        for first, token in enumerate(merged):
            end, cost, erased = start + len(token), self._cost(token), 0
            for other in merged[first + 1 : first + MAX_RUN]:
                erased += word[:end] in self._words
                cost += self._cost(other)
                end += len(other)
                number = self._numbers.get(word[start:end])
                # Absent: a token that could merge them would have done so.
                if number is not None and self._candidates[number]:
                    yield start, end, cost - self._costs[number], erased
            start += len(token)

    def _cost(self, token: str) -> int:
        is_joined = len(token) > 1 and token not in self._segmenter.costs
        return self._costs[self._numbers[token]] + COST_PER_TOKEN * is_joined


class TopDownWalk:
    """Top-down matching along shared nodes, with the tokens that are pieces."""

    def __init__(self, nodes: SharedNodes, is_piece: list[bool]) -> None:
        self._tokens = nodes.tokens
        self._token: list[int] = nodes.token.tolist()
        self._left: list[int] = nodes.left.tolist()
        self._right: list[int] = nodes.right.tolist()
        is_whole: npt.NDArray[np.bool_] = np.array(is_piece)[nodes.token] | (nodes.left < 0)
        self._is_whole: list[bool] = is_whole.tolist()

    def pieces(self, root: int) -> tuple[list[str], set[Span]]:
        """The pieces of a word, and the spans of the nodes that were split."""
        pieces: list[str] = []
        split: set[Span] = set()
        start, waiting = 0, [root]
        while waiting:
            node = waiting.pop()
            string = self._tokens[self._token[node]]
            if self._is_whole[node]:
                pieces.append(string)
                start += len(string)
            else:
                split.add((start, start + len(string)))
                waiting += [self._right[node], self._left[node]]
        return pieces, split

"""Pruning a vocabulary by tree-Viterbi E- and M-steps (Algorithms 3 and 4) on shared nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from treetok.entropy import INFINITE, entropies_of
from treetok.vocabulary.nodes import I64, SharedNodes

Bools = npt.NDArray[np.bool_]


class TreeViterbi:
    """The cheapest cut of every node's subtree: whole (`whole[k]`), or as its halves are cut.

    `gain[k]` is what keeping the node whole saves, the delta loss of Algorithm 4.
    """

    def __init__(self, nodes: SharedNodes, token_entropies: I64) -> None:
        self.nodes = nodes
        cost = token_entropies[nodes.token]
        self.whole: Bools = np.ones(len(nodes), dtype=bool)
        self.gain: I64 = np.zeros(len(nodes), dtype=np.int64)
        for level in nodes.levels:
            halves = cost[nodes.left[level]] + cost[nodes.right[level]]
            gain = halves - cost[level]
            self.gain[level] = np.maximum(gain, 0)
            self.whole[level] = gain > 0
            cost[level] = np.minimum(cost[level], halves)

    def frequencies_in_cuts(self, words: Bools | slice = slice(None)) -> tuple[I64, I64]:
        """The nodes that are tokens in the cuts of the words, and how often they are."""
        nodes = self.nodes
        reached = nodes.sum_at_roots(words)
        for level in reversed(nodes.levels):
            cut = level[~self.whole[level]]
            np.add.at(reached, nodes.left[cut], reached[cut])
            np.add.at(reached, nodes.right[cut], reached[cut])
            reached[cut] = 0
        used = np.flatnonzero(reached)
        return used, reached[used]

    def losses_of_repeating_words(self) -> I64:
        """The delta losses of the words in which some string stands at two nodes, word by word: there the
        pseudo-code sums the gains of all nodes with the string before it multiplies."""
        nodes = self.nodes
        losses = np.zeros(len(nodes.tokens), dtype=np.int64)
        left, right, token = nodes.left, nodes.right, nodes.token
        for word in np.flatnonzero(nodes.repeating).tolist():
            gain_of_token: dict[int, int] = {}
            cut: list[int] = []
            stack = [(int(nodes.roots[word]), False)]
            while stack:
                node, inside_a_token = stack.pop()
                if left[node] < 0:
                    continue
                gain_of_token[token[node]] = gain_of_token.get(token[node], 0) + int(self.gain[node])
                if self.whole[node] and not inside_a_token:
                    cut.append(token[node])
                below = inside_a_token or bool(self.whole[node])
                stack.append((int(left[node]), below))
                stack.append((int(right[node]), below))
            for number in cut:
                losses[number] += gain_of_token[number] * int(nodes.frequencies[word])
        return losses


def entropies_with_holes(counts: I64, present: Bools) -> I64:
    """Entropies of the tokens that are present; all others are infinitely dear."""
    entropies = np.full(len(counts), INFINITE, dtype=np.int64)
    entropies[present] = entropies_of(counts[present])
    return entropies


def count_tokens(nodes: SharedNodes, counts: I64, present: Bools) -> I64:
    """E-step: how often every token is used when all words are cut at the lowest sum of entropies."""
    viterbi = TreeViterbi(nodes, entropies_with_holes(counts, present))
    return nodes.sum_by_token(*viterbi.frequencies_in_cuts())


def removal_losses(nodes: SharedNodes, counts: I64, present: Bools) -> I64:
    """M-step: by how much the sum of entropies rises when a token is removed."""
    viterbi = TreeViterbi(nodes, entropies_with_holes(counts, present))
    used, times = viterbi.frequencies_in_cuts(~nodes.repeating)
    losses = nodes.sum_by_token(used, viterbi.gain[used] * times)
    return losses + viterbi.losses_of_repeating_words()


def prune(
    nodes: SharedNodes,
    counts: I64,
    size: int,
    pruning_rate: float,
    report: Callable[[int], object] = lambda vocabulary_size: None,
) -> tuple[I64, Bools]:
    """Remove the tokens that matter least until `size` are left: their counts, and which are present."""
    present = counts > 0
    is_character = np.zeros(len(counts), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    removable = np.flatnonzero(present & ~is_character)
    # Ties break by the token itself.
    removable = np.array(sorted(removable.tolist(), key=nodes.tokens.__getitem__), dtype=np.int64)
    while (now := int(present.sum())) > size:
        report(now)
        counts = count_tokens(nodes, counts, present)
        kept = present & ((counts > 0) | is_character)
        losses = removal_losses(nodes, counts, kept)
        still_used = int(kept.sum())
        too_many = min(still_used - size, max(1, int(pruning_rate * still_used)))
        to_remove = min(max(too_many, 0) + now - still_used, now - size)
        order = np.lexsort((losses[removable], kept[removable]))
        present[removable[order[:to_remove]]] = False
        removable = removable[present[removable]]
    report(int(present.sum()))
    return count_tokens(nodes, counts, present), present

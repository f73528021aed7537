"""Pruning a vocabulary by tree-Viterbi E- and M-steps (Algorithms 3 and 4) on shared nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from treetok.token_entropy import INFINITE, entropies_of
from treetok.vocabulary.shared_nodes import I64, SharedNodes
from treetok.vocabulary.words_with_repeats import WordsWithRepeats

Bools = npt.NDArray[np.bool_]


class LiveNodes:
    """The nodes that still matter: those whose token is in the vocabulary, and all that lies below them.

    A node above which nothing is a token is cut in any case. What it has to pass on to its halves is passed on
    once and for all, and it is forgotten: the work of a pruning step shrinks with the vocabulary.
    """

    def __init__(self, nodes: SharedNodes) -> None:
        self.nodes = nodes
        self.levels = nodes.levels
        # How often every node is where the cutting of a word begins: in all words, and in those of them in
        # which no string stands at two nodes.
        self.in_all_words = nodes.sum_at_roots()
        self.in_plain_words = nodes.sum_at_roots(~nodes.repeating)
        self.repeating = WordsWithRepeats(nodes)

    def forget_tops(self, present: Bools) -> None:
        nodes = self.nodes
        needed = present[nodes.token]
        levels = []
        for level in reversed(self.levels):
            is_needed = needed[level]
            kept, gone = level[is_needed], level[~is_needed]
            needed[nodes.left[kept]] = True
            needed[nodes.right[kept]] = True
            for frequency in (self.in_all_words, self.in_plain_words):
                np.add.at(frequency, nodes.left[gone], frequency[gone])
                np.add.at(frequency, nodes.right[gone], frequency[gone])
                frequency[gone] = 0
            levels.append(kept)
        self.levels = [level for level in reversed(levels) if len(level)]


class TreeViterbi:
    """The cheapest cut of every node's subtree: whole (`whole[k]`), or as its halves are cut.

    `gain[k]` is what keeping the node whole saves, the delta loss of Algorithm 4.
    """

    def __init__(self, live: LiveNodes, token_entropies: I64) -> None:
        self.live = live
        nodes = live.nodes
        cost = token_entropies[nodes.token]
        self.whole: Bools = nodes.left < 0
        self.gain: I64 = np.zeros(len(nodes), dtype=np.int64)
        for level in live.levels:
            halves = cost[nodes.left[level]] + cost[nodes.right[level]]
            gain = halves - cost[level]
            self.gain[level] = np.maximum(gain, 0)
            self.whole[level] = gain > 0
            cost[level] = np.minimum(cost[level], halves)

    def frequencies_in_cuts(self, begin: I64) -> tuple[I64, I64]:
        """The nodes that are tokens in the cuts of words, and how often they are; `begin` says how often the
        cutting of a word begins at a node."""
        nodes = self.live.nodes
        reached = begin.copy()
        for level in reversed(self.live.levels):
            cut = level[~self.whole[level]]
            np.add.at(reached, nodes.left[cut], reached[cut])
            np.add.at(reached, nodes.right[cut], reached[cut])
            reached[cut] = 0
        used = np.flatnonzero(reached)
        return used, reached[used]


def entropies_with_holes(counts: I64, present: Bools) -> I64:
    """Entropies of the tokens that are present; all others are infinitely dear."""
    entropies = np.full(len(counts), INFINITE, dtype=np.int64)
    entropies[present] = entropies_of(counts[present])
    return entropies


def count_tokens(live: LiveNodes, counts: I64, present: Bools) -> I64:
    """E-step: how often every token is used when all words are cut at the lowest sum of entropies."""
    viterbi = TreeViterbi(live, entropies_with_holes(counts, present))
    return live.nodes.sum_by_token(*viterbi.frequencies_in_cuts(live.in_all_words))


def removal_losses(live: LiveNodes, counts: I64, present: Bools) -> I64:
    """M-step: by how much the sum of entropies rises when a token is removed."""
    viterbi = TreeViterbi(live, entropies_with_holes(counts, present))
    used, times = viterbi.frequencies_in_cuts(live.in_plain_words)
    losses = live.nodes.sum_by_token(used, viterbi.gain[used] * times)
    return losses + live.repeating.losses(viterbi.whole, viterbi.gain)


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
    live = LiveNodes(nodes)
    while (now := int(present.sum())) > size:
        report(now)
        live.forget_tops(present)
        counts = count_tokens(live, counts, present)
        kept = present & ((counts > 0) | is_character)
        losses = removal_losses(live, counts, kept)
        still_used = int(kept.sum())
        too_many = min(still_used - size, max(1, int(pruning_rate * still_used)))
        to_remove = min(max(too_many, 0) + now - still_used, now - size)
        order = np.lexsort((losses[removable], kept[removable]))
        present[removable[order[:to_remove]]] = False
        removable = removable[present[removable]]
    report(int(present.sum()))
    return count_tokens(live, counts, present), present

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
    """The nodes that still matter: those whose token is in the vocabulary, and all nodes below them.

    A node is always split if neither it nor any node above it is a token. Its frequency is passed down to its
    children once and for all and the node is dropped, so the cost of a pruning step shrinks with the vocabulary.
    """

    def __init__(self, nodes: SharedNodes) -> None:
        self.nodes = nodes
        self.levels = nodes.levels
        # How often the segmentation of a word starts at each node: in all words, and in words without repeated
        # strings.
        self.in_all_words = nodes.sum_at_roots()
        self.in_plain_words = nodes.sum_at_roots(~nodes.repeating)
        self.repeating = WordsWithRepeats(nodes)

    def drop_unused_tops(self, present: Bools) -> None:
        nodes = self.nodes
        needed = present[nodes.token]
        levels = []
        for level in reversed(self.levels):
            is_needed = needed[level]
            kept, dropped = level[is_needed], level[~is_needed]
            needed[nodes.left[kept]] = True
            needed[nodes.right[kept]] = True
            for frequency in (self.in_all_words, self.in_plain_words):
                np.add.at(frequency, nodes.left[dropped], frequency[dropped])
                np.add.at(frequency, nodes.right[dropped], frequency[dropped])
                frequency[dropped] = 0
            levels.append(kept)
        self.levels = [level for level in reversed(levels) if len(level)]


class TreeViterbi:
    """The cheapest segmentation of each node: as one token (`whole[k]`), or the segmentations of its children.

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

    def token_frequencies(self, starts: I64) -> tuple[I64, I64]:
        """The nodes used as tokens in the segmentations of words, and how often; `starts` is how often the
        segmentation of a word starts at each node."""
        nodes = self.live.nodes
        reached = starts.copy()
        for level in reversed(self.live.levels):
            split = level[~self.whole[level]]
            np.add.at(reached, nodes.left[split], reached[split])
            np.add.at(reached, nodes.right[split], reached[split])
            reached[split] = 0
        used = np.flatnonzero(reached)
        return used, reached[used]


def entropies_of_present(counts: I64, present: Bools) -> I64:
    """Entropies of the tokens that are present; infinite for all others."""
    entropies = np.full(len(counts), INFINITE, dtype=np.int64)
    entropies[present] = entropies_of(counts[present])
    return entropies


def count_tokens(live: LiveNodes, counts: I64, present: Bools) -> I64:
    """E-step: how often each token is used when every word is segmented with the lowest sum of entropies."""
    viterbi = TreeViterbi(live, entropies_of_present(counts, present))
    return live.nodes.sum_by_token(*viterbi.token_frequencies(live.in_all_words))


def removal_losses(live: LiveNodes, counts: I64, present: Bools) -> I64:
    """M-step: how much the sum of entropies increases when each token is removed."""
    viterbi = TreeViterbi(live, entropies_of_present(counts, present))
    used, times = viterbi.token_frequencies(live.in_plain_words)
    losses = live.nodes.sum_by_token(used, viterbi.gain[used] * times)
    return losses + live.repeating.losses(viterbi.whole, viterbi.gain)


def prune(
    nodes: SharedNodes,
    counts: I64,
    size: int,
    pruning_rate: float,
    report: Callable[[int], object] = lambda vocabulary_size: None,
) -> tuple[I64, Bools]:
    """Remove the least useful tokens until `size` are left; returns their counts and which are present."""
    present = counts > 0
    is_character = np.zeros(len(counts), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    removable = np.flatnonzero(present & ~is_character)
    # Ties are broken by the token string.
    removable = np.array(sorted(removable.tolist(), key=nodes.tokens.__getitem__), dtype=np.int64)
    live = LiveNodes(nodes)
    while (now := int(present.sum())) > size:
        report(now)
        live.drop_unused_tops(present)
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

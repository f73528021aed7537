"""Delta losses in words where one string stands at two inner nodes, as `an` in `banana`.

The pseudo-code sums the gains of all nodes of a word that have the same string before it multiplies by the word's
frequency (and does so once for every time the string is in the cut). In all other words that is the gain of the
node itself and can be summed node by node; in these words it has to be done word by word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treetok.vocabulary.shared_nodes import I64, SharedNodes


class WordsWithRepeats:
    """Every place of an inner node in a repeating word, listed by its depth below the word's root."""

    def __init__(self, nodes: SharedNodes) -> None:
        self.nodes = nodes
        words = np.flatnonzero(nodes.repeating)
        self.frequencies = nodes.frequencies[words]
        word, node = np.arange(len(words)), nodes.roots[words]
        parent = np.zeros(len(words), dtype=np.int64)
        all_words, all_nodes, self.parents = [word], [node], [parent]
        while len(node):
            place = np.tile(np.arange(len(node)), 2)
            halves = np.concatenate([nodes.left[node], nodes.right[node]])
            inner = nodes.left[halves] >= 0
            word, node, parent = word[place[inner]], halves[inner], place[inner]
            all_words.append(word)
            all_nodes.append(node)
            self.parents.append(parent)
        self.node: I64 = np.concatenate(all_nodes)
        self.word: I64 = np.concatenate(all_words)
        # Places of one word with one string belong together.
        pairs = self.word * len(nodes.tokens) + nodes.token[self.node]
        _, self.group = np.unique(pairs, return_inverse=True)

    def losses(self, whole: npt.NDArray[np.bool_], gain: I64) -> I64:
        """The delta loss of every token, summed over these words."""
        in_cut = []
        start = 0
        open_above = np.ones(0, dtype=bool)
        for depth, parent in enumerate(self.parents):
            is_whole = whole[self.node[start : start + len(parent)]]
            is_open = open_above[parent] if depth else np.ones(len(parent), dtype=bool)
            in_cut.append(is_open & is_whole)
            open_above = is_open & ~is_whole
            start += len(parent)
        cut = np.flatnonzero(np.concatenate(in_cut))
        gain_of_group = np.zeros(int(self.group.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(gain_of_group, self.group, gain[self.node])
        return self.nodes.sum_by_token(
            self.node[cut], gain_of_group[self.group[cut]] * self.frequencies[self.word[cut]]
        )

"""Delta losses in words where the same string occurs at two inner nodes, like `an` in `banana`.

The pseudo-code sums the gains of all nodes of a word with the same string before multiplying by the frequency of
the word (once for each occurrence of the string in the segmentation). In all other words this is the gain of the
node itself and can be summed node by node; in these words it has to be summed word by word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treetok.vocabulary.shared_nodes import I64, SharedNodes


class WordsWithRepeats:
    """All occurrences of inner nodes in words with repeated strings, ordered by depth below the root."""

    def __init__(self, nodes: SharedNodes) -> None:
        self.nodes = nodes
        words = np.flatnonzero(nodes.repeating)
        self.frequencies = nodes.frequencies[words]
        word, node = np.arange(len(words)), nodes.roots[words]
        parent = np.zeros(len(words), dtype=np.int64)
        all_words, all_nodes, self.parents = [word], [node], [parent]
        while len(node):
            row = np.tile(np.arange(len(node)), 2)
            halves = np.concatenate([nodes.left[node], nodes.right[node]])
            inner = nodes.left[halves] >= 0
            word, node, parent = word[row[inner]], halves[inner], row[inner]
            all_words.append(word)
            all_nodes.append(node)
            self.parents.append(parent)
        self.node: I64 = np.concatenate(all_nodes)
        self.word: I64 = np.concatenate(all_words)
        # Occurrences of the same string in the same word form a group.
        pairs = self.word * len(nodes.tokens) + nodes.token[self.node]
        _, self.group = np.unique(pairs, return_inverse=True)

    def losses(self, whole: npt.NDArray[np.bool_], gain: I64) -> I64:
        """The delta loss of every token, summed over these words."""
        in_segmentation = []
        start = 0
        open_above = np.ones(0, dtype=bool)
        for depth, parent in enumerate(self.parents):
            is_whole = whole[self.node[start : start + len(parent)]]
            is_open = open_above[parent] if depth else np.ones(len(parent), dtype=bool)
            in_segmentation.append(is_open & is_whole)
            open_above = is_open & ~is_whole
            start += len(parent)
        used = np.flatnonzero(np.concatenate(in_segmentation))
        gain_of_group = np.zeros(int(self.group.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(gain_of_group, self.group, gain[self.node])
        return self.nodes.sum_by_token(
            self.node[used], gain_of_group[self.group[used]] * self.frequencies[self.word[used]]
        )

"""The heuristic vocabulary: merge siblings that occur often enough (Algorithms 5 and 6)."""

from __future__ import annotations

import numpy as np

from treetok.vocabulary.shared_nodes import I64, SharedNodes


def node_frequencies(nodes: SharedNodes) -> I64:
    """How often each node occurs in the corpus."""
    frequency = nodes.sum_at_roots()
    for level in reversed(nodes.levels):
        np.add.at(frequency, nodes.left[level], frequency[level])
        np.add.at(frequency, nodes.right[level], frequency[level])
    return frequency


def heuristic_vocabulary(nodes: SharedNodes, threshold: int) -> I64:
    """The count of every token of the heuristic vocabulary, 0 for strings outside it.

    In each round, a node is complete if it is a token and both children are complete. A node with complete
    children that is not a token is a candidate, and candidates that occur at least `threshold` times become
    tokens.
    """
    frequency = node_frequencies(nodes)
    counts = nodes.sum_by_token(nodes.leaves, frequency[nodes.leaves])
    complete = np.zeros(len(nodes), dtype=bool)
    complete[nodes.leaves] = True
    while True:
        candidates = []
        for level in nodes.levels:
            ready = level[complete[nodes.left[level]] & complete[nodes.right[level]]]
            known = counts[nodes.token[ready]] > 0
            complete[ready[known]] = True
            candidates.append(ready[~known])
        candidate_nodes = np.concatenate([np.zeros(0, dtype=np.int64), *candidates])
        found = nodes.sum_by_token(candidate_nodes, frequency[candidate_nodes])
        found[found < threshold] = 0
        if not found.any():
            return counts
        counts += found

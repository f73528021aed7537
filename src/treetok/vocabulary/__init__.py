"""From trees to a vocabulary: grow a large heuristic one, prune it to the size asked for (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from treetok.errors import TreetokError
from treetok.vocabulary.heuristic import heuristic_vocabulary
from treetok.vocabulary.nodes import SharedNodes
from treetok.vocabulary.pruning import prune

__all__ = ["SharedNodes", "build_vocabulary"]

DEFAULT_THRESHOLD = 5
DEFAULT_PRUNING_RATE = 0.2


def build_vocabulary(
    trees: Iterable[tuple[str, Sequence[float], int]] | SharedNodes,
    size: int,
    *,
    threshold: int = DEFAULT_THRESHOLD,
    pruning_rate: float = DEFAULT_PRUNING_RATE,
    report: Callable[[int], object] = lambda vocabulary_size: None,
) -> dict[str, int]:
    """Tokens and their counts, `size` of them, from (word, scores, frequency) triples.

    Every character is a token. `threshold` is the count from which a string enters the heuristic vocabulary; it
    is lowered, down to 1, where the text would not give `size` tokens otherwise. Fewer than `size` tokens come
    back only when the trees have no more distinct nodes.

    >>> build_vocabulary([("low", [1, 0], 9), ("lower", [1, 0, 2, 0], 8), ("newer", [0, 1, 2, 0], 7)], 8)
    {'low': 17, 'e': 8, 'r': 8, 'newer': 7, 'l': 0, 'n': 0, 'o': 0, 'w': 0}
    """
    nodes = trees if isinstance(trees, SharedNodes) else SharedNodes(trees)
    if size < len(nodes.leaves):
        raise TreetokError(
            f"a vocabulary of {size} is too small: the text has {len(nodes.leaves)} different characters"
        )
    if threshold < 1:
        raise TreetokError(f"the threshold must be at least 1, not {threshold}")
    if not 0 < pruning_rate < 1:
        raise TreetokError(f"the pruning rate must lie between 0 and 1, not {pruning_rate}")
    counts = heuristic_vocabulary(nodes, threshold)
    while np.count_nonzero(counts) < size and threshold > 1:
        threshold //= 2
        counts = heuristic_vocabulary(nodes, threshold)
    counts, present = prune(nodes, counts, size, pruning_rate, report)
    vocabulary = {nodes.tokens[k]: int(counts[k]) for k in np.flatnonzero(present).tolist()}
    return dict(sorted(vocabulary.items(), key=lambda entry: (-entry[1], entry[0])))

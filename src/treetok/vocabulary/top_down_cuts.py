"""What a text costs when its words are segmented top-down with a vocabulary.

Tokens may differ in cost: a single letter of an alphabet is rarely a morph, and may also be a word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from treetok.vocabulary.shared_nodes import I64, SharedNodes

Bools = npt.NDArray[np.bool_]

# Costs are integers.
COST_PER_TOKEN = 100


def token_costs(tokens: Sequence[str], letters_cost_more_by: float) -> I64:
    """Single letters cost more by a fraction of a token, except in scripts without case, where they may be words.

    >>> token_costs(["a", "ab", "7", "犬"], 0.5).tolist()
    [150, 100, 100, 100]
    """
    extra = round(COST_PER_TOKEN * letters_cost_more_by)
    return np.array(
        [COST_PER_TOKEN + extra * (len(token) == 1 and token.lower() != token.upper()) for token in tokens],
        dtype=np.int64,
    )


class TopDownCuts:
    """All words segmented top-down with the vocabulary `present`, weighted by `weights`.

    `costs` are the costs of tokens, `total` is the cost of the text. `worth` is, for each string in the
    vocabulary, how much more the text would cost without it, and for each other string, how much less it would
    cost with it.
    """

    def __init__(self, nodes: SharedNodes, present: Bools, weights: I64, costs: I64) -> None:
        is_whole = present[nodes.token]
        is_whole[nodes.leaves] = True
        # The cost of each node as one token (whole), split at least once (apart), and as segmented (actual).
        whole = costs[nodes.token]
        apart, actual = whole.copy(), whole.copy()
        for level in nodes.levels:
            apart[level] = actual[nodes.left[level]] + actual[nodes.right[level]]
            actual[level] = np.where(is_whole[level], whole[level], apart[level])
        reached = np.zeros(len(nodes), dtype=np.int64)
        np.add.at(reached, nodes.roots, weights)
        for level in reversed(nodes.levels):
            split = level[~is_whole[level]]
            np.add.at(reached, nodes.left[split], reached[split])
            np.add.at(reached, nodes.right[split], reached[split])
        self.total = int((actual[nodes.roots] * weights).sum())
        everywhere = np.arange(len(nodes))
        self.worth = nodes.sum_by_token(everywhere, reached * (apart - whole))
        self.counts = nodes.sum_by_token(everywhere, reached * is_whole)

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
# At most: a letter behind a space must cost less than a space and a letter.
FIRST_LETTER_SURCHARGE = 0.9


def token_costs(tokens: Sequence[str], alignment: float) -> I64:
    """Single letters, which are hardly ever morphs, cost more the higher the alignment, and twice as much more
    behind a space, at the start of a word; except in scripts without case, where they may be words.

    >>> token_costs(["a", " a", "ab", "7", "犬"], 0.3).tolist()
    [130, 160, 100, 100, 100]
    """
    inside = round(COST_PER_TOKEN * alignment)
    first = round(COST_PER_TOKEN * min(2 * alignment, FIRST_LETTER_SURCHARGE))

    def surcharge(token: str) -> int:
        if len(token) > 2 or token.lower() == token.upper():
            return 0
        return inside if len(token) == 1 else first if token[0] == " " else 0

    return np.array([COST_PER_TOKEN + surcharge(token) for token in tokens], dtype=np.int64)


class TopDownCuts:
    """All words segmented top-down with the vocabulary `present`, weighted by `weights`.

    `costs` are the costs of tokens, `total` is the cost of the text. `worth` is, for each string in the
    vocabulary, how much more the text would cost without it, and for each other string, how much less it would
    cost with it. `joiner` is whether words may serve inside other words, behind a joiner.
    """

    def __init__(self, nodes: SharedNodes, present: Bools, weights: I64, costs: I64, joiner: bool = False) -> None:
        is_whole = present[nodes.token]
        is_whole[nodes.leaves] = True
        with_space = nodes.with_space[nodes.token] if joiner else np.full(len(nodes), -1, dtype=np.int64)
        can_be_joined = (with_space >= 0) & present[with_space]
        # The cost of each node as one token (whole), behind a joiner, split at least once (apart), without a token
        # of its own, and as segmented (actual).
        whole = costs[nodes.token]
        joined = COST_PER_TOKEN + costs[with_space]
        apart, without, actual = whole.copy(), whole.copy(), whole.copy()
        for level in nodes.levels:
            apart[level] = actual[nodes.left[level]] + actual[nodes.right[level]]
            without[level] = np.where(can_be_joined[level], joined[level], apart[level])
            actual[level] = np.where(is_whole[level], whole[level], without[level])
        is_split = ~(is_whole | can_be_joined)
        reached = np.zeros(len(nodes), dtype=np.int64)
        np.add.at(reached, nodes.roots, weights)
        for level in reversed(nodes.levels):
            split = level[is_split[level]]
            np.add.at(reached, nodes.left[split], reached[split])
            np.add.at(reached, nodes.right[split], reached[split])
        self.total = int((actual[nodes.roots] * weights).sum())
        everywhere = np.arange(len(nodes))
        self.worth = nodes.sum_by_token(everywhere, reached * (without - whole))
        self.counts = nodes.sum_by_token(everywhere, reached * is_whole)
        inside = np.flatnonzero(~is_whole & (with_space >= 0))
        np.add.at(self.worth, with_space[inside], (reached * (apart - joined))[inside])
        np.add.at(self.counts, with_space[inside], (reached * can_be_joined)[inside])

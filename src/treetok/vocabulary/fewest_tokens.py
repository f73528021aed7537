"""The compact vocabulary: the strings that encode a text in the fewest tokens.

The paper scores strings by the entropies of a unigram model. But words are segmented top-down, stopping at the
first string in the vocabulary whatever its entropy, so a string is worth the number of tokens it saves. This can
be computed exactly, for all strings at once, since no string contains itself.

Tokens may differ in cost: a single letter of an alphabet is rarely a morph, and may also be a word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from treetok.vocabulary.shared_nodes import I64, SharedNodes

Bools = npt.NDArray[np.bool_]

# Costs are integers.
COST_PER_TOKEN = 100
MAX_EXCHANGES = 200


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


def choose_strings(
    nodes: SharedNodes,
    candidates: Bools,
    size: int,
    weights: I64,
    costs: I64,
    pruning_rate: float,
    report: Callable[[int], object] = lambda vocabulary_size: None,
) -> Bools:
    """Choose `size` of the candidates, including every character."""
    is_character = np.zeros(len(candidates), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    # Among strings of equal worth, the alphabetically last is removed first.
    rank = np.zeros(len(candidates), dtype=np.int64)
    rank[np.argsort(np.array(nodes.tokens, dtype=object))] = np.arange(len(candidates))
    present = candidates | is_character
    while (now := int(present.sum())) > size:
        report(now)
        worth = TopDownCuts(nodes, present, weights, costs).worth
        removable = np.flatnonzero(present & ~is_character)
        order = np.lexsort((-rank[removable], worth[removable]))
        present[removable[order[: min(now - size, max(1, int(pruning_rate * now)))]]] = False
    report(int(present.sum()))
    return exchange_strings(nodes, candidates, present, is_character, rank, weights, costs)


def exchange_strings(
    nodes: SharedNodes,
    candidates: Bools,
    present: Bools,
    is_character: Bools,
    rank: I64,
    weights: I64,
    costs: I64,
) -> Bools:
    """Swap removed strings back in for present ones that are now worth less, as long as the cost falls.

    Many are swapped at once. Two strings may save less together than the sum of their worths, so a swap may fail;
    fewer are then tried in the next round.
    """
    cuts = TopDownCuts(nodes, present, weights, costs)
    share = 0.5
    for _ in range(MAX_EXCHANGES):
        outside, inside = np.flatnonzero(candidates & ~present), np.flatnonzero(present & ~is_character)
        best = outside[np.lexsort((rank[outside], -cuts.worth[outside]))]
        worst = inside[np.lexsort((-rank[inside], cuts.worth[inside]))]
        pairs = min(len(best), len(worst))
        better = int((cuts.worth[best[:pairs]] > cuts.worth[worst[:pairs]]).sum())
        if not better:
            break
        exchanged = max(1, int(share * better))
        tried = present.copy()
        tried[best[:exchanged]], tried[worst[:exchanged]] = True, False
        cuts_of_tried = TopDownCuts(nodes, tried, weights, costs)
        if cuts_of_tried.total < cuts.total:
            present, cuts = tried, cuts_of_tried
        elif exchanged == 1:
            break
        else:
            share /= 2
    return present

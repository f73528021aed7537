"""The compact vocabulary: the strings with which a text has the fewest tokens.

The paper weighs strings by the entropies of a unigram model. Words are cut top-down, though, at the first string
that is in the vocabulary, whatever its entropy: what a string is worth is the number of tokens that it saves. That
can be told exactly, for all strings at once, since no string stands inside itself.

A token may also cost more than another: a single letter of an alphabet is hardly ever a morph, and may be a word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from treetok.vocabulary.shared_nodes import I64, SharedNodes

Bools = npt.NDArray[np.bool_]

# What a token costs; costs are whole numbers.
COST_OF_A_TOKEN = 100
MOST_EXCHANGES = 200


def costs_of_tokens(tokens: Sequence[str], letters_cost_more_by: float) -> I64:
    """Single letters cost more by a share of a token; what has no upper and lower case may be a word by itself.

    >>> costs_of_tokens(["a", "ab", "7", "犬"], 0.5).tolist()
    [150, 100, 100, 100]
    """
    more = round(COST_OF_A_TOKEN * letters_cost_more_by)
    return np.array(
        [COST_OF_A_TOKEN + more * (len(token) == 1 and token.lower() != token.upper()) for token in tokens],
        dtype=np.int64,
    )


class TopDownCuts:
    """All words cut top-down with a vocabulary, `present`; every word counts `weights` times.

    `costs` are those of the tokens. `total` is what the text costs. `worth` says of every string how much more the
    text costs without it, or how much less with it: of those that are present and of those that are not.
    """

    def __init__(self, nodes: SharedNodes, present: Bools, weights: I64, costs: I64) -> None:
        is_whole = present[nodes.token]
        is_whole[nodes.leaves] = True
        # The costs of a node as one token, of one that is not whole, and of one as it is cut.
        whole = costs[nodes.token]
        apart, as_cut = whole.copy(), whole.copy()
        for level in nodes.levels:
            apart[level] = as_cut[nodes.left[level]] + as_cut[nodes.right[level]]
            as_cut[level] = np.where(is_whole[level], whole[level], apart[level])
        reached = np.zeros(len(nodes), dtype=np.int64)
        np.add.at(reached, nodes.roots, weights)
        for level in reversed(nodes.levels):
            cut = level[~is_whole[level]]
            np.add.at(reached, nodes.left[cut], reached[cut])
            np.add.at(reached, nodes.right[cut], reached[cut])
        self.total = int((as_cut[nodes.roots] * weights).sum())
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
    """Which `size` of the candidates to take. Every character is taken."""
    is_character = np.zeros(len(candidates), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    # Of strings that are worth the same, those go first that come last in the alphabet.
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
    """Take strings that were removed back in for others that have come to be worth less, as long as it pays.

    Many at once: what two strings save together may be less than the sum, so that a try may fail; then fewer are
    exchanged in the next.
    """
    cuts = TopDownCuts(nodes, present, weights, costs)
    share = 0.5
    for _ in range(MOST_EXCHANGES):
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

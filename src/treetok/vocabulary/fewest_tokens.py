"""The compact vocabulary: the strings that encode a text in the fewest tokens.

The paper scores strings by the entropies of a unigram model. But words are segmented top-down, stopping at the
first string in the vocabulary whatever its entropy, so a string is worth the number of tokens it saves. This can
be computed exactly, for all strings at once, since no string contains itself. Then post-merge joins pieces; the
last exchanges look at what it makes of the words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from treetok.vocabulary.merged_cuts import MergedCuts
from treetok.vocabulary.shared_nodes import I64, SharedNodes
from treetok.vocabulary.top_down_cuts import Bools, TopDownCuts

MAX_EXCHANGES = 200
# These segment every word, and most is gained in the first.
MAX_EXCHANGES_AFTER_MERGING = 3


class Cuts(Protocol):
    """The words of the text as segmented with a vocabulary: what they cost, and what each string is worth."""

    total: int
    worth: I64


def choose_strings(
    nodes: SharedNodes,
    candidates: Bools,
    size: int,
    weights: I64,
    costs: I64,
    pruning_rate: float,
    report: Callable[[int], object] = lambda vocabulary_size: None,
    erased_end_cost: int | None = None,
    joiner: bool = False,
) -> Bools:
    """Choose `size` of the candidates, including every character.

    erased_end_cost: if pieces will be merged for the fewest tokens, what it costs when that erases the end of a
        word; None if they will not be merged.
    joiner: whether words may serve inside other words, behind a joiner.
    """

    def top_down(present: Bools) -> Cuts:
        return TopDownCuts(nodes, present, weights, costs, joiner)

    is_character = np.zeros(len(candidates), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    # Among strings of equal worth, the alphabetically last is removed first.
    rank = np.zeros(len(candidates), dtype=np.int64)
    rank[np.argsort(np.array(nodes.tokens, dtype=object))] = np.arange(len(candidates))
    present = candidates | is_character
    while (now := int(present.sum())) > size:
        report(now)
        worth = top_down(present).worth
        removable = np.flatnonzero(present & ~is_character)
        order = np.lexsort((-rank[removable], worth[removable]))
        present[removable[order[: min(now - size, max(1, int(pruning_rate * now)))]]] = False
    report(int(present.sum()))

    present = exchange_strings(top_down, candidates, present, is_character, rank)
    if erased_end_cost is None:
        return present

    def merged(present: Bools) -> Cuts:
        return MergedCuts(nodes, candidates, present, weights, costs, erased_end_cost, joiner)

    return exchange_strings(merged, candidates, present, is_character, rank, MAX_EXCHANGES_AFTER_MERGING)


def exchange_strings(
    cuts_with: Callable[[Bools], Cuts],
    candidates: Bools,
    present: Bools,
    is_character: Bools,
    rank: I64,
    max_exchanges: int = MAX_EXCHANGES,
) -> Bools:
    """Swap removed strings back in for present ones that are now worth less, as long as the cost falls.

    Many are swapped at once. Two strings may save less together than the sum of their worths, so a swap may fail;
    fewer are then tried in the next round.
    """
    cuts = cuts_with(present)
    share = 0.5
    for _ in range(max_exchanges):
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
        cuts_of_tried = cuts_with(tried)
        if cuts_of_tried.total < cuts.total:
            present, cuts = tried, cuts_of_tried
        elif exchanged == 1:
            break
        else:
            share /= 2
    return present

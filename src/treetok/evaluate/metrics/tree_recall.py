"""Tree recall: how many morphs are nodes of the trees."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treetok.errors import TreetokError, whole_number
from treetok.evaluate.gold import GoldWord
from treetok.evaluate.metrics.measurement import Measurement, check_same_length, share_of_sums

Span = tuple[int, int]


@dataclass(frozen=True)
class TreeRecall:
    """Recall averaged over words, and recall over all morphs pooled."""

    by_word: Measurement
    pooled: Measurement


def tree_recall(
    words: Sequence[GoldWord],
    trees: Sequence[Collection[Span]],
    protocol: Literal["described", "released"] = "described",
    first: int | None = None,
) -> TreeRecall:
    """The share of morphs that are spans of the tree of their word; the best alternative counts.

    A tree is its spans (start, end), end exclusive, as `Tree.spans` returns them. The whole word is a span of
    every tree and is left out; words whose every alternative is the whole word do not count. Single characters are
    spans of every tree too: according to the paper they are left out (`described`), but its released code counts
    them (`released`) and stops after 64 words (`first=64`).

    >>> from treetok import Tree
    >>> words = [GoldWord("surfers", (("surf", "er", "s"),)), GoldWord("walk", (("walk",),))]
    >>> trees = [Tree("surfers", [0, 1, 2, 5, 3, 4]).spans(), Tree("walk", [2, 1, 0]).spans()]  # [surf] [[er] s]
    >>> tree_recall(words, trees).by_word.value, tree_recall(words, trees).by_word.count
    (1.0, 1)
    >>> wrong = [Tree("surfers", [6, 5, 4, 3, 2, 1]).spans(), trees[1]]  # right-branching
    >>> tree_recall(words, wrong).by_word.value, round(tree_recall(words, wrong, "released").by_word.value, 4)
    (0.0, 0.3333)
    """
    if protocol not in ("described", "released"):
        raise TreetokError(f"the protocol of tree recall must be 'described' or 'released', not {protocol!r}")
    check_same_length(words, trees, "trees")
    if first is not None:
        first = whole_number("first", first, least=1)
    shortest = 2 if protocol == "described" else 1
    found = [morphs_found(gold, spans, shortest) for gold, spans in zip(words[:first], trees[:first], strict=True)]
    hits, totals = np.array(found, dtype=np.float64).reshape(-1, 2).T
    counted = totals > 0
    recalls = np.divide(hits, totals, out=np.zeros_like(hits), where=counted)
    return TreeRecall(
        by_word=Measurement(np.stack([recalls, counted], axis=1), share_of_sums, counted),
        pooled=Measurement(np.stack([hits, totals], axis=1), share_of_sums, counted),
    )


def morphs_found(gold: GoldWord, spans: Collection[Span], shortest: int) -> tuple[int, int]:
    """How many morphs of the best alternative are spans, and how many it has: (0, 0) when all morphs are the whole
    word or shorter than `shortest`.

    >>> morphs_found(GoldWord("surfers", (("surf", "er", "s"), ("surf", "ers"))), {(0, 4), (4, 7)}, shortest=2)
    (2, 2)
    """
    in_tree = frozenset(spans)
    best = (0, 0)
    for morphs in gold.alternatives:
        hits = total = start = 0
        for morph in morphs:
            end = start + len(morph)
            if shortest <= end - start < len(gold.word):
                total += 1
                hits += (start, end) in in_tree
            start = end
        # Any alternative is better than none.
        if total and (best[1] == 0 or hits / total > best[0] / best[1]):
            best = (hits, total)
    return best

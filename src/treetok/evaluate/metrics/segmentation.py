"""How well pieces agree with morphs: whole words, and the boundaries inside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np

from treetok.errors import TreetokError
from treetok.evaluate.gold import GoldWord
from treetok.evaluate.metrics.measurement import Floats, Measurement, check_same_length, divide, share_of_sums

Pieces = Sequence[str]


@dataclass(frozen=True)
class BoundaryScores:
    """Precision, recall and their harmonic mean; each knows how many words it is computed from."""

    precision: Measurement
    recall: Measurement
    f1: Measurement


def accuracy(words: Sequence[GoldWord], predictions: Sequence[Pieces]) -> Measurement:
    """The share of words segmented exactly as one of their alternatives, unsegmented words included.

    >>> words = [GoldWord("evening", (("even", "ing"), ("evening",))), GoldWord("surfs", (("surf", "s"),))]
    >>> accuracy(words, [["evening"], ["sur", "fs"]]).value
    0.5
    """
    rows = [(tuple(pieces) in gold.alternatives, 1) for gold, pieces in _pairs(words, predictions)]
    return Measurement(_table(rows, 2), share_of_sums)


def bag_f1(words: Sequence[GoldWord], predictions: Sequence[Pieces]) -> Measurement:
    """The F1 that the released code of the paper prints, but the paper does not report. A morph is found when some
    piece equals it, regardless of position and number; the best alternative counts; averaged over words.

    >>> bag_f1([GoldWord("surfers", (("surf", "er", "s"),))], [["surf", "ers"]]).value  # P = 1/2, R = 1/3
    0.4
    """
    rows = []
    for gold, pieces in _pairs(words, predictions):
        found = [(sum(morph in pieces for morph in morphs), len(morphs)) for morphs in gold.alternatives]
        rows.append((max(2 * hits / (len(pieces) + size) for hits, size in found), 1))
    return Measurement(_table(rows, 2), share_of_sums)


def boundaries(
    words: Sequence[GoldWord],
    predictions: Sequence[Pieces],
    average: Literal["macro", "micro"] = "macro",
    uncut: Literal["skipped", "perfect"] = "skipped",
) -> BoundaryScores:
    """Precision, recall and F1 of boundaries inside words.

    `macro` averages over words, as the BPR of the Morpho Challenge: precision and recall of each word are those of
    its best alternative, and F1 is the harmonic mean of the two averages. `uncut` is about 0 / 0: the precision of
    a word without predicted boundaries, and the recall of a word that may be left whole. Such words are `skipped`,
    or count as `perfect`, as in the programs of the Morpho Challenge and of Morfessor, which raises both figures.
    Words of one character, which cannot be segmented, never count.

    `micro` pools the boundaries of all words. For each word the alternative with the best F1 is used, the first
    one on ties; every word counts.

    >>> words = [GoldWord("surfers", (("surf", "er", "s"),)), GoldWord("walked", (("walk", "ed"),))]
    >>> pieces = [["surf", "ers"], ["wal", "ked"]]      # P: 1/1 and 0/1, R: 1/2 and 0/1
    >>> macro = boundaries(words, pieces)
    >>> macro.precision.value, macro.recall.value, round(macro.f1.value, 4)
    (0.5, 0.25, 0.3333)
    >>> micro = boundaries(words, pieces, "micro")      # 1 hit; 2 predicted, 3 right
    >>> micro.precision.value, round(micro.recall.value, 4), micro.f1.value
    (0.5, 0.3333, 0.4)
    """
    if average == "micro":
        return _micro_boundaries(words, predictions)
    if average != "macro" or uncut not in ("skipped", "perfect"):
        raise TreetokError(f"no boundary scores of average={average!r} and uncut={uncut!r}")
    rows = []
    for gold, pieces in _pairs(words, predictions):
        predicted = boundaries_of(pieces)
        of_alternatives = [boundaries_of(morphs) for morphs in gold.alternatives]
        precision = _best_share([(len(predicted & right), len(predicted)) for right in of_alternatives])
        recall = _best_share([(len(predicted & right), len(right)) for right in of_alternatives])
        can_be_cut = len(gold.word) > 1
        rows.append(_value_and_weight(precision, can_be_cut, uncut) + _value_and_weight(recall, can_be_cut, uncut))
    table = _table(rows, 4)
    in_precision, in_recall = table[:, 1] > 0, table[:, 3] > 0
    return BoundaryScores(
        precision=Measurement(table[:, :2], _share_or_zero, in_precision),
        recall=Measurement(table[:, 2:], _share_or_zero, in_recall),
        f1=Measurement(table, _f1_of_means, in_precision | in_recall),
    )


def boundaries_of(pieces: Pieces) -> frozenset[int]:
    """The boundaries of a segmentation: the offsets of all pieces but the first.

    >>> sorted(boundaries_of(["surf", "er", "s"]))
    [4, 6]
    """
    return frozenset(accumulate(map(len, pieces[:-1])))


def _micro_boundaries(words: Sequence[GoldWord], predictions: Sequence[Pieces]) -> BoundaryScores:
    rows = []
    for gold, pieces in _pairs(words, predictions):
        predicted = boundaries_of(pieces)
        best: tuple[int, int, int] | None = None
        best_f1 = -1.0
        for right in map(boundaries_of, gold.alternatives):
            hits, total = len(predicted & right), len(predicted) + len(right)
            f1 = 2 * hits / total if total else 1.0
            if f1 > best_f1:
                best, best_f1 = (hits, len(predicted), len(right)), f1
        if best is not None:
            rows.append(best)
    hits, predicted_, right_ = _table(rows, 3).T
    return BoundaryScores(
        precision=Measurement(np.stack([hits, predicted_], axis=1), _share_or_zero),
        recall=Measurement(np.stack([hits, right_], axis=1), _share_or_zero),
        f1=Measurement(np.stack([hits, predicted_, right_], axis=1), _f1_of_totals),
    )


def _pairs(words: Sequence[GoldWord], predictions: Sequence[Pieces]) -> Iterator[tuple[GoldWord, Pieces]]:
    check_same_length(words, predictions)
    for gold, pieces in zip(words, predictions, strict=True):
        if not pieces or not all(pieces):
            raise TreetokError(f"the prediction for {gold.word!r} has an empty piece or none: {list(pieces)}")
        yield gold, pieces


def _best_share(hits_and_totals: list[tuple[int, int]]) -> float | None:
    """The best share of all alternatives; None when one of them has nothing to find."""
    if any(total == 0 for _, total in hits_and_totals):
        return None
    return max(hits / total for hits, total in hits_and_totals)


def _value_and_weight(share: float | None, can_be_cut: bool, uncut: str) -> tuple[float, float]:
    if not can_be_cut:
        return 0.0, 0.0
    if share is None:
        return (1.0, 1.0) if uncut == "perfect" else (0.0, 0.0)
    return share, 1.0


def _share_or_zero(sums: Floats) -> Floats:
    return divide(sums[..., 0], sums[..., 1], otherwise=0.0)


def _f1_of_means(sums: Floats) -> Floats:
    precision, recall = _share_or_zero(sums[..., :2]), _share_or_zero(sums[..., 2:])
    return divide(2 * precision * recall, precision + recall, otherwise=0.0)


def _f1_of_totals(sums: Floats) -> Floats:
    return divide(2 * sums[..., 0], sums[..., 1] + sums[..., 2], otherwise=0.0)


def _table(rows: Sequence[tuple[float, ...]], columns: int) -> Floats:
    # With an explicit shape, so that no words give no rows instead of an error.
    return np.array(rows, dtype=np.float64).reshape(-1, columns)

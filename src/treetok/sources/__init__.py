"""Where trees come from: any object that scores the splits of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from treetok.errors import TreetokError
from treetok.sources.ngram_counts import CountTrees
from treetok.sources.parser import ParserTrees

__all__ = ["CountTrees", "ParserTrees", "TreeSource", "scores_of_words"]


@runtime_checkable
class TreeSource(Protocol):
    """The seam between what predicts trees and what uses them."""

    def split_scores(self, words: Sequence[str]) -> Sequence[Any]:
        """For every word the len(word) - 1 scores of its splits: each span is split at its highest score."""


def scores_of_words(source: TreeSource, words: Sequence[str]) -> dict[str, list[float]]:
    """Ask a source for the scores of words and check the answer."""
    if not words:
        return {}
    answer = source.split_scores(words)
    if not hasattr(answer, "__len__") or not hasattr(answer, "__getitem__"):
        raise TreetokError(f"the source of trees gave {type(answer).__name__} instead of a list of scores a word")
    if len(answer) != len(words):
        raise TreetokError(f"the source of trees gave {len(answer)} answers for {len(words)} words")
    checked = {}
    for number, word in enumerate(words):
        try:
            values = np.asarray(answer[number], dtype=np.float64)
        except (TypeError, ValueError, KeyError, OverflowError):
            raise TreetokError(f"the source of trees gave no row of numbers for {word!r}") from None
        if values.shape != (len(word) - 1,):
            raise TreetokError(
                f"the source of trees gave scores of shape {values.shape} for {word!r}, not {len(word) - 1} scores"
            )
        if not np.isfinite(values).all():
            raise TreetokError(f"the source of trees gave a score for {word!r} that is not a finite number")
        checked[word] = values.tolist()
    return checked

"""Sources of trees: any object that scores the splits of words."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from treetok.errors import TreetokError
from treetok.native import why_not_native
from treetok.sources.ngram_counts import CountTrees
from treetok.sources.parser import ParserTrees
from treetok.text.word_limit import LONGEST_WORD

__all__ = ["CountTrees", "ParserTrees", "TreeSource", "scores_of_words", "split_scores"]


@runtime_checkable
class TreeSource(Protocol):
    """The interface between models that predict trees and code that uses them."""

    def split_scores(self, words: Sequence[str]) -> Sequence[Any]:
        """For each word, len(word) - 1 split scores: every span is split at its highest score."""


def split_scores(source: TreeSource, words: Sequence[str]) -> Sequence[Any]:
    """What the source says, from the native core where it knows the source: the same numbers, sooner."""
    are_short = max(map(len, words), default=0) <= LONGEST_WORD
    if isinstance(source, ParserTrees) and are_short and why_not_native() is None:
        # Scores that are not finite are refused; the source itself returns them, for the error to name the word.
        with contextlib.suppress(ValueError):
            return source.native.split_scores(words)
    return source.split_scores(words)


def scores_of_words(source: TreeSource, words: Sequence[str]) -> dict[str, list[float]]:
    """Get the split scores of words from a source, and validate them."""
    if not words:
        return {}
    result = split_scores(source, words)
    if not hasattr(result, "__len__") or not hasattr(result, "__getitem__"):
        raise TreetokError(f"the source of trees returned {type(result).__name__}, not a list of scores per word")
    if len(result) != len(words):
        raise TreetokError(f"the source of trees returned {len(result)} results for {len(words)} words")
    checked = {}
    for number, word in enumerate(words):
        try:
            values = np.asarray(result[number], dtype=np.float64)
        except (TypeError, ValueError, KeyError, OverflowError):
            raise TreetokError(f"the source of trees returned no list of numbers for {word!r}") from None
        if values.shape != (len(word) - 1,):
            raise TreetokError(
                f"the source of trees returned scores of shape {values.shape} for {word!r}, not {(len(word) - 1,)}"
            )
        if not np.isfinite(values).all():
            raise TreetokError(f"the source of trees returned a score for {word!r} that is not a finite number")
        checked[word] = values.tolist()
    return checked

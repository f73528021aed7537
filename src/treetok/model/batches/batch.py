"""A batch of running words with the charts of its distinct words, and what is predicted from them.

Shapes: W distinct words, B sequences of T words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from treetok.model.charts.plan import ChartPlan


@dataclass(frozen=True)
class Targets:
    """The morpheme (or character) to predict from some rows of the outside table, and the words they belong to.
    `exists` is 0 for padding."""

    rows: Tensor
    morphemes: Tensor
    words: Tensor
    exists: Tensor


@dataclass(frozen=True)
class Batch:
    """Sequences of running words, as indices into the distinct words of the plan; index W stands for any word too
    long for a chart. `chosen_W` is one position of each word in the flattened sequences, `count_W` how often it
    occurs. `is_candidate` has W + 1 entries: the words that compete in next-word prediction."""

    plan: ChartPlan
    words_BT: Tensor
    chosen_W: Tensor
    count_W: Tensor
    characters: Targets
    spans: Targets
    is_candidate: Tensor


def targets_of(plan: ChartPlan) -> tuple[Targets, Targets]:
    """What the outside pass predicts: characters, and longer spans that are morphemes."""
    morphemes = plan.morpheme_of_row[plan.row_of_outside]
    is_character = plan.row_of_outside < plan.characters
    # The root of a one-character word has no context within the word.
    has_outside = torch.arange(len(morphemes), device=morphemes.device) >= plan.words

    def targets(selected: Tensor) -> Targets:
        rows = selected.nonzero()[:, 0]
        exists = torch.ones(len(rows), device=rows.device)
        return Targets(rows, morphemes[rows], plan.word_of_outside[rows], exists)

    return targets(is_character & has_outside), targets(~is_character & (morphemes > 0))

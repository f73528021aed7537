"""What the composition model learns from: characters, morphemes and next words.

Shapes: W distinct words of a batch, B sequences of T words, D dimensions, R rows of the outside table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.model.chart import ChartPlan, inside_pass, outside_pass, span_weights
from treetok.model.composition import CompositionModel, precise
from treetok.model.configuration import ModelConfiguration
from treetok.model.language_model import LanguageModel


@dataclass(frozen=True)
class Targets:
    """Rows of the outside table from which a morpheme (or character) is to be told. `exists` is 0 where a row
    only fills up a batch of fixed size."""

    rows: Tensor
    morphemes: Tensor
    words: Tensor
    exists: Tensor


@dataclass(frozen=True)
class Batch:
    """Sequences of running words, by their place among the distinct words of the plan; the number W stands for
    any word too long for a chart. `chosen_W` is one place in the sequences (flattened) where each word stands.
    `is_candidate` has W + 1 rows: which words the next one may be."""

    plan: ChartPlan
    words_BT: Tensor
    chosen_W: Tensor
    count_W: Tensor
    characters: Targets
    spans: Targets
    is_candidate: Tensor


def targets_of(plan: ChartPlan) -> tuple[Targets, Targets]:
    """What is to be told from the outside of a plan: characters, and longer spans that are morphemes."""
    morphemes = plan.morpheme_of_row[plan.row_of_outside]
    is_character = plan.row_of_outside < plan.characters
    # A word of one character has nothing around it.
    has_outside = torch.arange(len(morphemes), device=morphemes.device) >= plan.words

    def those(chosen: Tensor) -> Targets:
        rows = chosen.nonzero()[:, 0]
        exists = torch.ones(len(rows), device=rows.device)
        return Targets(rows, morphemes[rows], plan.word_of_outside[rows], exists)

    return those(is_character & has_outside), those(~is_character & (morphemes > 0))


@dataclass(frozen=True)
class Losses:
    character: Tensor
    span: Tensor
    next_word: Tensor

    @property
    def total(self) -> Tensor:
        return self.character + self.span + self.next_word


class TreeLearner(nn.Module):
    """The composition model together with what is needed only to train it."""

    def __init__(self, configuration: ModelConfiguration, morphemes: int) -> None:
        super().__init__()
        self.configuration = configuration
        d = configuration.composition.dimension
        self.composition = CompositionModel(configuration.composition, morphemes)
        self.language_model = LanguageModel(d, configuration.language_model)
        self.long_word = nn.Parameter(torch.randn(d) * 0.02)
        # What vectors are kept and multiplied in; None: as the parameters are.
        self.precision: torch.dtype | None = None

    def forward(self, batch: Batch) -> Losses:
        objective = self.configuration.objective
        plan = batch.plan
        inside = inside_pass(self.composition, plan, objective.morph_overriding, self.precision)
        roots_WD = self.composition.root.expand(plan.words, -1)
        next_word = precise(inside.vectors.new_zeros(()))
        if objective.context:
            words_WD = inside.vectors.index_select(0, plan.root_rows)
            next_word, before_BTD = self._read(words_WD, batch)
            if objective.context_root:
                roots_WD = before_BTD.flatten(0, 1).index_select(0, batch.chosen_W)
        outside_RD = outside_pass(self.composition, plan, inside, roots_WD)
        weight_W = batch.count_W.to(inside.split_weights.dtype) ** objective.count_power
        character = self._tell(outside_RD, batch.characters, weight_W, None)
        span = torch.zeros_like(character)
        if objective.span_loss:
            weight_R = span_weights(plan, inside) if objective.span_weights else None
            span = self._tell(outside_RD, batch.spans, weight_W, weight_R)
        return Losses(character, span, next_word)

    def _read(self, words_WD: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The next-word loss with the words of the batch as candidates, and the state before every word."""
        b, t = batch.words_BT.shape
        candidates = torch.cat([words_WD, self.long_word.to(words_WD.dtype)[None]])
        states_BTD = self.language_model(candidates.index_select(0, batch.words_BT.reshape(-1)).view(b, t, -1))
        logits = precise(states_BTD[:, :-1].flatten(0, 1) @ candidates.t()) * candidates.shape[1] ** -0.5
        logits = logits.masked_fill(~batch.is_candidate, -torch.inf)
        loss = F.cross_entropy(logits, batch.words_BT[:, 1:].reshape(-1).long())
        first = self.composition.root.to(states_BTD.dtype).expand(b, 1, -1)
        return loss, torch.cat([first, states_BTD[:, :-1]], 1)

    def _tell(self, outside_RD: Tensor, targets: Targets, weight_W: Tensor, weight_R: Tensor | None) -> Tensor:
        """Cross-entropy of characters or morphemes, a weighted mean; 0 where there are none."""
        embedding = self.composition.embedding.weight.to(outside_RD.dtype)
        logits = precise(outside_RD.index_select(0, targets.rows) @ embedding.t())
        losses = F.cross_entropy(logits, targets.morphemes.long(), reduction="none")
        weights = weight_W.index_select(0, targets.words) * targets.exists
        if weight_R is not None:
            weights = weights * weight_R.index_select(0, targets.rows)
        return (losses * weights).sum() / weights.sum().clamp_min(1e-9)

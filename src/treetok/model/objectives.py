"""What the composition model learns from: characters, morphemes and next words.

Shapes: W distinct words of a batch, B sequences of T words, D dimensions, R rows of the outside table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.model.chart import ChartPlan, InsideResult, inside_pass, outside_pass, span_weights
from treetok.model.composition import CompositionModel, precise
from treetok.model.configuration import ModelConfiguration
from treetok.model.language_model import LanguageModel


@dataclass(frozen=True)
class Batch:
    """Sequences of running words, by their place among the distinct words of the plan; the number W stands for
    any word too long for a chart. `chosen_W` is one place in the sequences (flattened) where each word stands."""

    plan: ChartPlan
    words_BT: Tensor
    chosen_W: Tensor
    count_W: Tensor


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

    def forward(self, batch: Batch) -> Losses:
        objective = self.configuration.objective
        plan = batch.plan
        inside = inside_pass(self.composition, plan, objective.morph_overriding)
        roots_WD = self.composition.root.expand(plan.words, -1)
        next_word = inside.vectors.new_zeros(())
        if objective.context:
            words_WD = inside.vectors.index_select(0, plan.root_rows)
            next_word, before_BTD = self._read(words_WD, batch.words_BT)
            if objective.context_root:
                roots_WD = before_BTD.flatten(0, 1).index_select(0, batch.chosen_W)
        outside_RD = outside_pass(self.composition, plan, inside, roots_WD)
        character, span = self._predict_spans(plan, inside, outside_RD, batch.count_W)
        return Losses(character, span, next_word)

    def _read(self, words_WD: Tensor, words_BT: Tensor) -> tuple[Tensor, Tensor]:
        """The next-word loss with the words of the batch as candidates, and the state before every word."""
        b, t = words_BT.shape
        candidates = torch.cat([words_WD, self.long_word.to(words_WD.dtype)[None]])
        states_BTD = self.language_model(candidates.index_select(0, words_BT.reshape(-1)).view(b, t, -1))
        logits = states_BTD[:, :-1].flatten(0, 1) @ candidates.t().to(states_BTD.dtype)
        logits = precise(logits) * candidates.shape[1] ** -0.5
        loss = F.cross_entropy(logits, words_BT[:, 1:].reshape(-1))
        first = self.composition.root.to(states_BTD.dtype).expand(b, 1, -1)
        return loss, torch.cat([first, states_BTD[:, :-1]], 1)

    def _predict_spans(
        self, plan: ChartPlan, inside: InsideResult, outside_RD: Tensor, count_W: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Tell characters and morphemes from what stands around them."""
        objective = self.configuration.objective
        weight_R = (count_W.to(precise(outside_RD).dtype) ** objective.count_power)[plan.word_of_outside]
        morpheme_R = plan.morpheme_of_row[plan.row_of_outside]
        is_character_R = plan.row_of_outside < plan.characters
        is_root_R = torch.arange(len(outside_RD), device=outside_RD.device) < plan.words
        # A word of one character has nothing around it.
        character = self._cross_entropy(
            outside_RD, (is_character_R & ~is_root_R).nonzero()[:, 0], morpheme_R, weight_R
        )
        if not objective.span_loss:
            return character, character.new_zeros(())
        if objective.span_weights:
            weight_R = weight_R * span_weights(plan, inside)
        span = self._cross_entropy(
            outside_RD, (~is_character_R & (morpheme_R > 0)).nonzero()[:, 0], morpheme_R, weight_R
        )
        return character, span

    def _cross_entropy(self, outside_RD: Tensor, rows: Tensor, morpheme_R: Tensor, weight_R: Tensor) -> Tensor:
        """Weighted mean over some rows; 0 where there are none."""
        if not len(rows):
            return precise(outside_RD.new_zeros(()))
        logits = precise(
            outside_RD.index_select(0, rows) @ self.composition.embedding.weight.t().to(outside_RD.dtype)
        )
        losses = F.cross_entropy(logits, morpheme_R[rows], reduction="none")
        return (losses * weight_R[rows]).sum() / weight_R[rows].sum()

"""The training objectives of the composition model, and of the parser that prunes its charts.

Shapes: W distinct words of a batch, B sequences of T words, D dimensions, R rows of the outside table, S splits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from treetok.model.batches.batch import Batch, Targets
from treetok.model.charts.best_trees import best_tree_depths
from treetok.model.charts.passes import InsideResult, span_weights
from treetok.model.charts.plan import ChartPlan
from treetok.model.charts.pruned import PrunedPlan
from treetok.model.config import ModelConfig
from treetok.model.losses.parser_loss import parser_loss
from treetok.model.losses.plain_or_fused import PLAIN, fastest_operations, fastest_parser_operations
from treetok.model.losses.reduction import BatchReduction
from treetok.model.network.composition import CompositionModel
from treetok.model.network.functional import precise, take_rows
from treetok.model.network.language_model import LanguageModel
from treetok.model.network.parser import Parser, ParserTable


@dataclass(frozen=True)
class Losses:
    """`character` and `span` make up the paper's auto-encoding loss, `next_word` is its auto-regression loss,
    `parser` is 0 without a parser."""

    character: Tensor
    span: Tensor
    next_word: Tensor
    parser: Tensor

    @property
    def total(self) -> Tensor:
        return self.character + self.span + self.next_word + self.parser

    def stacked(self) -> Tensor:
        """One tensor of all losses, in order."""
        return torch.stack([self.character, self.span, self.next_word, self.parser])


class TreeLearner(nn.Module):
    """The composition model with everything that only training needs.

    With pruned charts, `parser` is trained as well; `letters` is its input for all words.
    """

    def __init__(
        self,
        config: ModelConfig,
        morphemes: int,
        parser: Parser | None = None,
        letters: ParserTable | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        d = config.composition.dimension
        self.composition = CompositionModel(config.composition, morphemes)
        self.language_model = LanguageModel(d, config.language_model)
        self.long_word = nn.Parameter(torch.randn(d) * 0.02)
        # The precision of vectors and matrix products; None is that of the parameters.
        self.precision: torch.dtype | None = None
        self.operations = PLAIN
        self.reduction = BatchReduction()
        self.parser, self.letters = parser, letters

    def use_gpu(self) -> None:
        """bfloat16, and fused kernels where they support the model's configuration."""
        self.precision = torch.bfloat16
        self.operations = fastest_operations(self.config.composition)
        if self.parser is not None:
            self.parser.operations = fastest_parser_operations(self.parser.config)

    def forward(self, batch: Batch) -> Losses:
        objective = self.config.objective
        plan = batch.plan
        inside = self.operations.inside_pass(self.composition, plan, objective.morph_overriding, self.precision)
        roots_WD = self.composition.root.expand(plan.words, -1)
        next_word = precise(inside.vectors.new_zeros(()))
        if objective.context:
            words_WD = take_rows(inside.vectors, plan.root_rows)
            next_word, before_BTD = self._language_model_loss(words_WD, batch)
            if objective.context_root:
                roots_WD = take_rows(before_BTD.flatten(0, 1), batch.chosen_W)
        outside_RD = self.operations.outside_pass(self.composition, plan, inside, roots_WD)
        weight_W = batch.count_W.to(inside.split_weights.dtype) ** objective.count_power
        character = self._prediction_loss(outside_RD, batch.characters, weight_W, None)
        span = torch.zeros_like(character)
        if objective.span_loss:
            weight_R = span_weights(plan, inside) if objective.span_weights else None
            span = self._prediction_loss(outside_RD, batch.spans, weight_W, weight_R)
        parser = torch.zeros_like(character)
        if self.parser is not None:
            parser = self._parser_loss(plan, inside, weight_W)
        return Losses(character, span, next_word, parser)

    def _language_model_loss(self, words_WD: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The auto-regression loss L_ar, with the words of the batch as candidates, and the state before every
        word."""
        b, t = batch.words_BT.shape
        words_WD = self.reduction.gather_words(words_WD, batch)
        candidates = torch.cat([words_WD, self.long_word.to(words_WD.dtype)[None]])
        states_BTD = self.language_model(take_rows(candidates, batch.words_BT.reshape(-1)).view(b, t, -1))
        losses = self.operations.cross_entropy(
            states_BTD[:, :-1].flatten(0, 1),
            candidates,
            batch.words_BT[:, 1:].reshape(-1).long(),
            candidates.shape[1] ** -0.5,
            ~batch.is_candidate,
        )
        first = self.composition.root.to(states_BTD.dtype).expand(b, 1, -1)
        before_BTD = self.reduction.gather_states(torch.cat([first, states_BTD[:, :-1]], 1), batch)
        return self.reduction.mean(losses, torch.ones_like(losses)), before_BTD

    def _parser_loss(self, plan: ChartPlan, inside: InsideResult, weight_W: Tensor) -> Tensor:
        """The parser learns the best trees of the charts; the composition model gets no gradient from that."""
        assert self.parser is not None and self.letters is not None and isinstance(plan, PrunedPlan)
        scores_WS = self.parser(self.letters.take(plan.word_ids, plan.longest, plan.letters))
        depths_WS = best_tree_depths(plan, inside)
        loss = parser_loss(scores_WS, depths_WS, plan.lengths_W, weight_W)
        weight = (weight_W * (plan.lengths_W - 1)).sum()
        return self.reduction.mean(loss[None], weight[None])

    def _prediction_loss(
        self, outside_RD: Tensor, targets: Targets, weight_W: Tensor, weight_R: Tensor | None
    ) -> Tensor:
        """The auto-encoding loss L_ae of characters or morphemes: a weighted mean, 0 without targets."""
        embedding = self.composition.embedding.weight.to(outside_RD.dtype)
        context = take_rows(outside_RD, targets.rows)
        losses = self.operations.cross_entropy(context, embedding, targets.morphemes.long())
        weights = weight_W.index_select(0, targets.words) * targets.exists
        if weight_R is not None:
            weights = weights * weight_R.index_select(0, targets.rows)
        return self.reduction.mean(losses, weights)

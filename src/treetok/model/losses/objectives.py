"""What the composition model learns from: characters, morphemes and next words.

Shapes: W distinct words of a batch, B sequences of T words, D dimensions, R rows of the outside table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from treetok.model.charts.chart import ChartPlan, InsideResult, span_weights
from treetok.model.charts.pruned import PrunedPlan
from treetok.model.config import ModelConfig
from treetok.model.losses.joint_parser import best_tree_depths
from treetok.model.losses.operations import PLAIN, fastest_operations
from treetok.model.losses.parser_loss import parser_loss
from treetok.model.network.composition import CompositionModel, precise, take_rows
from treetok.model.network.language_model import LanguageModel
from treetok.model.network.parser import Parser, ParserTable


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
    # How badly the parser tells the best trees; 0 where there is no parser.
    parser: Tensor

    @property
    def total(self) -> Tensor:
        return self.character + self.span + self.next_word + self.parser

    def stacked(self) -> Tensor:
        """All of them, in order."""
        return torch.stack([self.character, self.span, self.next_word, self.parser])


class WholeBatch:
    """How the losses come by the words, states and weights of a whole batch: here they are all at hand. Where
    several processes have a share of it each, they ask each other (`data_parallel.py`)."""

    def words(self, words_WD: Tensor, batch: Batch) -> Tensor:
        """The vectors of all distinct words of the batch."""
        return words_WD

    def states(self, before_BTD: Tensor, batch: Batch) -> Tensor:
        """The states before all running words of the batch."""
        return before_BTD

    def mean(self, losses: Tensor, weights: Tensor) -> Tensor:
        """The weighted mean of a loss; 0 where there are no weights."""
        return (losses * weights).sum() / weights.sum().clamp_min(1e-9)


class TreeLearner(nn.Module):
    """The composition model together with what is needed only to train it.

    Where charts are pruned, `parser` is learned, too; `letters` has its input for every word that is in a plan.
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
        # What vectors are kept and multiplied in; None: as the parameters are.
        self.precision: torch.dtype | None = None
        self.arithmetic = PLAIN
        self.whole_batch = WholeBatch()
        self.parser, self.letters = parser, letters

    def use_gpu(self) -> None:
        """16 bits, and fused kernels where there are such for the model's sizes."""
        self.precision = torch.bfloat16
        self.arithmetic = fastest_operations(self.config.composition)

    def forward(self, batch: Batch) -> Losses:
        objective = self.config.objective
        plan = batch.plan
        inside = self.arithmetic.inside_pass(self.composition, plan, objective.morph_overriding, self.precision)
        roots_WD = self.composition.root.expand(plan.words, -1)
        next_word = precise(inside.vectors.new_zeros(()))
        if objective.context:
            words_WD = take_rows(inside.vectors, plan.root_rows)
            next_word, before_BTD = self._read(words_WD, batch)
            if objective.context_root:
                roots_WD = take_rows(before_BTD.flatten(0, 1), batch.chosen_W)
        outside_RD = self.arithmetic.outside_pass(self.composition, plan, inside, roots_WD)
        weight_W = batch.count_W.to(inside.split_weights.dtype) ** objective.count_power
        character = self._tell(outside_RD, batch.characters, weight_W, None)
        span = torch.zeros_like(character)
        if objective.span_loss:
            weight_R = span_weights(plan, inside) if objective.span_weights else None
            span = self._tell(outside_RD, batch.spans, weight_W, weight_R)
        imitation = torch.zeros_like(character)
        if self.parser is not None:
            imitation = self._imitate(plan, inside, weight_W)
        return Losses(character, span, next_word, imitation)

    def _read(self, words_WD: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The next-word loss with the words of the batch as candidates, and the state before every word."""
        b, t = batch.words_BT.shape
        words_WD = self.whole_batch.words(words_WD, batch)
        candidates = torch.cat([words_WD, self.long_word.to(words_WD.dtype)[None]])
        states_BTD = self.language_model(take_rows(candidates, batch.words_BT.reshape(-1)).view(b, t, -1))
        losses = self.arithmetic.cross_entropy(
            states_BTD[:, :-1].flatten(0, 1),
            candidates,
            batch.words_BT[:, 1:].reshape(-1).long(),
            candidates.shape[1] ** -0.5,
            ~batch.is_candidate,
        )
        first = self.composition.root.to(states_BTD.dtype).expand(b, 1, -1)
        before_BTD = self.whole_batch.states(torch.cat([first, states_BTD[:, :-1]], 1), batch)
        return self.whole_batch.mean(losses, torch.ones_like(losses)), before_BTD

    def _imitate(self, plan: ChartPlan, inside: InsideResult, weight_W: Tensor) -> Tensor:
        """The loss of the parser, whose teacher are the best trees of the charts: no gradient goes to them."""
        assert self.parser is not None and self.letters is not None and isinstance(plan, PrunedPlan)
        scores_WS = self.parser(self.letters.take(plan.word_numbers, plan.longest))
        depths_WS = best_tree_depths(plan, inside)
        loss = parser_loss(scores_WS, depths_WS, plan.lengths_W, weight_W)
        weight = (weight_W * (plan.lengths_W - 1)).sum()
        return self.whole_batch.mean(loss[None], weight[None])

    def _tell(self, outside_RD: Tensor, targets: Targets, weight_W: Tensor, weight_R: Tensor | None) -> Tensor:
        """Cross-entropy of characters or morphemes, a weighted mean; 0 where there are none."""
        embedding = self.composition.embedding.weight.to(outside_RD.dtype)
        told_from = take_rows(outside_RD, targets.rows)
        losses = self.arithmetic.cross_entropy(told_from, embedding, targets.morphemes.long())
        weights = weight_W.index_select(0, targets.words) * targets.exists
        if weight_R is not None:
            weights = weights * weight_R.index_select(0, targets.rows)
        return self.whole_batch.mean(losses, weights)

"""The objective of Fast-R2D2 (Hu et al. 2022), a baseline of the paper's Table 3, for our composition model.

A bidirectional language model: every character of a word is predicted from two composed vectors, that of all that
stands left of it and that of all that stands right of it. The composition function itself makes the prediction (a
mask stands where the morpheme of a span stands otherwise), followed by a dense layer and the embeddings of the
characters. There is no outside pass, no context of other words, and no morphemes: the vocabulary has characters
alone.

The original differs in how it gets the vectors. A top-down parser prunes its charts, and learns trees sampled from
them; ours are complete. It scores a split by the log-probabilities of the whole subtree, ours by those of the span
alone. It takes the vector of one split, drawn by straight-through Gumbel softmax; ours is the mean over all splits
(the paper's eq. 1). And it was made for the subwords of sentences, with dropout, not for the characters of words.

Shapes: C cells of a level, P parents of each, R rows of the outside table, N characters to predict, D dimensions,
T tokens of the encoder.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from treetok.model.batches.batch import Batch
from treetok.model.charts.plan import ChartPlan
from treetok.model.config import ModelConfig
from treetok.model.losses.objectives import Losses, TreeLearner
from treetok.model.network.functional import gelu, linear, take_rows

NOTHING = -1


def contexts_of(plan: ChartPlan) -> tuple[Tensor, Tensor]:
    """For every row of the outside table of complete charts, the inside rows of all that stands left and of all
    that stands right of its span in its word, or NOTHING.

    They are the largest siblings of the span. Siblings on the right come first, and on either side the largest one
    is the first (`charts/complete.py`).
    """
    none = plan.root_rows.new_full((plan.words,), NOTHING)
    left, right = [none], [none]
    for level in plan.outside_levels:
        parents = level.parents
        side_CP, sibling_CP = level.side_N.view(-1, parents), level.sibling_N.view(-1, parents)
        on_right_C1 = (side_CP == 0).sum(1, keepdim=True)
        first_on_left_C = sibling_CP.gather(1, on_right_C1.clamp(max=parents - 1))[:, 0]
        left.append(first_on_left_C.masked_fill(on_right_C1[:, 0] == parents, NOTHING))
        right.append(sibling_CP[:, 0].masked_fill(on_right_C1[:, 0] == 0, NOTHING))
    return torch.cat(left), torch.cat(right)


class FastR2D2Learner(TreeLearner):
    """Our composition model with the objective of Fast-R2D2; `Losses.character` is its only loss."""

    def __init__(self, config: ModelConfig, morphemes: int, *of_parser: Any) -> None:
        super().__init__(config, morphemes, *of_parser)
        d = config.composition.dimension
        self.mask = nn.Parameter(torch.randn(d) * 0.02)
        # What stands before the first and after the last character.
        self.ends = nn.Parameter(torch.randn(2, d) * 0.02)
        self.dense = nn.Linear(d, d)

    def forward(self, batch: Batch) -> Losses:
        plan = batch.plan
        inside = self.operations.inside_pass(self.composition, plan, False, self.precision)
        vectors = torch.cat([inside.vectors, self.ends.to(inside.vectors.dtype)])
        before, after = len(inside.vectors), len(inside.vectors) + 1
        left_R, right_R = contexts_of(plan)
        rows = batch.characters.rows
        left_ND = take_rows(vectors, left_R.masked_fill(left_R == NOTHING, before)[rows])
        right_ND = take_rows(vectors, right_R.masked_fill(right_R == NOTHING, after)[rows])
        targets = dataclasses.replace(batch.characters, rows=torch.arange(len(rows), device=rows.device))
        weight_W = batch.count_W.to(inside.split_weights.dtype) ** self.config.objective.count_power
        character = self._prediction_loss(self.predicted(left_ND, right_ND), targets, weight_W, None)
        zero = torch.zeros_like(character)
        return Losses(character, zero, zero, zero)

    def predicted(self, left_ND: Tensor, right_ND: Tensor) -> Tensor:
        """What stands between two contexts, as a vector to be compared with the embeddings of characters."""
        x_NTD = torch.stack((left_ND, right_ND, self.mask.to(left_ND.dtype).expand_as(left_ND)), 1)
        for layer in self.composition.inside.layers:
            x_NTD = layer(x_NTD)
        return gelu(linear(self.dense, x_NTD[:, 2]))

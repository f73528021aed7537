"""Charts, and the two passes over them.

A chart plan is nothing but numbers: which rows of the inside table are the halves of which cells, and which cells
are the parents of which. Complete and pruned charts differ only in how these numbers come about.

Shapes: C cells of a level, K ways to split each, P parents of each, D dimensions, W words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from treetok.model.network.composition import CompositionModel, norm, precise


@dataclass(frozen=True)
class InsideLevel:
    """Cells whose halves are all in the table before them; they become its next rows."""

    left_CK: Tensor
    right_CK: Tensor


@dataclass(frozen=True)
class OutsideLevel:
    """Cells whose parents are all in the outside table before them; they become its next rows.

    parent_CP: rows of the outside table; sibling_CP: rows of the inside table; split_CP: where the weight of the
    split that makes the cell stands among all split weights; side_CP: 0 where the sibling is on the right, else
    1; exists_CP: False where a cell has fewer parents than others of its level, None where all have the same.
    """

    parent_CP: Tensor
    sibling_CP: Tensor
    split_CP: Tensor
    side_CP: Tensor
    exists_CP: Tensor | None = None


@dataclass(frozen=True)
class ChartPlan:
    """The inside table has one row per distinct character, then those of the levels. The outside table has one
    row per word (its root), then those of the levels."""

    # Of every inside row: the morpheme (or character) it is, 0 where it is none.
    morpheme_of_row: Tensor
    characters: int
    inside_levels: list[InsideLevel]
    # Of every outside row: the inside row of the same span, and the word it stands in.
    row_of_outside: Tensor
    word_of_outside: Tensor
    outside_levels: list[OutsideLevel]
    words: int

    @property
    def root_rows(self) -> Tensor:
        """The inside rows of whole words."""
        return self.row_of_outside[: self.words]


@dataclass(frozen=True)
class InsideResult:
    vectors: Tensor
    # The weights of all splits of all cells, level after level, and the scores they come from.
    split_weights: Tensor
    split_scores: Tensor


def embedded_rows(
    model: CompositionModel, plan: ChartPlan, morph_overriding: bool, precision: torch.dtype | None
) -> Tensor:
    """The morpheme embedding of every inside row; without MorphOverriding only characters have their own."""
    # Gradients of index_select are added up as they come; those of other ways to look up are sorted first.
    embedded = model.embedding.weight.index_select(0, plan.morpheme_of_row)
    if precision is not None:
        embedded = embedded.to(precision)
    if not morph_overriding:
        empty = model.embedding.weight[0].to(embedded.dtype).expand_as(embedded)
        embedded = torch.cat([embedded[: plan.characters], empty[plan.characters :]])
    return embedded


def inside_pass(
    model: CompositionModel, plan: ChartPlan, morph_overriding: bool = True, precision: torch.dtype | None = None
) -> InsideResult:
    """Eq. 1, with MorphOverriding: bottom up, one level at a time, in the precision of the parameters or in
    another."""
    embedded = embedded_rows(model, plan, morph_overriding, precision)
    table = norm(embedded[: plan.characters])
    all_scores, all_weights = [], []
    done = plan.characters
    for level in plan.inside_levels:
        cells = len(level.left_CK)
        score_CK, weight_CK, vector_CD = model.inside_level(
            table, embedded[done : done + cells], level.left_CK, level.right_CK
        )
        table = torch.cat([table, vector_CD])
        all_scores.append(score_CK.reshape(-1))
        all_weights.append(weight_CK.reshape(-1))
        done += cells
    if not plan.inside_levels:
        nothing = precise(table.new_zeros(0))
        return InsideResult(table, nothing, nothing)
    return InsideResult(table, torch.cat(all_weights), torch.cat(all_scores))


def outside_pass(model: CompositionModel, plan: ChartPlan, inside: InsideResult, roots_WD: Tensor) -> Tensor:
    """The neural outside pass of the appendix: top down, one level at a time."""
    table = roots_WD.to(inside.vectors.dtype)
    for level in plan.outside_levels:
        vector_CD = model.outside_level(
            table, inside.vectors, level.parent_CP, level.sibling_CP, level.side_CP, level.exists_CP
        )
        table = torch.cat([table, vector_CD])
    return table


@torch.no_grad()
def span_weights(plan: ChartPlan, inside: InsideResult) -> Tensor:
    """The probability p that a span is in the tree, for every row of the outside table (appendix)."""
    table = inside.split_weights.new_ones(plan.words)
    for level in plan.outside_levels:
        shape = level.parent_CP.shape
        of_parent = table.index_select(0, level.parent_CP.reshape(-1))
        of_split = inside.split_weights.index_select(0, level.split_CP.reshape(-1))
        from_parents_CP = (of_parent * of_split).view(shape)
        if level.exists_CP is not None:
            from_parents_CP = from_parents_CP.masked_fill(~level.exists_CP, 0)
        table = torch.cat([table, from_parents_CP.sum(-1)])
    return table

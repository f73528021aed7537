"""The inside and the outside pass over the charts of a plan, one level at a time.

Shapes: C cells of a level, K splits of each, N pairs of a cell and a parent, D dimensions, W words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from treetok.model.charts.plan import ChartPlan
from treetok.model.network.composition import CompositionModel
from treetok.model.network.functional import norm, precise, take_rows


@dataclass(frozen=True)
class InsideResult:
    vectors: Tensor
    # The weights of all splits of all cells, level by level, and the scores they are the softmax of.
    split_weights: Tensor
    split_scores: Tensor


def embedded_rows(
    model: CompositionModel, plan: ChartPlan, morph_overriding: bool, precision: torch.dtype | None
) -> Tensor:
    """The morpheme embedding s_ij of every inside row; without MorphOverriding only characters have one."""
    # The backward pass of index_select adds gradients unsorted; that of an embedding lookup sorts them first.
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
    """Eq. 1 with MorphOverriding, bottom up. `precision` is that of the vectors, by default that of the
    parameters."""
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
        empty = precise(table.new_zeros(0))
        return InsideResult(table, empty, empty)
    return InsideResult(table, torch.cat(all_weights), torch.cat(all_scores))


def outside_pass(model: CompositionModel, plan: ChartPlan, inside: InsideResult, roots_WD: Tensor) -> Tensor:
    """The neural outside pass (appendix), top down."""
    table = roots_WD.to(inside.vectors.dtype)
    for level in plan.outside_levels:
        parent_ND, sibling_ND = take_rows(table, level.parent_N), take_rows(inside.vectors, level.sibling_N)
        score_N, vector_ND = model.outside(parent_ND, sibling_ND, level.side_N)
        weight_N = level.softmax(precise(score_N))
        table = torch.cat([table, level.sums(weight_N.unsqueeze(-1).to(vector_ND.dtype) * vector_ND)])
    return table


@torch.no_grad()
def span_weights(plan: ChartPlan, inside: InsideResult) -> Tensor:
    """The probability p_ij that a span is in the tree, for every row of the outside table (appendix, "Span
    weights")."""
    table = inside.split_weights.new_ones(plan.words)
    for level in plan.outside_levels:
        of_parent_N = table.index_select(0, level.parent_N)
        of_split_N = inside.split_weights.index_select(0, level.split_N)
        table = torch.cat([table, level.sums(of_parent_N * of_split_N)])
    return table

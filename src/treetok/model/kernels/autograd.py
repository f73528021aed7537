"""The inside and the outside pass over charts with fused kernels: `charts/passes.py`, faster.

Each pass is one autograd function. It processes level after level, bottom up or top down, in buffers that hold all
levels.

Shapes: C cells of a level, K candidates (splits or parents) of each, N = C K pairs of all levels, D dimensions,
W words.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from treetok.model.charts.passes import InsideResult, embedded_rows, inside_pass, outside_pass
from treetok.model.charts.plan import ChartPlan
from treetok.model.kernels.encoder import EncoderStack, as_tensors, from_tensors, weights_of
from treetok.model.kernels.gather import add_rows, take_rows
from treetok.model.kernels.outside_score import (
    FactorBuffers,
    FactorWeights,
    outside_score,
    outside_score_backward,
)
from treetok.model.kernels.weighted_split_sum import combine_candidates, combine_candidates_backward
from treetok.model.network.composition import CompositionModel, ScoreHalf
from treetok.model.network.functional import norm


def level_slices(sizes: list[int]) -> list[slice]:
    """The rows of levels that lie one after the other in a buffer.

    >>> level_slices([2, 3])
    [slice(0, 2, None), slice(2, 5, None)]
    """
    ends = [0, *accumulate(sizes)]
    return [slice(first, end) for first, end in pairwise(ends)]


def shifted(rows: slice, by: int) -> slice:
    return slice(rows.start + by, rows.stop + by)


class Inside(torch.autograd.Function):
    """Inputs: the vectors of characters, the morpheme embeddings of all longer rows, the weights of the score, the
    weights of the layers. Outputs: the inside table, and the weights and scores of all splits."""

    @staticmethod
    def forward(
        ctx: Any,
        plan: ChartPlan,
        heads: int,
        characters: Tensor,
        morphemes: Tensor,
        score_weight_D: Tensor,
        score_bias: Tensor,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        levels = plan.inside_levels
        d = characters.shape[1]
        level_pairs = level_slices([level.left_CK.numel() for level in levels])
        level_cells = level_slices([len(level.left_CK) for level in levels])
        pairs = level_pairs[-1].stop
        table = torch.empty(
            (len(characters) + len(morphemes), d), dtype=characters.dtype, device=characters.device
        )
        table[: len(characters)] = characters
        stack = EncoderStack(from_tensors(weights), heads, pairs, 3, characters)
        score_N, weight_N = torch.empty((2, pairs), dtype=torch.float32, device=characters.device)
        for level, at, cells in zip(levels, level_pairs, level_cells, strict=True):
            shape = level.left_CK.shape
            x_NTD = stack.x_NTD[0][at]
            take_rows(table, level.left_CK, x_NTD, 0)
            take_rows(table, level.right_CK, x_NTD, 1)
            x_NTD[:, 2].view(*shape, d).copy_(morphemes[cells, None])
            out_NTD = stack.forward(at)
            score_N[at] = out_NTD[:, 2] @ score_weight_D + score_bias
            combine_candidates(out_NTD, score_N[at], weight_N[at], table[shifted(cells, len(characters))])
        ctx.plan, ctx.stack, ctx.level_pairs, ctx.level_cells = plan, stack, level_pairs, level_cells
        ctx.save_for_backward(weight_N, score_weight_D)
        ctx.mark_non_differentiable(weight_N, score_N)
        return table, weight_N, score_N

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        plan: ChartPlan = ctx.plan
        stack: EncoderStack = ctx.stack
        weight_N, score_weight_D = ctx.saved_tensors
        dtype = gradients[0].dtype
        d_table = gradients[0].float()
        d = d_table.shape[1]
        characters = plan.characters
        d_morphemes = torch.empty_like(d_table[characters:])
        d_score_N = torch.empty_like(weight_N)
        stack.prepare_backward(ctx.level_pairs)
        levels = zip(plan.inside_levels, ctx.level_pairs, ctx.level_cells, strict=True)
        for level, at, cells in reversed(list(levels)):
            shape = level.left_CK.shape
            out_NTD = stack.x_NTD[-1][at]
            d_out_NTD = torch.empty_like(out_NTD)
            combine_candidates_backward(
                out_NTD,
                weight_N[at],
                d_table[shifted(cells, characters)],
                score_weight_D,
                d_score_N[at],
                d_out_NTD,
            )
            d_x_NTD = stack.backward(at, d_out_NTD)
            add_rows(d_x_NTD, level.left_CK, d_table, 0)
            add_rows(d_x_NTD, level.right_CK, d_table, 1)
            torch.sum(d_x_NTD[:, 2].view(*shape, d), 1, dtype=torch.float32, out=d_morphemes[cells])
        d_score_weight = d_score_N.to(dtype) @ stack.x_NTD[-1][:, 2]
        weight_gradients = stack.weight_gradients()
        # The bias of the score cancels in the softmax.
        no_bias = torch.zeros((), dtype=dtype, device=d_table.device)
        return (
            None,
            None,
            d_table[:characters].to(dtype),
            d_morphemes.to(dtype),
            d_score_weight,
            no_bias,
            *weight_gradients,
        )


class Outside(torch.autograd.Function):
    """Inputs: the outside vectors of roots, the inside table, the embeddings of the two sides, the weights of the
    two factors of the score (4 each), the weights of the layers. Output: the outside table."""

    @staticmethod
    def forward(
        ctx: Any, plan: ChartPlan, heads: int, roots_WD: Tensor, inside: Tensor, sides: Tensor, *weights: Tensor
    ) -> Tensor:
        levels = plan.outside_levels
        words, d = roots_WD.shape
        level_pairs = level_slices([len(level.parent_N) for level in levels])
        level_cells = level_slices([level.cells for level in levels])
        pairs = level_pairs[-1].stop
        factors = FactorWeights(*weights[:4]), FactorWeights(*weights[4:8])
        table = torch.empty((words + level_cells[-1].stop, d), dtype=inside.dtype, device=inside.device)
        table[:words] = roots_WD
        stack = EncoderStack(from_tensors(weights[8:]), heads, pairs, 2, inside)
        score_N, weight_N = torch.empty((2, pairs), dtype=torch.float32, device=inside.device)
        for level, at, cells in zip(levels, level_pairs, level_cells, strict=True):
            x_NTD = stack.x_NTD[0][at]
            take_rows(table, level.parent_N, x_NTD, 0)
            take_rows(inside, level.sibling_N, x_NTD, 1, sides, level.side_N)
            out_NTD = stack.forward(at)
            outside_score(out_NTD, *factors, score_N[at])
            combine_candidates(
                out_NTD, score_N[at], weight_N[at], table[shifted(cells, words)], level.pairs_of_cells
            )
        ctx.plan, ctx.stack, ctx.level_pairs, ctx.level_cells = plan, stack, level_pairs, level_cells
        ctx.factors, ctx.inside_rows = factors, len(inside)
        ctx.save_for_backward(weight_N)
        return table

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        plan: ChartPlan = ctx.plan
        stack: EncoderStack = ctx.stack
        (weight_N,) = ctx.saved_tensors
        parent, sibling = ctx.factors
        dtype = gradients[0].dtype
        d_table = gradients[0].float()
        d = d_table.shape[1]
        words = plan.words
        d_inside = d_table.new_zeros((ctx.inside_rows, d))
        d_sides = d_table.new_zeros((2, d))
        d_score_N = torch.empty_like(weight_N)
        pairs, scores = len(weight_N), len(parent.output_SD)
        of_parent = FactorBuffers.empty(pairs, d, scores, stack.x_NTD[0])
        of_sibling = FactorBuffers.empty(pairs, d, scores, stack.x_NTD[0])
        stack.prepare_backward(ctx.level_pairs)
        levels = zip(plan.outside_levels, ctx.level_pairs, ctx.level_cells, strict=True)
        for level, at, cells in reversed(list(levels)):
            out_NTD = stack.x_NTD[-1][at]
            d_out_NTD = torch.empty_like(out_NTD)
            combine_candidates_backward(
                out_NTD,
                weight_N[at],
                d_table[shifted(cells, words)],
                # A placeholder: the score does not come from a third token.
                parent.hidden_bias_D,
                d_score_N[at],
                d_out_NTD,
                level.pairs_of_cells,
            )
            outside_score_backward(
                out_NTD, d_score_N[at], parent, sibling, d_out_NTD, of_parent.part(at), of_sibling.part(at)
            )
            d_x_NTD = stack.backward(at, d_out_NTD)
            add_rows(d_x_NTD, level.parent_N, d_table, 0)
            add_rows(d_x_NTD, level.sibling_N, d_inside, 1)
            is_left_N = level.side_N.to(dtype)
            d_sides += torch.stack((1 - is_left_N, is_left_N)) @ d_x_NTD[:, 1]
        return (
            None,
            None,
            d_table[:words].to(dtype),
            d_inside.to(dtype),
            d_sides.to(dtype),
            *of_parent.weight_gradients(stack.x_NTD[-1][:, 0]),
            *of_sibling.weight_gradients(stack.x_NTD[-1][:, 1]),
            *stack.weight_gradients(),
        )


def layer_weights(layers: Any, dtype: torch.dtype) -> list[Tensor]:
    return as_tensors([weights_of(layer, dtype) for layer in layers])


def factor_weights(factor: ScoreHalf, dtype: torch.dtype) -> list[Tensor]:
    return [p.to(dtype) for linear in (factor.hidden, factor.output) for p in (linear.weight, linear.bias)]


def fused_inside_pass(
    model: CompositionModel, plan: ChartPlan, morph_overriding: bool = True, precision: torch.dtype | None = None
) -> InsideResult:
    """As `charts.passes.inside_pass`."""
    if not plan.inside_levels:
        return inside_pass(model, plan, morph_overriding, precision)
    embedded = embedded_rows(model, plan, morph_overriding, precision)
    dtype = embedded.dtype
    table, weights, scores = Inside.apply(
        plan,
        model.inside.layers[0].heads,
        norm(embedded[: plan.characters]),
        embedded[plan.characters :],
        model.inside.score.weight[0].to(dtype),
        model.inside.score.bias[0].to(dtype),
        *layer_weights(model.inside.layers, dtype),
    )
    return InsideResult(table, weights, scores)


def fused_outside_pass(model: CompositionModel, plan: ChartPlan, inside: InsideResult, roots_WD: Tensor) -> Tensor:
    """As `charts.passes.outside_pass`."""
    if not plan.outside_levels:
        return outside_pass(model, plan, inside, roots_WD)
    dtype = inside.vectors.dtype
    table: Tensor = Outside.apply(
        plan,
        model.outside.layers[0].heads,
        roots_WD.to(dtype).contiguous(),
        inside.vectors,
        model.outside.side.to(dtype),
        *factor_weights(model.outside.score_of_parent, dtype),
        *factor_weights(model.outside.score_of_sibling, dtype),
        *layer_weights(model.outside.layers, dtype),
    )
    return table

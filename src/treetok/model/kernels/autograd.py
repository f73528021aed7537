"""The inside and the outside pass over a complete chart with fused kernels: what `chart.py` does, faster.

Each pass is one function with its own backward pass: levels are walked in turn, up or down, and write into buffers
that hold all of them.

Shapes: R rows of the inside table, Q rows of the outside table, C cells of a level, K ways each, N = C K pairs,
D dimensions, W words.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from treetok.model.charts.passes import InsideResult, embedded_rows, inside_pass, outside_pass
from treetok.model.charts.plan import ChartPlan
from treetok.model.kernels.encoder import EncoderStack, as_tensors, from_tensors, weights_of
from treetok.model.kernels.gather import add_rows, take_rows
from treetok.model.kernels.outside_score import HalfGradients, HalfWeights, outside_score, outside_score_backward
from treetok.model.kernels.split_combination import combine_splits, combine_splits_backward
from treetok.model.network.composition import CompositionModel, ScoreHalf
from treetok.model.network.functional import norm


def parts_of(sizes: list[int]) -> list[tuple[int, int]]:
    """Where groups of the given sizes begin and end.

    >>> parts_of([2, 3])
    [(0, 2), (2, 5)]
    """
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return list(zip([0, *ends[:-1]], ends, strict=True))


class Inside(torch.autograd.Function):
    """Inputs: the vectors of characters, the morpheme embeddings of all longer rows, the weights of the score, the
    weights of the layers."""

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
        pair_parts = parts_of([level.left_CK.numel() for level in levels])
        cell_parts = parts_of([len(level.left_CK) for level in levels])
        pairs = pair_parts[-1][1]
        table = torch.empty(
            (len(characters) + len(morphemes), d), dtype=characters.dtype, device=characters.device
        )
        table[: len(characters)] = characters
        stack = EncoderStack(from_tensors(weights), heads, pairs, 3, characters)
        score_N, weight_N = torch.empty((2, pairs), dtype=torch.float32, device=characters.device)
        for level, (first, end), (first_span, end_cell) in zip(levels, pair_parts, cell_parts, strict=True):
            x_NTD = stack.x_NTD[0][first:end]
            take_rows(table, level.left_CK, x_NTD, 0)
            take_rows(table, level.right_CK, x_NTD, 1)
            cells, ways = level.left_CK.shape
            x_NTD[:, 2].view(cells, ways, d).copy_(morphemes[first_span:end_cell, None])
            out_NTD = stack.forward(first, end)
            score_N[first:end] = out_NTD[:, 2] @ score_weight_D + score_bias
            combine_splits(
                out_NTD,
                score_N[first:end].view(cells, ways),
                weight_N[first:end].view(cells, ways),
                table[len(characters) + first_span : len(characters) + end_cell],
            )
        ctx.plan, ctx.stack, ctx.parts = plan, stack, (pair_parts, cell_parts)
        ctx.save_for_backward(weight_N, score_weight_D)
        ctx.mark_non_differentiable(weight_N, score_N)
        return table, weight_N, score_N

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        plan: ChartPlan = ctx.plan
        stack: EncoderStack = ctx.stack
        weight_N, score_weight_D = ctx.saved_tensors
        pair_parts, cell_parts = ctx.parts
        dtype = gradients[0].dtype
        d_table = gradients[0].float()
        d = d_table.shape[1]
        characters = plan.characters
        d_morphemes = torch.empty_like(d_table[characters:])
        d_score_N = torch.empty_like(weight_N)
        stack.prepare_backward(pair_parts)
        rest = zip(plan.inside_levels, pair_parts, cell_parts, strict=True)
        for level, (first, end), (first_span, end_cell) in reversed(list(rest)):
            cells, ways = level.left_CK.shape
            out_NTD = stack.x_NTD[-1][first:end]
            d_out_NTD = torch.empty_like(out_NTD)
            combine_splits_backward(
                out_NTD,
                weight_N[first:end].view(cells, ways),
                d_table[characters + first_span : characters + end_cell],
                score_weight_D,
                d_score_N[first:end].view(cells, ways),
                d_out_NTD,
            )
            d_x_NTD = stack.backward(first, end, d_out_NTD)
            add_rows(d_x_NTD, level.left_CK, d_table, 0)
            add_rows(d_x_NTD, level.right_CK, d_table, 1)
            d_third = d_x_NTD[:, 2].view(cells, ways, d)
            torch.sum(d_third, 1, dtype=torch.float32, out=d_morphemes[first_span:end_cell])
        d_score_weight = d_score_N.to(dtype) @ stack.x_NTD[-1][:, 2]
        of_weights = stack.weight_gradients()
        # The score's bias is added to all ways alike and changes no weight.
        no_bias = torch.zeros((), dtype=dtype, device=d_table.device)
        return (
            None,
            None,
            d_table[:characters].to(dtype),
            d_morphemes.to(dtype),
            d_score_weight,
            no_bias,
            *of_weights,
        )


class Outside(torch.autograd.Function):
    """Inputs: the outside vectors of roots, the inside table, the two sides, the weights of the two halves of the
    score (4 each), the weights of the layers."""

    @staticmethod
    def forward(
        ctx: Any, plan: ChartPlan, heads: int, roots_WD: Tensor, inside: Tensor, sides: Tensor, *weights: Tensor
    ) -> Tensor:
        levels = plan.outside_levels
        words, d = roots_WD.shape
        pair_parts = parts_of([level.parent_CP.numel() for level in levels])
        cell_parts = parts_of([len(level.parent_CP) for level in levels])
        pairs = pair_parts[-1][1]
        halves = HalfWeights(*weights[:4]), HalfWeights(*weights[4:8])
        table = torch.empty((words + cell_parts[-1][1], d), dtype=inside.dtype, device=inside.device)
        table[:words] = roots_WD
        stack = EncoderStack(from_tensors(weights[8:]), heads, pairs, 2, inside)
        score_N, weight_N = torch.empty((2, pairs), dtype=torch.float32, device=inside.device)
        for level, (first, end), (first_span, end_cell) in zip(levels, pair_parts, cell_parts, strict=True):
            x_NTD = stack.x_NTD[0][first:end]
            take_rows(table, level.parent_CP, x_NTD, 0)
            take_rows(inside, level.sibling_CP, x_NTD, 1, sides, level.side_CP)
            out_NTD = stack.forward(first, end)
            outside_score(out_NTD, *halves, score_N[first:end])
            shape = level.parent_CP.shape
            combine_splits(
                out_NTD,
                score_N[first:end].view(shape),
                weight_N[first:end].view(shape),
                table[words + first_span : words + end_cell],
            )
        ctx.plan, ctx.stack, ctx.parts, ctx.halves = plan, stack, (pair_parts, cell_parts), halves
        ctx.rows_of_inside = len(inside)
        ctx.save_for_backward(weight_N)
        return table

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        plan: ChartPlan = ctx.plan
        stack: EncoderStack = ctx.stack
        (weight_N,) = ctx.saved_tensors
        pair_parts, cell_parts = ctx.parts
        parent, sibling = ctx.halves
        dtype = gradients[0].dtype
        d_table = gradients[0].float()
        d = d_table.shape[1]
        words = plan.words
        d_inside = d_table.new_zeros((ctx.rows_of_inside, d))
        d_sides = d_table.new_zeros((2, d))
        d_score_N = torch.empty_like(weight_N)
        pairs, scores = len(weight_N), len(parent.output_SD)
        of_parent = HalfGradients.room_for(pairs, d, scores, stack.x_NTD[0])
        of_sibling = HalfGradients.room_for(pairs, d, scores, stack.x_NTD[0])
        stack.prepare_backward(pair_parts)
        rest = zip(plan.outside_levels, pair_parts, cell_parts, strict=True)
        for level, (first, end), (first_span, end_cell) in reversed(list(rest)):
            shape = level.parent_CP.shape
            out_NTD = stack.x_NTD[-1][first:end]
            d_out_NTD = torch.empty_like(out_NTD)
            combine_splits_backward(
                out_NTD,
                weight_N[first:end].view(shape),
                d_table[words + first_span : words + end_cell],
                parent.hidden_bias_D,
                d_score_N[first:end].view(shape),
                d_out_NTD,
            )
            outside_score_backward(
                out_NTD,
                d_score_N[first:end],
                parent,
                sibling,
                d_out_NTD,
                of_parent.part(first, end),
                of_sibling.part(first, end),
            )
            d_x_NTD = stack.backward(first, end, d_out_NTD)
            add_rows(d_x_NTD, level.parent_CP, d_table, 0)
            add_rows(d_x_NTD, level.sibling_CP, d_inside, 1)
            is_left_N = level.side_CP.reshape(-1).to(dtype)
            d_sides += torch.stack((1 - is_left_N, is_left_N)) @ d_x_NTD[:, 1]
        of_halves = []
        for half, token in ((of_parent, 0), (of_sibling, 1)):
            of_halves += [
                half.d_hidden_ND.t() @ stack.x_NTD[-1][:, token],
                half.d_hidden_ND.sum(0, dtype=torch.float32).to(dtype),
                half.d_output_NS.t() @ half.activated_ND,
                half.d_output_NS.sum(0, dtype=torch.float32).to(dtype),
            ]
        return (
            None,
            None,
            d_table[:words].to(dtype),
            d_inside.to(dtype),
            d_sides.to(dtype),
            *of_halves,
            *stack.weight_gradients(),
        )


def layer_weights(layers: Any, dtype: torch.dtype) -> list[Tensor]:
    return as_tensors([weights_of(layer, dtype) for layer in layers])


def half_weights(half: ScoreHalf, dtype: torch.dtype) -> list[Tensor]:
    return [p.to(dtype) for linear in (half.hidden, half.output) for p in (linear.weight, linear.bias)]


def fused_inside_pass(
    model: CompositionModel, plan: ChartPlan, morph_overriding: bool = True, precision: torch.dtype | None = None
) -> InsideResult:
    """As `chart.inside_pass`."""
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
    """As `chart.outside_pass`."""
    is_ragged = any(level.exists_CP is not None for level in plan.outside_levels)
    if is_ragged or not plan.outside_levels:
        return outside_pass(model, plan, inside, roots_WD)
    dtype = inside.vectors.dtype
    table: Tensor = Outside.apply(
        plan,
        model.outside.layers[0].heads,
        roots_WD.to(dtype).contiguous(),
        inside.vectors,
        model.outside.side.to(dtype),
        *half_weights(model.outside.score_of_parent, dtype),
        *half_weights(model.outside.score_of_sibling, dtype),
        *layer_weights(model.outside.layers, dtype),
    )
    return table

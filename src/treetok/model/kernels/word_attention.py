"""Attention among the letters of a word, forward and backward: one program per word and head.

General attention kernels are made for long sequences; of words they would compute padding most of the time.

Shapes: W words, M letters of all words, one word after the other, A heads of E dimensions each, D = A E, F = 3 D.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from treetok.model.network.parser import LetterRows

# The smallest tile of a matrix product.
FEWEST_ROWS = 16


@triton.jit
def _tile(base, first, head, what: tl.constexpr, length, D: tl.constexpr, E: tl.constexpr, BL: tl.constexpr):
    """Queries (what = 0), keys (1) or values (2) of a word: a tile, its offsets, and which entries exist."""
    row = tl.arange(0, BL)
    at = (first + row)[:, None] * (3 * D) + what * D + head * E + tl.arange(0, E)[None, :]
    mask = (row < length)[:, None]
    return tl.load(base + at, mask=mask, other=0.0), at, mask


@triton.jit
def _weights(q, k, length, scale, BL: tl.constexpr):
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    scores = tl.where((tl.arange(0, BL) < length)[None, :], scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def _attend(qkv, firsts, lengths, mixed, scale, A: tl.constexpr, E: tl.constexpr, BL: tl.constexpr):
    word, head = tl.program_id(0) // A, tl.program_id(0) % A
    first, length = tl.load(firsts + word), tl.load(lengths + word)
    D: tl.constexpr = A * E
    q, _, mask = _tile(qkv, first, head, 0, length, D, E, BL)
    k, _, _ = _tile(qkv, first, head, 1, length, D, E, BL)
    v, _, _ = _tile(qkv, first, head, 2, length, D, E, BL)
    weights = _weights(q, k, length, scale, BL).to(v.dtype)
    out = tl.dot(weights, v, input_precision="ieee")
    at = (first + tl.arange(0, BL))[:, None] * D + head * E + tl.arange(0, E)[None, :]
    tl.store(mixed + at, out.to(mixed.dtype.element_ty), mask=mask)


@triton.jit
def _attend_backward(
    qkv, firsts, lengths, d_mixed, d_qkv, scale, A: tl.constexpr, E: tl.constexpr, BL: tl.constexpr
):
    word, head = tl.program_id(0) // A, tl.program_id(0) % A
    first, length = tl.load(firsts + word), tl.load(lengths + word)
    D: tl.constexpr = A * E
    dtype = qkv.dtype.element_ty
    q, at_q, mask = _tile(qkv, first, head, 0, length, D, E, BL)
    k, at_k, _ = _tile(qkv, first, head, 1, length, D, E, BL)
    v, at_v, _ = _tile(qkv, first, head, 2, length, D, E, BL)
    weights = _weights(q, k, length, scale, BL)
    at = (first + tl.arange(0, BL))[:, None] * D + head * E + tl.arange(0, E)[None, :]
    d_out = tl.load(d_mixed + at, mask=mask, other=0.0).to(dtype)
    d_v = tl.dot(tl.trans(weights.to(dtype)), d_out, input_precision="ieee")
    d_weights = tl.dot(d_out, tl.trans(v), input_precision="ieee")
    d_scores = weights * (d_weights - tl.sum(weights * d_weights, 1)[:, None]) * scale
    d_scores = d_scores.to(dtype)
    d_q = tl.dot(d_scores, k, input_precision="ieee")
    d_k = tl.dot(tl.trans(d_scores), q, input_precision="ieee")
    tl.store(d_qkv + at_q, d_q.to(dtype), mask=mask)
    tl.store(d_qkv + at_k, d_k.to(dtype), mask=mask)
    tl.store(d_qkv + at_v, d_v.to(dtype), mask=mask)


class WordAttention(torch.autograd.Function):
    """Inputs: the projections of all letters, [M, F], the first letter of every word and its length, and the
    length of the longest. Output: the mixed values, [M, D]."""

    @staticmethod
    def forward(ctx: Any, qkv_MF: Tensor, first_W: Tensor, lengths_W: Tensor, longest: int, heads: int) -> Tensor:
        letters, f = qkv_MF.shape
        mixed_MD = qkv_MF.new_empty((letters, f // 3))
        ctx.save_for_backward(qkv_MF, first_W, lengths_W)
        ctx.longest, ctx.heads = longest, heads
        _attend[(len(lengths_W) * heads,)](
            qkv_MF, first_W, lengths_W, mixed_MD, scale(f, heads), **tiles(f, heads, longest)
        )
        return mixed_MD

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        qkv_MF, first_W, lengths_W = ctx.saved_tensors
        d_qkv_MF = torch.empty_like(qkv_MF)
        f = qkv_MF.shape[1]
        _attend_backward[(len(lengths_W) * ctx.heads,)](
            qkv_MF,
            first_W,
            lengths_W,
            gradients[0].contiguous(),
            d_qkv_MF,
            scale(f, ctx.heads),
            **tiles(f, ctx.heads, ctx.longest),
        )
        return d_qkv_MF, None, None, None, None


def scale(f: int, heads: int) -> float:
    """Of the products of queries and keys."""
    return float((f // 3 // heads) ** -0.5)


def tiles(f: int, heads: int, longest: int) -> dict[str, int]:
    rows = max(triton.next_power_of_2(longest), FEWEST_ROWS)
    return {"A": heads, "E": f // 3 // heads, "BL": rows, "num_warps": 1}


def word_attention(qkv_MF: Tensor, rows: LetterRows, heads: int) -> Tensor:
    mixed_MD: Tensor = WordAttention.apply(qkv_MF.contiguous(), rows.first_W, rows.lengths_W, rows.longest, heads)
    return mixed_MD

"""Attention among the letters of a word, forward and backward: one program per word and head.

General attention kernels are made for long sequences; of words they would compute padding most of the time.

Shapes: W words of up to L letters, A heads of E dimensions each, D = A E, F = 3 D.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

# The smallest tile of a matrix product.
FEWEST_ROWS = 16


@triton.jit
def _tile(base, word, head, what: tl.constexpr, length, L, D: tl.constexpr, E: tl.constexpr, BL: tl.constexpr):
    """Queries (what = 0), keys (1) or values (2) of a word: a tile, its offsets, and which entries exist."""
    row = tl.arange(0, BL)
    at = (word * L + row)[:, None] * (3 * D) + what * D + head * E + tl.arange(0, E)[None, :]
    mask = (row < length)[:, None]
    return tl.load(base + at, mask=mask, other=0.0), at, mask


@triton.jit
def _weights(q, k, length, scale, BL: tl.constexpr):
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    scores = tl.where((tl.arange(0, BL) < length)[None, :], scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit(do_not_specialize=["L"])
def _attend(qkv, lengths, mixed, L, scale, A: tl.constexpr, E: tl.constexpr, BL: tl.constexpr):
    word = (tl.program_id(0) // A).to(tl.int64)
    head = tl.program_id(0) % A
    length = tl.load(lengths + word)
    D: tl.constexpr = A * E
    q, _, mask = _tile(qkv, word, head, 0, length, L, D, E, BL)
    k, _, _ = _tile(qkv, word, head, 1, length, L, D, E, BL)
    v, _, _ = _tile(qkv, word, head, 2, length, L, D, E, BL)
    weights = _weights(q, k, length, scale, BL).to(v.dtype)
    out = tl.dot(weights, v, input_precision="ieee")
    row = tl.arange(0, BL)
    at = (word * L + row)[:, None] * D + head * E + tl.arange(0, E)[None, :]
    # Padding gets zeros: nothing uses them, but they must be numbers.
    tl.store(mixed + at, tl.where(mask, out, 0.0).to(mixed.dtype.element_ty), mask=(row < L)[:, None])


@triton.jit(do_not_specialize=["L"])
def _attend_backward(qkv, lengths, d_mixed, d_qkv, L, scale, A: tl.constexpr, E: tl.constexpr, BL: tl.constexpr):
    word = (tl.program_id(0) // A).to(tl.int64)
    head = tl.program_id(0) % A
    length = tl.load(lengths + word)
    D: tl.constexpr = A * E
    dtype = qkv.dtype.element_ty
    q, at_q, mask = _tile(qkv, word, head, 0, length, L, D, E, BL)
    k, at_k, _ = _tile(qkv, word, head, 1, length, L, D, E, BL)
    v, at_v, _ = _tile(qkv, word, head, 2, length, L, D, E, BL)
    weights = _weights(q, k, length, scale, BL)
    row = tl.arange(0, BL)
    at = (word * L + row)[:, None] * D + head * E + tl.arange(0, E)[None, :]
    d_out = tl.load(d_mixed + at, mask=mask, other=0.0).to(dtype)
    d_v = tl.dot(tl.trans(weights.to(dtype)), d_out, input_precision="ieee")
    d_weights = tl.dot(d_out, tl.trans(v), input_precision="ieee")
    d_scores = weights * (d_weights - tl.sum(weights * d_weights, 1)[:, None]) * scale
    d_scores = d_scores.to(dtype)
    d_q = tl.dot(d_scores, k, input_precision="ieee")
    d_k = tl.dot(tl.trans(d_scores), q, input_precision="ieee")
    exists = (row < L)[:, None]
    tl.store(d_qkv + at_q, tl.where(mask, d_q, 0.0).to(dtype), mask=exists)
    tl.store(d_qkv + at_k, tl.where(mask, d_k, 0.0).to(dtype), mask=exists)
    tl.store(d_qkv + at_v, tl.where(mask, d_v, 0.0).to(dtype), mask=exists)


class WordAttention(torch.autograd.Function):
    """Inputs: the projections of all letters, [W, L, F], and the lengths of words. Output: the mixed values, 0 for
    padding, [W, L, D]."""

    @staticmethod
    def forward(ctx: Any, qkv_WLF: Tensor, lengths_W: Tensor, heads: int) -> Tensor:
        w, length, f = qkv_WLF.shape
        mixed_WLD = qkv_WLF.new_empty((w, length, f // 3))
        ctx.save_for_backward(qkv_WLF, lengths_W)
        ctx.heads = heads
        _attend[(w * heads,)](qkv_WLF, lengths_W, mixed_WLD, *sizes(qkv_WLF, heads), **tiles(qkv_WLF, heads))
        return mixed_WLD

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        qkv_WLF, lengths_W = ctx.saved_tensors
        d_qkv_WLF = torch.empty_like(qkv_WLF)
        _attend_backward[(len(qkv_WLF) * ctx.heads,)](
            qkv_WLF,
            lengths_W,
            gradients[0].contiguous(),
            d_qkv_WLF,
            *sizes(qkv_WLF, ctx.heads),
            **tiles(qkv_WLF, ctx.heads),
        )
        return d_qkv_WLF, None, None


def sizes(qkv_WLF: Tensor, heads: int) -> tuple[int, float]:
    _, length, f = qkv_WLF.shape
    return length, (f // 3 // heads) ** -0.5


def tiles(qkv_WLF: Tensor, heads: int) -> dict[str, int]:
    _, length, f = qkv_WLF.shape
    rows = max(triton.next_power_of_2(length), FEWEST_ROWS)
    return {"A": heads, "E": f // 3 // heads, "BL": rows, "num_warps": 1}


def word_attention(qkv_WLF: Tensor, lengths_W: Tensor, heads: int) -> Tensor:
    mixed_WLD: Tensor = WordAttention.apply(qkv_WLF.contiguous(), lengths_W, heads)
    return mixed_WLD

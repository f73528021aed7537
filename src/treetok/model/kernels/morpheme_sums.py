"""The sum of the embeddings of all morphemes that start at, end at or span each letter, forward and backward.

Most places have no morpheme. A general embedding sum sorts them all for its gradient; here they are skipped.

Shapes: W words of L letters, K lengths of morphemes (2, 3, ...), D dimensions.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LETTERS_PER_BLOCK = 16


@triton.jit
def _morpheme(rows, letter, place, k: tl.constexpr, by: tl.constexpr, N, K: tl.constexpr):
    """The morpheme of k + 2 letters that starts `by` letters before each letter, 0 if there is none."""
    return tl.load(rows + (letter - by) * K + k, mask=(place >= by) & (letter < N), other=0)


@triton.jit
def _add(total, table, row, col, D: tl.constexpr):
    at = row.to(tl.int64)[:, None] * D + col[None, :]
    return total + tl.load(table + at, mask=(row > 0)[:, None], other=0.0).to(tl.float32)


@triton.jit(do_not_specialize=["N", "L"])
def _sum(rows, begin, end, inside, total, N, L, K: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    letter = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN)
    place = letter % L
    col = tl.arange(0, D)
    own = tl.zeros((BN, D), dtype=tl.float32)
    for k in tl.static_range(K):
        own = _add(own, begin, _morpheme(rows, letter, place, k, 0, N, K), col, D)
        own = _add(own, end, _morpheme(rows, letter, place, k, k + 1, N, K), col, D)
        for by in tl.static_range(1, k + 1):
            own = _add(own, inside, _morpheme(rows, letter, place, k, by, N, K), col, D)
    at = letter[:, None] * D + col[None, :]
    tl.store(total + at, own.to(total.dtype.element_ty), mask=(letter < N)[:, None])


@triton.jit
def _spread(d_table, gradient, row, col, D: tl.constexpr):
    at = row.to(tl.int64)[:, None] * D + col[None, :]
    tl.atomic_add(d_table + at, gradient, mask=(row > 0)[:, None], sem="relaxed")


@triton.jit(do_not_specialize=["N", "L"])
def _sum_backward(
    rows, d_total, d_begin, d_end, d_inside, N, L, K: tl.constexpr, D: tl.constexpr, BN: tl.constexpr
):
    letter = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN)
    place = letter % L
    col = tl.arange(0, D)
    at = letter[:, None] * D + col[None, :]
    gradient = tl.load(d_total + at, mask=(letter < N)[:, None], other=0.0).to(tl.float32)
    for k in tl.static_range(K):
        _spread(d_begin, gradient, _morpheme(rows, letter, place, k, 0, N, K), col, D)
        _spread(d_end, gradient, _morpheme(rows, letter, place, k, k + 1, N, K), col, D)
        for by in tl.static_range(1, k + 1):
            _spread(d_inside, gradient, _morpheme(rows, letter, place, k, by, N, K), col, D)


class MorphemeSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, begin_WLK: Tensor, begin: Tensor, end: Tensor, inside: Tensor) -> Tensor:
        w, length, lengths = begin_WLK.shape
        total_WLD = begin.new_empty((w, length, begin.shape[1]))
        ctx.save_for_backward(begin_WLK)
        ctx.shape = begin.shape
        _sum[(triton.cdiv(w * length, LETTERS_PER_BLOCK),)](
            begin_WLK,
            begin,
            end,
            inside,
            total_WLD,
            w * length,
            length,
            K=lengths,
            D=begin.shape[1],
            BN=LETTERS_PER_BLOCK,
            num_warps=4,
        )
        return total_WLD

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        (begin_WLK,) = ctx.saved_tensors
        w, length, lengths = begin_WLK.shape
        d_begin, d_end, d_inside = (
            torch.zeros(ctx.shape, dtype=torch.float32, device=begin_WLK.device) for _ in range(3)
        )
        _sum_backward[(triton.cdiv(w * length, LETTERS_PER_BLOCK),)](
            begin_WLK,
            gradients[0].contiguous(),
            d_begin,
            d_end,
            d_inside,
            w * length,
            length,
            K=lengths,
            D=ctx.shape[1],
            BN=LETTERS_PER_BLOCK,
            num_warps=4,
        )
        return None, d_begin, d_end, d_inside


def morpheme_sums(begin_WLK: Tensor, begin: Tensor, end: Tensor, inside: Tensor) -> Tensor:
    """The sums for every letter, [W, L, D], given the morphemes that start at each; row 0 is no morpheme."""
    total_WLD: Tensor = MorphemeSums.apply(begin_WLK.contiguous(), begin, end, inside)
    return total_WLD

"""The vector of a cell from its candidates: softmax of their scores, weighted sum of their vectors (eq. 1).

The vector of a candidate is norm(first token + second token) of its encoder's output. In the inside pass,
candidates are splits and the score is linear in the third token; in the outside pass they are parents, scored by
phi_beta.

Shapes: C cells, K candidates of each, T tokens, D dimensions.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from treetok.model.kernels.elementwise import norm_gradient, normed

CELLS_PER_BLOCK = 4


@triton.jit
def _vector(out, cell, k, alive, K, T: tl.constexpr, D: tl.constexpr):
    """The vectors of the k-th candidates of some cells, and the factors they were normalised by."""
    col = tl.arange(0, D)
    at = (cell.to(tl.int64) * K + k)[:, None] * (T * D) + col[None, :]
    first = tl.load(out + at, mask=alive[:, None], other=0.0).to(tl.float32)
    second = tl.load(out + at + D, mask=alive[:, None], other=0.0).to(tl.float32)
    return normed(first + second, D)


@triton.jit(do_not_specialize=["C", "K"])
def _combine_candidates(out, score, weight, vector, C, K, T: tl.constexpr, D: tl.constexpr, BC: tl.constexpr):
    cell = tl.program_id(0) * BC + tl.arange(0, BC)
    alive = cell < C
    first = cell.to(tl.int64) * K
    highest = tl.full((BC,), float("-inf"), dtype=tl.float32)
    for k in range(K):
        highest = tl.maximum(highest, tl.load(score + first + k, mask=alive, other=0.0))
    total = tl.zeros((BC,), dtype=tl.float32)
    for k in range(K):
        total += tl.exp(tl.load(score + first + k, mask=alive, other=0.0) - highest)
    mean = tl.zeros((BC, D), dtype=tl.float32)
    for k in range(K):
        weight_C = tl.exp(tl.load(score + first + k, mask=alive, other=0.0) - highest) / total
        tl.store(weight + first + k, weight_C, mask=alive)
        vector_CD, _ = _vector(out, cell, k, alive, K, T, D)
        mean += weight_C[:, None] * vector_CD
    at = cell.to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(vector + at, mean.to(vector.dtype.element_ty), mask=alive[:, None])


@triton.jit(do_not_specialize=["C", "K"])
def _combine_candidates_backward(
    out, weight, d_vector, score_weights, d_score, d_out, C, K, T: tl.constexpr, D: tl.constexpr, BC: tl.constexpr
):
    cell = tl.program_id(0) * BC + tl.arange(0, BC)
    alive = cell < C
    first = cell.to(tl.int64) * K
    col = tl.arange(0, D)
    at = cell.to(tl.int64)[:, None] * D + col[None, :]
    gradient_CD = tl.load(d_vector + at, mask=alive[:, None], other=0.0).to(tl.float32)
    mean = tl.zeros((BC,), dtype=tl.float32)
    for k in range(K):
        vector_CD, _ = _vector(out, cell, k, alive, K, T, D)
        mean += tl.load(weight + first + k, mask=alive, other=0.0) * tl.sum(vector_CD * gradient_CD, 1)
    dtype = d_out.dtype.element_ty
    for k in range(K):
        vector_CD, rstd = _vector(out, cell, k, alive, K, T, D)
        weight_C = tl.load(weight + first + k, mask=alive, other=0.0)
        d_score_C = weight_C * (tl.sum(vector_CD * gradient_CD, 1) - mean)
        tl.store(d_score + first + k, d_score_C, mask=alive)
        d_sum = norm_gradient(weight_C[:, None] * gradient_CD, vector_CD, rstd, D).to(dtype)
        at_out = (first + k)[:, None] * (T * D) + col[None, :]
        tl.store(d_out + at_out, d_sum, mask=alive[:, None])
        tl.store(d_out + at_out + D, d_sum, mask=alive[:, None])
        if T == 3:
            d_third = d_score_C[:, None] * tl.load(score_weights + col).to(tl.float32)[None, :]
            tl.store(d_out + at_out + 2 * D, d_third.to(dtype), mask=alive[:, None])


def combine_candidates(out_NTD: Tensor, score_CK: Tensor, weight_CK: Tensor, vector_CD: Tensor) -> None:
    """Writes the weights of the candidates and the vectors of the cells."""
    cells, candidates = score_CK.shape
    _, tokens, d = out_NTD.shape
    _combine_candidates[(triton.cdiv(cells, CELLS_PER_BLOCK),)](
        out_NTD, score_CK, weight_CK, vector_CD, cells, candidates, T=tokens, D=d, BC=CELLS_PER_BLOCK, num_warps=2
    )


def combine_candidates_backward(
    out_NTD: Tensor,
    weight_CK: Tensor,
    d_vector_CD: Tensor,
    score_weights_D: Tensor,
    d_score_CK: Tensor,
    d_out_NTD: Tensor,
) -> None:
    """Writes the gradients of the scores and of the encoder's output. With three tokens, the third gets its
    gradient from the score, through the weights given."""
    cells, candidates = weight_CK.shape
    _, tokens, d = out_NTD.shape
    _combine_candidates_backward[(triton.cdiv(cells, CELLS_PER_BLOCK),)](
        out_NTD,
        weight_CK,
        d_vector_CD,
        score_weights_D,
        d_score_CK,
        d_out_NTD,
        cells,
        candidates,
        T=tokens,
        D=d,
        BC=CELLS_PER_BLOCK,
        num_warps=2,
    )

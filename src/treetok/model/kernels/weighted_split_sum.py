"""The vector of a cell from its candidates: softmax of their scores, weighted sum of their vectors (eq. 1).

The vector of a candidate is norm(first token + second token) of its encoder's output. In the inside pass,
candidates are splits and the score is linear in the third token; in the outside pass they are parents, scored by
phi_beta.

Shapes: C cells, K candidates of each, N candidates of all cells, T tokens, D dimensions.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from treetok.model.charts.plan import PairsOfCells
from treetok.model.kernels.elementwise import norm_gradient, normed

CELLS_PER_BLOCK = 4


@triton.jit
def _candidates(first_C, count_C, cell, alive, K, EQUAL: tl.constexpr):
    """The first candidate of some cells, the number of them, and the highest number."""
    if EQUAL:
        first = cell.to(tl.int64) * K
        count = tl.where(alive, K, 0).to(tl.int64)
    else:
        first = tl.load(first_C + cell, mask=alive, other=0)
        count = tl.load(count_C + cell, mask=alive, other=0)
    return first, count, tl.max(count, 0).to(tl.int32)


@triton.jit
def _vector(out, candidate, exists, T: tl.constexpr, D: tl.constexpr):
    """The vectors of some candidates, and the factors they were normalised by."""
    col = tl.arange(0, D)
    at = candidate[:, None] * (T * D) + col[None, :]
    first = tl.load(out + at, mask=exists[:, None], other=0.0).to(tl.float32)
    second = tl.load(out + at + D, mask=exists[:, None], other=0.0).to(tl.float32)
    return normed(first + second, D)


@triton.jit(do_not_specialize=["C", "K"])
def _combine_candidates(
    out,
    score,
    weight,
    vector,
    first_C,
    count_C,
    C,
    K,
    EQUAL: tl.constexpr,
    T: tl.constexpr,
    D: tl.constexpr,
    BC: tl.constexpr,
):
    cell = tl.program_id(0) * BC + tl.arange(0, BC)
    alive = cell < C
    first, count, most = _candidates(first_C, count_C, cell, alive, K, EQUAL)
    # Every cell has at least one candidate.
    highest = tl.load(score + first, mask=alive, other=0.0)
    for k in range(1, most):
        highest = tl.maximum(highest, tl.load(score + first + k, mask=k < count, other=-float("inf")))
    total = tl.where(alive, 0.0, 1.0)
    for k in range(most):
        total += tl.exp(tl.load(score + first + k, mask=k < count, other=-float("inf")) - highest)
    mean = tl.zeros((BC, D), dtype=tl.float32)
    for k in range(most):
        exists = k < count
        weight_C = tl.exp(tl.load(score + first + k, mask=exists, other=-float("inf")) - highest) / total
        tl.store(weight + first + k, weight_C, mask=exists)
        vector_CD, _ = _vector(out, first + k, exists, T, D)
        mean += weight_C[:, None] * vector_CD
    at = cell.to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(vector + at, mean.to(vector.dtype.element_ty), mask=alive[:, None])


@triton.jit(do_not_specialize=["C", "K"])
def _combine_candidates_backward(
    out,
    weight,
    d_vector,
    score_weights,
    d_score,
    d_out,
    first_C,
    count_C,
    C,
    K,
    EQUAL: tl.constexpr,
    T: tl.constexpr,
    D: tl.constexpr,
    BC: tl.constexpr,
):
    cell = tl.program_id(0) * BC + tl.arange(0, BC)
    alive = cell < C
    first, count, most = _candidates(first_C, count_C, cell, alive, K, EQUAL)
    col = tl.arange(0, D)
    at = cell.to(tl.int64)[:, None] * D + col[None, :]
    gradient_CD = tl.load(d_vector + at, mask=alive[:, None], other=0.0).to(tl.float32)
    mean = tl.zeros((BC,), dtype=tl.float32)
    for k in range(most):
        exists = k < count
        vector_CD, _ = _vector(out, first + k, exists, T, D)
        mean += tl.load(weight + first + k, mask=exists, other=0.0) * tl.sum(vector_CD * gradient_CD, 1)
    dtype = d_out.dtype.element_ty
    for k in range(most):
        exists = k < count
        vector_CD, rstd = _vector(out, first + k, exists, T, D)
        weight_C = tl.load(weight + first + k, mask=exists, other=0.0)
        d_score_C = weight_C * (tl.sum(vector_CD * gradient_CD, 1) - mean)
        tl.store(d_score + first + k, d_score_C, mask=exists)
        d_sum = norm_gradient(weight_C[:, None] * gradient_CD, vector_CD, rstd, D).to(dtype)
        at_out = (first + k)[:, None] * (T * D) + col[None, :]
        tl.store(d_out + at_out, d_sum, mask=exists[:, None])
        tl.store(d_out + at_out + D, d_sum, mask=exists[:, None])
        if T == 3:
            d_third = d_score_C[:, None] * tl.load(score_weights + col).to(tl.float32)[None, :]
            tl.store(d_out + at_out + 2 * D, d_third.to(dtype), mask=exists[:, None])


def combine_candidates(
    out_NTD: Tensor,
    score_N: Tensor,
    weight_N: Tensor,
    vector_CD: Tensor,
    pairs_of_cells: PairsOfCells | None = None,
) -> None:
    """Writes the weights of the candidates and the vectors of the cells. Without `pairs_of_cells`, all cells have
    the same number of candidates."""
    cells = len(vector_CD)
    _, tokens, d = out_NTD.shape
    _combine_candidates[(triton.cdiv(cells, CELLS_PER_BLOCK),)](
        out_NTD,
        score_N,
        weight_N,
        vector_CD,
        *places_of(pairs_of_cells, score_N),
        cells,
        score_N.numel() // cells,
        EQUAL=pairs_of_cells is None,
        T=tokens,
        D=d,
        BC=CELLS_PER_BLOCK,
        num_warps=2,
    )


def combine_candidates_backward(
    out_NTD: Tensor,
    weight_N: Tensor,
    d_vector_CD: Tensor,
    score_weights_D: Tensor,
    d_score_N: Tensor,
    d_out_NTD: Tensor,
    pairs_of_cells: PairsOfCells | None = None,
) -> None:
    """Writes the gradients of the scores and of the encoder's output. With three tokens, the third gets its
    gradient from the score, through the weights given."""
    cells = len(d_vector_CD)
    _, tokens, d = out_NTD.shape
    _combine_candidates_backward[(triton.cdiv(cells, CELLS_PER_BLOCK),)](
        out_NTD,
        weight_N,
        d_vector_CD,
        score_weights_D,
        d_score_N,
        d_out_NTD,
        *places_of(pairs_of_cells, weight_N),
        cells,
        weight_N.numel() // cells,
        EQUAL=pairs_of_cells is None,
        T=tokens,
        D=d,
        BC=CELLS_PER_BLOCK,
        num_warps=2,
    )


def places_of(pairs_of_cells: PairsOfCells | None, placeholder: Tensor) -> tuple[Tensor, Tensor]:
    if pairs_of_cells is None:
        return placeholder, placeholder
    return pairs_of_cells.first_C, pairs_of_cells.pairs_C

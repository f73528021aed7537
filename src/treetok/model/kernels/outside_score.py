"""phi_beta, the compatibility of a parent and a sibling: the dot product of two small networks, its factors.

Shapes: N pairs, D dimensions, S outputs of a factor (64 in `composition.ScoreHalf`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from treetok.model.kernels.elementwise import gelu, gelu_and_slope

PAIRS_FORWARD, PAIRS_BACKWARD = 64, 32


@dataclass(frozen=True)
class FactorWeights:
    """The weights of one factor, a `ScoreHalf`."""

    hidden_DD: Tensor
    hidden_bias_D: Tensor
    output_SD: Tensor
    output_bias_S: Tensor


@triton.jit
def _hidden(out, at, mask, w1, b1, D: tl.constexpr):
    col = tl.arange(0, D)
    w1_DD = tl.load(w1 + col[None, :] * D + col[:, None])
    x = tl.load(out + at, mask=mask, other=0.0)
    return tl.dot(x, w1_DD, input_precision="ieee") + tl.load(b1 + col).to(tl.float32)[None, :]


@triton.jit
def _factor(activated, w2, b2, D: tl.constexpr, S: tl.constexpr):
    col = tl.arange(0, D)
    s = tl.arange(0, S)
    w2_DS = tl.load(w2 + s[None, :] * D + col[:, None])
    return tl.dot(activated, w2_DS, input_precision="ieee") + tl.load(b2 + s).to(tl.float32)[None, :]


@triton.jit(do_not_specialize=["N"])
def _outside_score(
    out, aw1, ab1, aw2, ab2, bw1, bb1, bw2, bb2, score, N, D: tl.constexpr, S: tl.constexpr, BN: tl.constexpr
):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    alive = n < N
    at = n.to(tl.int64)[:, None] * (2 * D) + tl.arange(0, D)[None, :]
    dtype = out.dtype.element_ty
    a = _factor(gelu(_hidden(out, at, alive[:, None], aw1, ab1, D)).to(dtype), aw2, ab2, D, S)
    b = _factor(gelu(_hidden(out, at + D, alive[:, None], bw1, bb1, D)).to(dtype), bw2, bb2, D, S)
    tl.store(score + n, tl.sum(a * b, 1) * 0.125, mask=alive)


@triton.jit
def _factor_backward(
    d_factor,
    hidden,
    w1,
    w2,
    d_out,
    at,
    activated,
    d_hidden,
    d_output,
    row,
    alive,
    D: tl.constexpr,
    S: tl.constexpr,
):
    """Adds to the gradient of one token of the encoder's output and stores what the weight gradients need."""
    dtype = d_out.dtype.element_ty
    col = tl.arange(0, D)
    s = tl.arange(0, S)
    mask = alive[:, None]
    rounded = d_factor.to(dtype)
    at_rows = row.to(tl.int64)[:, None] * D + col[None, :]
    tl.store(d_output + row.to(tl.int64)[:, None] * S + s[None, :], rounded, mask=mask)
    activated_ND, slope = gelu_and_slope(hidden)
    tl.store(activated + at_rows, activated_ND.to(dtype), mask=mask)
    w2_SD = tl.load(w2 + s[:, None] * D + col[None, :])
    d_hidden_ND = (tl.dot(rounded, w2_SD, input_precision="ieee") * slope).to(dtype)
    tl.store(d_hidden + at_rows, d_hidden_ND, mask=mask)
    w1_DD = tl.load(w1 + col[:, None] * D + col[None, :])
    d_x = tl.dot(d_hidden_ND, w1_DD, input_precision="ieee")
    d_x += tl.load(d_out + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(d_out + at, d_x.to(dtype), mask=mask)


@triton.jit(do_not_specialize=["N"])
def _outside_score_backward(
    out, d_score, aw1, ab1, aw2, ab2, bw1, bb1, bw2, bb2, d_out,
    a_activated, a_d_hidden, a_d_output, b_activated, b_d_hidden, b_d_output,
    N, D: tl.constexpr, S: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    alive = n < N
    at = n.to(tl.int64)[:, None] * (2 * D) + tl.arange(0, D)[None, :]
    dtype = out.dtype.element_ty
    a_hidden = _hidden(out, at, alive[:, None], aw1, ab1, D)
    b_hidden = _hidden(out, at + D, alive[:, None], bw1, bb1, D)
    a = _factor(gelu(a_hidden).to(dtype), aw2, ab2, D, S)
    b = _factor(gelu(b_hidden).to(dtype), bw2, bb2, D, S)
    scaled = (tl.load(d_score + n, mask=alive, other=0.0) * 0.125)[:, None]
    _factor_backward(
        scaled * b, a_hidden, aw1, aw2, d_out, at, a_activated, a_d_hidden, a_d_output, n, alive, D, S
    )
    _factor_backward(
        scaled * a, b_hidden, bw1, bw2, d_out, at + D, b_activated, b_d_hidden, b_d_output, n, alive, D, S
    )


def outside_score(out_NTD: Tensor, parent: FactorWeights, sibling: FactorWeights, score_N: Tensor) -> None:
    pairs, _, d = out_NTD.shape
    _outside_score[(triton.cdiv(pairs, PAIRS_FORWARD),)](
        out_NTD,
        *vars(parent).values(),
        *vars(sibling).values(),
        score_N,
        pairs,
        D=d,
        S=len(parent.output_SD),
        BN=PAIRS_FORWARD,
        num_warps=4,
    )


@dataclass(frozen=True)
class FactorBuffers:
    """The operands of the weight gradients of one factor."""

    activated_ND: Tensor
    d_hidden_ND: Tensor
    d_output_NS: Tensor

    @classmethod
    def empty(cls, pairs: int, d: int, s: int, like: Tensor) -> FactorBuffers:
        def new(width: int) -> Tensor:
            return torch.empty((pairs, width), dtype=like.dtype, device=like.device)

        return cls(new(d), new(d), new(s))

    def part(self, rows: slice) -> FactorBuffers:
        return FactorBuffers(*(buffer[rows] for buffer in vars(self).values()))

    def weight_gradients(self, x_ND: Tensor) -> list[Tensor]:
        """In the order of `FactorWeights`, from the input of the factor."""
        return [
            self.d_hidden_ND.t() @ x_ND,
            self.d_hidden_ND.sum(0, dtype=torch.float32).to(x_ND.dtype),
            self.d_output_NS.t() @ self.activated_ND,
            self.d_output_NS.sum(0, dtype=torch.float32).to(x_ND.dtype),
        ]


def outside_score_backward(
    out_NTD: Tensor,
    d_score_N: Tensor,
    parent: FactorWeights,
    sibling: FactorWeights,
    d_out_NTD: Tensor,
    of_parent: FactorBuffers,
    of_sibling: FactorBuffers,
) -> None:
    """Adds to the gradient of the encoder's output."""
    pairs, _, d = out_NTD.shape
    _outside_score_backward[(triton.cdiv(pairs, PAIRS_BACKWARD),)](
        out_NTD,
        d_score_N,
        *vars(parent).values(),
        *vars(sibling).values(),
        d_out_NTD,
        *vars(of_parent).values(),
        *vars(of_sibling).values(),
        pairs,
        D=d,
        S=len(parent.output_SD),
        BN=PAIRS_BACKWARD,
        num_warps=4,
    )

"""The token-wise part of an encoder layer, fused: output projection, norm, feed-forward network, norm.

Forward, for every row:   y = norm(x + mixed Wo' + bo);  out = norm(y + gelu(y W1' + b1) W2' + b2)
Backward recomputes the hidden layer instead of storing it, and writes the operands of the weight gradients.

Shapes: M rows (tokens), D dimensions, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from treetok.model.kernels.elementwise import gelu, gelu_and_slope, norm_gradient, normed
from treetok.model.network.functional import gelu as gelu_of
from treetok.model.network.functional import norm

# Block sizes, here and in the other kernels, are the fastest of those tried on an H200.
ROWS_PER_BLOCK = 64
HIDDEN_FORWARD, HIDDEN_BACKWARD = 64, 32


@dataclass(frozen=True)
class LayerWeights:
    """The weights of one encoder layer, in the precision of activations; `qkv_bias_TF` includes the roles."""

    qkv_FD: Tensor
    qkv_bias_TF: Tensor
    attended_DD: Tensor
    attended_bias_D: Tensor
    hidden_HD: Tensor
    hidden_bias_H: Tensor
    output_DH: Tensor
    output_bias_D: Tensor


@triton.jit(do_not_specialize=["M"])
def _feed_forward(
    x,
    mixed,
    wo,
    bo,
    w1,
    b1,
    w2,
    b2,
    y,
    rstd_y,
    out,
    rstd_out,
    M,
    D: tl.constexpr,
    H: tl.constexpr,
    BM: tl.constexpr,
    BH: tl.constexpr,
    KEPT: tl.constexpr,
):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.arange(0, D)
    alive = row < M
    at = row.to(tl.int64)[:, None] * D + col[None, :]
    mask = alive[:, None]
    dtype = x.dtype.element_ty
    mixed_MD = tl.load(mixed + at, mask=mask, other=0.0)
    wo_DD = tl.load(wo + col[:, None] + col[None, :] * D)
    z = tl.dot(mixed_MD, wo_DD, input_precision="ieee")
    z += tl.load(bo + col).to(tl.float32)[None, :] + tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    y_MD, rstd = normed(z, D)
    y_MD = y_MD.to(dtype)
    if KEPT:
        tl.store(rstd_y + row, rstd, mask=alive)
        tl.store(y + at, y_MD, mask=mask)
    fed = tl.zeros((BM, D), dtype=tl.float32)
    for first in range(0, H, BH):
        h = first + tl.arange(0, BH)
        w1_DH = tl.load(w1 + h[None, :] * D + col[:, None])
        hidden = tl.dot(y_MD, w1_DH, input_precision="ieee") + tl.load(b1 + h).to(tl.float32)[None, :]
        w2_HD = tl.load(w2 + col[None, :] * H + h[:, None])
        fed = tl.dot(gelu(hidden).to(dtype), w2_HD, fed, input_precision="ieee")
    fed += y_MD.to(tl.float32) + tl.load(b2 + col).to(tl.float32)[None, :]
    out_MD, rstd = normed(fed, D)
    if KEPT:
        tl.store(rstd_out + row, rstd, mask=alive)
    tl.store(out + at, out_MD.to(dtype), mask=mask)


@triton.jit(do_not_specialize=["M"])
def _feed_forward_backward(
    d_out,
    out,
    rstd_out,
    y,
    rstd_y,
    wo,
    w1,
    b1,
    w2,
    d_fed,
    activated,
    d_hidden,
    d_z,
    d_mixed,
    sums,
    M,
    D: tl.constexpr,
    H: tl.constexpr,
    BM: tl.constexpr,
    BH: tl.constexpr,
):
    block = tl.program_id(0)
    row = block * BM + tl.arange(0, BM)
    col = tl.arange(0, D)
    alive = row < M
    at = row.to(tl.int64)[:, None] * D + col[None, :]
    mask = alive[:, None]
    dtype = y.dtype.element_ty
    gradient = tl.load(d_out + at, mask=mask, other=0.0).to(tl.float32)
    out_MD = tl.load(out + at, mask=mask, other=0.0).to(tl.float32)
    d_y = norm_gradient(gradient, out_MD, tl.load(rstd_out + row, mask=alive, other=0.0), D)
    d_fed_MD = d_y.to(dtype)
    tl.store(d_fed + at, d_fed_MD, mask=mask)
    # Every block has a row of sums, the gradients of bo, b2 and b1.
    own_sums = sums + block.to(tl.int64) * (2 * D + H)
    tl.store(own_sums + D + col, tl.sum(d_y, 0))
    y_MD = tl.load(y + at, mask=mask, other=0.0)
    for first in range(0, H, BH):
        h = first + tl.arange(0, BH)
        w1_HD = tl.load(w1 + h[:, None] * D + col[None, :])
        w2_DH = tl.load(w2 + col[:, None] * H + h[None, :])
        hidden = tl.dot(y_MD, tl.trans(w1_HD), input_precision="ieee") + tl.load(b1 + h).to(tl.float32)[None, :]
        activated_MH, slope = gelu_and_slope(hidden)
        d_hidden_MH = tl.dot(d_fed_MD, w2_DH, input_precision="ieee") * slope
        tl.store(own_sums + 2 * D + h, tl.sum(d_hidden_MH, 0))
        d_hidden_rounded = d_hidden_MH.to(dtype)
        at_hidden = row.to(tl.int64)[:, None] * H + h[None, :]
        tl.store(activated + at_hidden, activated_MH.to(dtype), mask=mask)
        tl.store(d_hidden + at_hidden, d_hidden_rounded, mask=mask)
        d_y = tl.dot(d_hidden_rounded, w1_HD, d_y, input_precision="ieee")
    d_z_MD = norm_gradient(d_y, y_MD.to(tl.float32), tl.load(rstd_y + row, mask=alive, other=0.0), D)
    tl.store(own_sums + col, tl.sum(d_z_MD, 0))
    rounded = d_z_MD.to(dtype)
    tl.store(d_z + at, rounded, mask=mask)
    wo_DD = tl.load(wo + col[:, None] * D + col[None, :])
    tl.store(d_mixed + at, tl.dot(rounded, wo_DD, input_precision="ieee").to(dtype), mask=mask)


def blocks_of(rows: int) -> int:
    return triton.cdiv(rows, ROWS_PER_BLOCK)


@dataclass(frozen=True)
class ForwardBuffers:
    """What the backward pass needs of the forward pass: `y` and the factors of the two norms."""

    y: Tensor
    rstd_y: Tensor
    rstd_out: Tensor


def feed_forward(
    x: Tensor, mixed: Tensor, weights: LayerWeights, out: Tensor, kept: ForwardBuffers | None = None
) -> None:
    """Writes `out`, which may be `x`, and what is to be kept for a backward pass."""
    rows, d = x.shape
    # Without buffers nothing is written to them.
    y, rstd_y, rstd_out = (out, out, out) if kept is None else (kept.y, kept.rstd_y, kept.rstd_out)
    # In 32 bits, more would not fit into the shared memory of most GPUs.
    rows_per_block, stages = (ROWS_PER_BLOCK, 3) if x.dtype.itemsize == 2 else (ROWS_PER_BLOCK // 2, 1)
    _feed_forward[(triton.cdiv(rows, rows_per_block),)](
        x,
        mixed,
        weights.attended_DD,
        weights.attended_bias_D,
        weights.hidden_HD,
        weights.hidden_bias_H,
        weights.output_DH,
        weights.output_bias_D,
        y,
        rstd_y,
        out,
        rstd_out,
        rows,
        D=d,
        H=len(weights.hidden_HD),
        BM=rows_per_block,
        BH=min(HIDDEN_FORWARD, len(weights.hidden_HD)),
        KEPT=kept is not None,
        num_warps=4,
        num_stages=stages,
    )


def plain_feed_forward(x: Tensor, mixed: Tensor, weights: LayerWeights, out: Tensor) -> None:
    """The forward pass by PyTorch's operations: in 32 bits, where tensor cores do not help, far faster than the
    kernel."""
    y = norm(torch.addmm(weights.attended_bias_D, mixed, weights.attended_DD.t()).add_(x))
    hidden = gelu_of(torch.addmm(weights.hidden_bias_H, y, weights.hidden_HD.t()))
    out.copy_(norm(torch.addmm(weights.output_bias_D, hidden, weights.output_DH.t()).add_(y)))


@dataclass(frozen=True)
class FeedForwardBuffers:
    """The operands of the weight gradients, and per block the sums that make up the bias gradients."""

    d_fed_MD: Tensor
    activated_MH: Tensor
    d_hidden_MH: Tensor
    d_z_MD: Tensor
    sums: Tensor

    @classmethod
    def empty(cls, rows: int, blocks: int, d: int, h: int, like: Tensor) -> FeedForwardBuffers:
        def new(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=like.dtype, device=like.device)

        sums = torch.empty((blocks, 2 * d + h), dtype=torch.float32, device=like.device)
        return cls(new(rows, d), new(rows, h), new(rows, h), new(rows, d), sums)

    def part(self, rows: slice, first_block: int) -> FeedForwardBuffers:
        return FeedForwardBuffers(
            self.d_fed_MD[rows],
            self.activated_MH[rows],
            self.d_hidden_MH[rows],
            self.d_z_MD[rows],
            self.sums[first_block : first_block + blocks_of(rows.stop - rows.start)],
        )


def feed_forward_backward(
    d_out: Tensor,
    out: Tensor,
    rstd_out: Tensor,
    y: Tensor,
    rstd_y: Tensor,
    weights: LayerWeights,
    buffers: FeedForwardBuffers,
    d_mixed: Tensor,
) -> None:
    """Writes the gradient of `mixed`, and `buffers.d_z_MD`, that of x through the residual connection."""
    rows, d = d_out.shape
    _feed_forward_backward[(blocks_of(rows),)](
        d_out,
        out,
        rstd_out,
        y,
        rstd_y,
        weights.attended_DD,
        weights.hidden_HD,
        weights.hidden_bias_H,
        weights.output_DH,
        buffers.d_fed_MD,
        buffers.activated_MH,
        buffers.d_hidden_MH,
        buffers.d_z_MD,
        d_mixed,
        buffers.sums,
        rows,
        D=d,
        H=len(weights.hidden_HD),
        BM=ROWS_PER_BLOCK,
        BH=min(HIDDEN_BACKWARD, len(weights.hidden_HD)),
        num_warps=4,
        num_stages=4,
    )

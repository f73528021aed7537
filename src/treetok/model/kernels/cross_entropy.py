"""Cross-entropy against a large vocabulary without 32-bit copies of the logits.

Shapes: R rows, V classes, D dimensions.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

CLASSES_FORWARD, CLASSES_BACKWARD = 2048, 4096
# Rows of logits start at multiples of this, for the tensor cores.
ALIGNMENT = 64


@triton.jit
def _block(logits, excluded, row, v, V, stride, scale, EXCLUDES: tl.constexpr):
    block = tl.load(logits + row * stride + v, mask=v < V, other=-float("inf")).to(tl.float32) * scale
    if EXCLUDES:
        block = tl.where(tl.load(excluded + v, mask=v < V, other=0) != 0, -float("inf"), block)
    return block


@triton.jit(do_not_specialize=["V"])
def _cross_entropy(
    logits, excluded, target, loss, log_sum, scale, V, stride, EXCLUDES: tl.constexpr, BV: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    # Not -inf: the difference of two would be NaN.
    highest = -1e30
    total = 0.0
    for first in range(0, V, BV):
        block = _block(logits, excluded, row, first + tl.arange(0, BV), V, stride, scale, EXCLUDES)
        higher = tl.maximum(highest, tl.max(block, 0))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(block - higher), 0)
        highest = higher
    of_row = highest + tl.log(total)
    right = tl.load(logits + row * stride + tl.load(target + row)).to(tl.float32) * scale
    tl.store(log_sum + row, of_row)
    tl.store(loss + row, of_row - right)


@triton.jit(do_not_specialize=["V"])
def _cross_entropy_backward(
    logits, excluded, target, log_sum, d_loss, scale, V, stride, EXCLUDES: tl.constexpr, BV: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    of_row = tl.load(log_sum + row)
    right = tl.load(target + row)
    factor = tl.load(d_loss + row) * scale
    for first in range(0, stride, BV):
        v = first + tl.arange(0, BV)
        block = _block(logits, excluded, row, v, V, stride, scale, EXCLUDES)
        gradient = (tl.exp(block - of_row) - tl.where(v == right, 1.0, 0.0)) * factor
        tl.store(logits + row * stride + v, gradient.to(logits.dtype.element_ty), mask=v < stride)


class CrossEntropy(torch.autograd.Function):
    """-log softmax(scale x classes')[target] for every row x. The gradient overwrites the logits."""

    @staticmethod
    def forward(
        ctx: Any, x_RD: Tensor, classes_VD: Tensor, target_R: Tensor, scale: float, excluded_V: Tensor | None
    ) -> Tensor:
        classes = len(classes_VD)
        padded_VD = F.pad(classes_VD, (0, 0, 0, -classes % ALIGNMENT))
        logits_RV = x_RD @ padded_VD.t()
        rows = len(x_RD)
        loss_R, log_sum_R = torch.empty((2, rows), dtype=torch.float32, device=x_RD.device)
        ctx.scale, ctx.classes, ctx.excludes = scale, classes, excluded_V is not None
        excluded = torch.empty(0, device=x_RD.device) if excluded_V is None else excluded_V.view(torch.uint8)
        _cross_entropy[(rows,)](
            logits_RV,
            excluded,
            target_R,
            loss_R,
            log_sum_R,
            scale,
            classes,
            len(padded_VD),
            EXCLUDES=ctx.excludes,
            BV=CLASSES_FORWARD,
            num_warps=2,
        )
        ctx.save_for_backward(x_RD, padded_VD, target_R, logits_RV, log_sum_R, excluded)
        return loss_R

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x_RD, padded_VD, target_R, logits_RV, log_sum_R, excluded = ctx.saved_tensors
        _cross_entropy_backward[(len(x_RD),)](
            logits_RV,
            excluded,
            target_R,
            log_sum_R,
            gradients[0].contiguous(),
            ctx.scale,
            ctx.classes,
            len(padded_VD),
            EXCLUDES=ctx.excludes,
            BV=CLASSES_BACKWARD,
            num_warps=4,
        )
        return logits_RV @ padded_VD, (logits_RV.t() @ x_RD)[: ctx.classes], None, None, None


def cross_entropy(
    x_RD: Tensor, classes_VD: Tensor, target_R: Tensor, scale: float = 1.0, excluded_V: Tensor | None = None
) -> Tensor:
    """As `losses.operations.cross_entropy`."""
    losses: Tensor = CrossEntropy.apply(x_RD, classes_VD, target_R, scale, excluded_V)
    return losses

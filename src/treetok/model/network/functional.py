"""Layers as functions that work in the precision of their input.

Parameters stay in 32 bits while activations may be in 16, so that every layer casts its weights to what it is
given.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype))


def layer_norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], layer.weight.to(x.dtype), layer.bias.to(x.dtype))


def norm(x: Tensor) -> Tensor:
    """Layer norm without parameters, which the original composition model uses throughout."""
    return F.layer_norm(x, x.shape[-1:])


def gelu(x: Tensor) -> Tensor:
    """The tanh approximation, as in GPT-2: far cheaper than the error function."""
    return F.gelu(x, approximate="tanh")


def precise(x: Tensor) -> Tensor:
    """Upcasts half precision to 32 bits, for softmax and losses; leaves other dtypes alone."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


class TakeRows(torch.autograd.Function):
    """`index_select` that accumulates its gradient in 32 bits: more accurate than in 16, where it also took a
    seventh of a training step (docs/lab-notes.md)."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape, ctx.dtype = table.shape, table.dtype
        return table.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        gradient = precise(gradients[0])
        (rows,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_add(0, rows, gradient).to(ctx.dtype), None


def take_rows(table: Tensor, rows: Tensor) -> Tensor:
    taken: Tensor = TakeRows.apply(table, rows)  # type: ignore[no-untyped-call]
    return taken

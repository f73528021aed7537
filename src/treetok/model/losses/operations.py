"""The heavy arithmetic of a training step, behind one name: plain (any device) or fused (`kernels/`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from treetok.model.charts.chart import InsideResult, inside_pass, outside_pass
from treetok.model.config import CompositionConfig
from treetok.model.network.composition import precise


@dataclass(frozen=True)
class Operations:
    inside_pass: Callable[..., InsideResult]
    outside_pass: Callable[..., Tensor]
    cross_entropy: Callable[..., Tensor]


def cross_entropy(
    x_RD: Tensor, classes_VD: Tensor, target_R: Tensor, scale: float = 1.0, excluded_V: Tensor | None = None
) -> Tensor:
    """Of every row x: -log softmax(scale x classes')[target], without the classes that are excluded."""
    logits_RV = precise(x_RD @ classes_VD.t()) * scale
    if excluded_V is not None:
        logits_RV = logits_RV.masked_fill(excluded_V, -torch.inf)
    return F.cross_entropy(logits_RV, target_R, reduction="none")


PLAIN = Operations(inside_pass, outside_pass, cross_entropy)


def fastest_operations(sizes: CompositionConfig) -> Operations:
    """Fused for a GPU, where there are kernels for these sizes, and Triton, which PyTorch brings on Linux only."""
    try:
        from treetok.model.kernels import FUSED, can_be_fused
    except ImportError:
        return PLAIN
    return FUSED if can_be_fused(sizes) else PLAIN

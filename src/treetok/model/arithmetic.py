"""The heavy arithmetic of a training step, behind one name: plain (any device) or fused (`gpu/`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from treetok.model.chart import InsideResult, inside_pass, outside_pass
from treetok.model.composition import precise
from treetok.model.configuration import CompositionSizes


@dataclass(frozen=True)
class Arithmetic:
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


PLAIN = Arithmetic(inside_pass, outside_pass, cross_entropy)


def fastest_arithmetic(sizes: CompositionSizes) -> Arithmetic:
    """Fused for a GPU, where there are kernels for these sizes, and Triton, which PyTorch brings on Linux only."""
    try:
        from treetok.model.gpu import FUSED, can_be_fused
    except ImportError:
        return PLAIN
    return FUSED if can_be_fused(sizes) else PLAIN

"""The expensive operations of a training step: plain PyTorch for any device, or fused GPU kernels (`kernels/`).

Shapes: R rows, V classes, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from treetok.model.charts.passes import InsideResult, inside_pass, outside_pass
from treetok.model.config import CompositionConfig
from treetok.model.network.functional import precise
from treetok.model.network.parser import ParserConfig, ParserOperations


@dataclass(frozen=True)
class Operations:
    inside_pass: Callable[..., InsideResult]
    outside_pass: Callable[..., Tensor]
    cross_entropy: Callable[..., Tensor]


def cross_entropy(
    x_RD: Tensor, classes_VD: Tensor, target_R: Tensor, scale: float = 1.0, excluded_V: Tensor | None = None
) -> Tensor:
    """-log softmax(scale x classes')[target] for every row x, over the classes that are not excluded."""
    logits_RV = precise(x_RD @ classes_VD.t()) * scale
    if excluded_V is not None:
        logits_RV = logits_RV.masked_fill(excluded_V, -torch.inf)
    return F.cross_entropy(logits_RV, target_R, reduction="none")


PLAIN = Operations(inside_pass, outside_pass, cross_entropy)


def fused_operations() -> Operations:
    """Raises ImportError without Triton, which PyTorch ships on Linux only."""
    from treetok.model import kernels

    return Operations(kernels.fused_inside_pass, kernels.fused_outside_pass, kernels.cross_entropy)


def fastest_operations(config: CompositionConfig) -> Operations:
    """The fastest operations on a GPU: fused where the kernels are available and support this configuration."""
    try:
        from treetok.model.kernels import can_be_fused
    except ImportError:
        return PLAIN
    return fused_operations() if can_be_fused(config) else PLAIN


def fastest_parser_operations(config: ParserConfig) -> ParserOperations:
    """The fastest operations of a parser on a GPU: fused where the kernels are available and support this
    configuration; their tiles have power-of-two sizes."""
    try:
        from treetok.model.kernels.morpheme_sums import morpheme_sums
        from treetok.model.kernels.word_attention import word_attention
    except ImportError:
        return ParserOperations(precision=torch.bfloat16)
    head = config.dimension // config.heads
    if config.dimension & (config.dimension - 1) or head & (head - 1) or head < 16:
        return ParserOperations(precision=torch.bfloat16)
    return ParserOperations(morpheme_sums, word_attention, torch.bfloat16)

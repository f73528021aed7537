"""The inside and outside pass and the cross-entropy as fused GPU kernels, tested equal to the plain versions."""

from __future__ import annotations

from treetok.model.config import CompositionConfig
from treetok.model.kernels.autograd import fused_inside_pass, fused_outside_pass
from treetok.model.kernels.cross_entropy import cross_entropy

__all__ = ["can_be_fused", "cross_entropy", "fused_inside_pass", "fused_outside_pass"]


def can_be_fused(config: CompositionConfig) -> bool:
    """Whether the kernels support a configuration: their tiles have power-of-two sizes.

    >>> can_be_fused(CompositionConfig()), can_be_fused(CompositionConfig(dimension=96, heads=3))
    (True, False)
    """
    head_dimension = config.dimension // config.heads
    powers = all(size & (size - 1) == 0 for size in (config.dimension, config.heads, head_dimension))
    hidden_fits = config.hidden % 64 == 0 or config.hidden in (16, 32)
    return powers and 16 <= config.dimension <= 128 and hidden_fits

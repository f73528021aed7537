"""The charts' arithmetic as fused GPU kernels, forward and backward; equal to the plain modules in the tests."""

from __future__ import annotations

from treetok.model.config import CompositionConfig
from treetok.model.kernels.autograd import fused_inside_pass, fused_outside_pass
from treetok.model.kernels.cross_entropy import cross_entropy
from treetok.model.losses.operations import Operations

__all__ = ["FUSED", "can_be_fused"]

FUSED = Operations(fused_inside_pass, fused_outside_pass, cross_entropy)


def can_be_fused(sizes: CompositionConfig) -> bool:
    """Whether the kernels, whose tiles have sizes that are powers of two, can work with these sizes.

    >>> can_be_fused(CompositionConfig()), can_be_fused(CompositionConfig(dimension=96, heads=3))
    (True, False)
    """
    of_head = sizes.dimension // sizes.heads
    powers = all(size & (size - 1) == 0 for size in (sizes.dimension, sizes.heads, of_head))
    hidden_fits = sizes.hidden % 64 == 0 or sizes.hidden in (16, 32)
    return powers and 16 <= sizes.dimension <= 128 and hidden_fits

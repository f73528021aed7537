"""Norm and GELU, with their derivatives, for use inside kernels."""

from __future__ import annotations

import os

import torch
import triton
import triton.language as tl

# A single instruction on NVIDIA GPUs; not available in the interpreter or elsewhere.
HAS_FAST_TANH = tl.constexpr(torch.version.cuda is not None and os.environ.get("TRITON_INTERPRET") != "1")


@triton.jit
def normed(z, D: tl.constexpr):
    """Layer norm of rows without parameters, and the factor by which each row was scaled."""
    centred = z - (tl.sum(z, 1) / D)[:, None]
    rstd = tl.rsqrt(tl.sum(centred * centred, 1) / D + 1e-5)
    return centred * rstd[:, None], rstd


@triton.jit
def norm_gradient(gradient, normed_rows, rstd, D: tl.constexpr):
    """The gradient of the input of `normed`, from its output and the gradient of that."""
    mean = tl.sum(gradient, 1) / D
    along = tl.sum(gradient * normed_rows, 1) / D
    return (gradient - mean[:, None] - normed_rows * along[:, None]) * rstd[:, None]


@triton.jit
def _gate(x):
    """gelu(x) / x in the tanh approximation, which is a sigmoid."""
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    if HAS_FAST_TANH:
        tanh = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [u], dtype=tl.float32, is_pure=True, pack=1
        )
        return 0.5 + 0.5 * tanh
    return 1.0 / (1.0 + tl.exp(-2.0 * u))


@triton.jit
def gelu(x):
    return x * _gate(x)


@triton.jit
def gelu_and_slope(x):
    gate = _gate(x)
    slope = gate + x * gate * (1.0 - gate) * 1.5957691216057308 * (1.0 + 0.134145 * x * x)
    return x * gate, slope

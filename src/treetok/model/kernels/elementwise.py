"""Small functions that several kernels share."""

from __future__ import annotations

import os

import torch
import triton
import triton.language as tl

# One instruction of NVIDIA's chips; not in the interpreter, not on other chips.
HAS_FAST_TANH = tl.constexpr(torch.version.cuda is not None and os.environ.get("TRITON_INTERPRET") != "1")


@triton.jit
def normed(z, D: tl.constexpr):
    """Layer norm of rows without parameters, and the factor each row was scaled by."""
    centred = z - (tl.sum(z, 1) / D)[:, None]
    rstd = tl.rsqrt(tl.sum(centred * centred, 1) / D + 1e-5)
    return centred * rstd[:, None], rstd


@triton.jit
def norm_gradient(gradient, normed_rows, rstd, D: tl.constexpr):
    """The gradient of what was normed, from the gradient of the result and the result itself."""
    mean = tl.sum(gradient, 1) / D
    along = tl.sum(gradient * normed_rows, 1) / D
    return (gradient - mean[:, None] - normed_rows * along[:, None]) * rstd[:, None]


@triton.jit
def _gate(x):
    """gelu(x) / x in the form with tanh, which is a sigmoid."""
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

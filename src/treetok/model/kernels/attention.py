"""Attention among the two or three tokens of one small encoder, forward and backward.

`qkv` holds the projections without bias; the bias depends on the token's role and is added here. A row of a kernel
is one head of one pair.

Shapes: N pairs, T tokens (2 or 3), A heads of E dimensions each, D = A E, F = 3 D.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from treetok.errors import TreetokError

ROWS_PER_BLOCK = 32


@triton.jit
def _offsets(N, A: tl.constexpr, E: tl.constexpr, T: tl.constexpr, BR: tl.constexpr):
    """Offsets of this program's rows into the projections, the mixed values and the biases; which rows exist."""
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    pair = (row // A).to(tl.int64)
    inner = ((row % A) * E)[:, None] + tl.arange(0, E)[None, :]
    wide = T * A * E
    return pair[:, None] * (3 * wide) + inner, pair[:, None] * wide + inner, inner, (row < N * A)[:, None]


@triton.jit
def _load(qkv, bias, at, inner, mask, token: tl.constexpr, what: tl.constexpr, D: tl.constexpr):
    """A query (what = 0), key (1) or value (2) of one token."""
    place = token * 3 * D + what * D
    return tl.load(qkv + at + place, mask=mask, other=0.0).to(tl.float32) + tl.load(bias + place + inner).to(
        tl.float32
    )


@triton.jit
def _keys_and_values(qkv, bias, at, inner, mask, D: tl.constexpr, T: tl.constexpr):
    """Keys and values of all tokens; without a third token, the first is a placeholder for it and not used."""
    k0 = _load(qkv, bias, at, inner, mask, 0, 1, D)
    k1 = _load(qkv, bias, at, inner, mask, 1, 1, D)
    v0 = _load(qkv, bias, at, inner, mask, 0, 2, D)
    v1 = _load(qkv, bias, at, inner, mask, 1, 2, D)
    k2 = k0
    v2 = v0
    if T == 3:
        k2 = _load(qkv, bias, at, inner, mask, 2, 1, D)
        v2 = _load(qkv, bias, at, inner, mask, 2, 2, D)
    return k0, k1, k2, v0, v1, v2


@triton.jit
def _weights(q, k0, k1, k2, scale, T: tl.constexpr):
    """The attention weights of one query."""
    s0 = tl.sum(q * k0, 1) * scale
    s1 = tl.sum(q * k1, 1) * scale
    highest = tl.maximum(s0, s1)
    s2 = s0
    if T == 3:
        s2 = tl.sum(q * k2, 1) * scale
        highest = tl.maximum(highest, s2)
    e0 = tl.exp(s0 - highest)
    e1 = tl.exp(s1 - highest)
    total = e0 + e1
    e2 = e0
    if T == 3:
        e2 = tl.exp(s2 - highest)
        total += e2
    return (e0 / total)[:, None], (e1 / total)[:, None], (e2 / total)[:, None]


@triton.jit(do_not_specialize=["N"])
def _attend(qkv, bias, mixed, N, scale, A: tl.constexpr, E: tl.constexpr, T: tl.constexpr, BR: tl.constexpr):
    D: tl.constexpr = A * E
    at, at_out, inner, mask = _offsets(N, A, E, T, BR)
    k0, k1, k2, v0, v1, v2 = _keys_and_values(qkv, bias, at, inner, mask, D, T)
    for i in tl.static_range(T):
        q = _load(qkv, bias, at, inner, mask, i, 0, D)
        a0, a1, a2 = _weights(q, k0, k1, k2, scale, T)
        m = a0 * v0 + a1 * v1
        if T == 3:
            m += a2 * v2
        tl.store(mixed + at_out + i * D, m.to(mixed.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["N"])
def _attend_backward(
    qkv, bias, d_mixed, d_qkv, N, scale, A: tl.constexpr, E: tl.constexpr, T: tl.constexpr, BR: tl.constexpr
):
    D: tl.constexpr = A * E
    at, at_out, inner, mask = _offsets(N, A, E, T, BR)
    dtype = d_qkv.dtype.element_ty
    k0, k1, k2, v0, v1, v2 = _keys_and_values(qkv, bias, at, inner, mask, D, T)
    dk0 = tl.zeros((BR, E), dtype=tl.float32)
    dk1 = dk0
    dk2 = dk0
    dv0 = dk0
    dv1 = dk0
    dv2 = dk0
    for i in tl.static_range(T):
        q = _load(qkv, bias, at, inner, mask, i, 0, D)
        a0, a1, a2 = _weights(q, k0, k1, k2, scale, T)
        dm = tl.load(d_mixed + at_out + i * D, mask=mask, other=0.0).to(tl.float32)
        da0 = tl.sum(dm * v0, 1)[:, None]
        da1 = tl.sum(dm * v1, 1)[:, None]
        mean = a0 * da0 + a1 * da1
        da2 = da0
        if T == 3:
            da2 = tl.sum(dm * v2, 1)[:, None]
            mean += a2 * da2
        ds0 = a0 * (da0 - mean) * scale
        ds1 = a1 * (da1 - mean) * scale
        dq = ds0 * k0 + ds1 * k1
        dk0 += ds0 * q
        dk1 += ds1 * q
        dv0 += a0 * dm
        dv1 += a1 * dm
        if T == 3:
            ds2 = a2 * (da2 - mean) * scale
            dq += ds2 * k2
            dk2 += ds2 * q
            dv2 += a2 * dm
        tl.store(d_qkv + at + i * 3 * D, dq.to(dtype), mask=mask)
    tl.store(d_qkv + at + D, dk0.to(dtype), mask=mask)
    tl.store(d_qkv + at + 2 * D, dv0.to(dtype), mask=mask)
    tl.store(d_qkv + at + 4 * D, dk1.to(dtype), mask=mask)
    tl.store(d_qkv + at + 5 * D, dv1.to(dtype), mask=mask)
    if T == 3:
        tl.store(d_qkv + at + 7 * D, dk2.to(dtype), mask=mask)
        tl.store(d_qkv + at + 8 * D, dv2.to(dtype), mask=mask)


def attend(qkv_NTF: Tensor, bias_TF: Tensor, mixed_NTD: Tensor, heads: int) -> None:
    """Writes the mixed values of every token."""
    pairs, tokens, d = checked_shape(mixed_NTD)
    _attend[(triton.cdiv(pairs * heads, ROWS_PER_BLOCK),)](
        qkv_NTF,
        bias_TF,
        mixed_NTD,
        pairs,
        (d // heads) ** -0.5,
        A=heads,
        E=d // heads,
        T=tokens,
        BR=ROWS_PER_BLOCK,
        num_warps=4,
    )


def attend_backward(qkv_NTF: Tensor, bias_TF: Tensor, d_mixed_NTD: Tensor, d_qkv_NTF: Tensor, heads: int) -> None:
    """Writes the gradients of the projections."""
    pairs, tokens, d = checked_shape(d_mixed_NTD)
    _attend_backward[(triton.cdiv(pairs * heads, ROWS_PER_BLOCK),)](
        qkv_NTF,
        bias_TF,
        d_mixed_NTD,
        d_qkv_NTF,
        pairs,
        (d // heads) ** -0.5,
        A=heads,
        E=d // heads,
        T=tokens,
        BR=ROWS_PER_BLOCK,
        num_warps=4,
    )


def checked_shape(x_NTD: Tensor) -> tuple[int, int, int]:
    pairs, tokens, d = x_NTD.shape
    if tokens not in (2, 3):
        raise TreetokError(f"attention among {tokens} tokens is not supported")
    return pairs, tokens, d

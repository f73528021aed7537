"""Gathering rows into one token of an encoder's input, and scattering its gradients back."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

ROWS_PER_BLOCK = 32


@triton.jit(do_not_specialize=["N", "token"])
def _take_rows(
    table,
    rows,
    sides,
    side_of,
    x,
    N,
    token,
    T: tl.constexpr,
    D: tl.constexpr,
    SIDED: tl.constexpr,
    BN: tl.constexpr,
):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    col = tl.arange(0, D)
    alive = n < N
    row = tl.load(rows + n, mask=alive, other=0)
    value = tl.load(table + row[:, None] * D + col[None, :], mask=alive[:, None], other=0.0)
    if SIDED:
        side = tl.load(side_of + n, mask=alive, other=0)
        value += tl.load(sides + side[:, None] * D + col[None, :], mask=alive[:, None], other=0.0)
    at = n.to(tl.int64)[:, None] * (T * D) + token * D + col[None, :]
    tl.store(x + at, value, mask=alive[:, None])


@triton.jit(do_not_specialize=["N", "token"])
def _add_rows(d_x, rows, d_table, N, token, T: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    col = tl.arange(0, D)
    alive = n < N
    row = tl.load(rows + n, mask=alive, other=0)
    at = n.to(tl.int64)[:, None] * (T * D) + token * D + col[None, :]
    gradient = tl.load(d_x + at, mask=alive[:, None], other=0.0).to(tl.float32)
    tl.atomic_add(d_table + row[:, None] * D + col[None, :], gradient, mask=alive[:, None], sem="relaxed")


def take_rows(
    table: Tensor,
    rows: Tensor,
    x_NTD: Tensor,
    token: int,
    sides: Tensor | None = None,
    side_of: Tensor | None = None,
) -> None:
    """Writes rows of a table to one token of x, plus the embedding of a side if sides are given."""
    _, tokens, d = x_NTD.shape
    sided = sides is not None
    _take_rows[(triton.cdiv(len(x_NTD), ROWS_PER_BLOCK),)](
        table,
        rows,
        sides if sided else table,
        side_of if sided else rows,
        x_NTD,
        len(x_NTD),
        token,
        T=tokens,
        D=d,
        SIDED=sided,
        BN=ROWS_PER_BLOCK,
        num_warps=4,
    )


def add_rows(d_x_NTD: Tensor, rows: Tensor, d_table: Tensor, token: int) -> None:
    """Adds the gradients of one token to the rows it was gathered from, in 32 bits."""
    _, tokens, d = d_x_NTD.shape
    _add_rows[(triton.cdiv(len(d_x_NTD), ROWS_PER_BLOCK),)](
        d_x_NTD, rows, d_table, len(d_x_NTD), token, T=tokens, D=d, BN=ROWS_PER_BLOCK, num_warps=4
    )

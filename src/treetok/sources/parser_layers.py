"""The layers of the parser in numpy: linear maps, layer norms and the activation function.

Shapes: N rows, one per letter, a multiple of `ROWS_PER_TILE`; K and D dimensions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]

NORM_EPSILON = np.float32(1e-5)
# OpenBLAS computes a product of at most this many multiplications in the calling thread. Its other threads are no
# use for matrices as small as ours, and waiting for them takes several times as long when the cores are busy.
MULTIPLICATIONS_PER_TILE = 1 << 18
# With 8 rows, all kernels of OpenBLAS treat all rows alike; with more, some (Haswell) do not.
ROWS_PER_TILE = 8


def rows_in_tiles(rows: int) -> int:
    """
    >>> rows_in_tiles(1), rows_in_tiles(64)
    (8, 64)
    """
    return -(-rows // ROWS_PER_TILE) * ROWS_PER_TILE


def product(x_NK: F32, weight_KD: F32) -> F32:
    """`x_NK @ weight_KD`, computed in tiles that all have the same shape. N is a multiple of `ROWS_PER_TILE`.

    A library may sum in another order for another shape or number of threads. The shape of a tile depends on the
    weights alone, and it is too small to be divided among threads.
    """
    (n, k), d = x_NK.shape, weight_KD.shape[1]
    columns = min(d, max(1, MULTIPLICATIONS_PER_TILE // (ROWS_PER_TILE * k)))
    y_ND = np.empty((n, d), dtype=np.float32)
    x_tiles, y_tiles = x_NK.reshape(-1, ROWS_PER_TILE, k), y_ND.reshape(-1, ROWS_PER_TILE, d)
    for start in range(0, d, columns):
        part = slice(start, start + columns)
        np.matmul(x_tiles, weight_KD[:, part], out=y_tiles[:, :, part])
    return y_ND


def linear(x_ND: F32, layer: tuple[F32, F32]) -> F32:
    weight, bias = layer
    y = product(x_ND, weight)
    y += bias
    return y


def norm(x_ND: F32, layer: tuple[F32, F32]) -> F32:
    """Layer norm; means are matrix products, which are several times faster than summing short rows."""
    weight, bias = layer
    mean_D = np.full((x_ND.shape[-1], 1), 1 / x_ND.shape[-1], dtype=np.float32)
    centred: F32 = x_ND - product(x_ND, mean_D)
    centred *= 1 / np.sqrt(product(np.square(centred), mean_D) + NORM_EPSILON)
    centred *= weight
    centred += bias
    return centred


def gelu(x: F32) -> F32:
    """The tanh approximation, x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    inner: F32 = np.square(x)
    inner *= np.float32(-0.0713548162726)
    inner -= np.float32(1.5957691216057)
    inner *= x
    np.exp(inner, out=inner)
    inner += 1
    np.divide(x, inner, out=inner)
    return inner

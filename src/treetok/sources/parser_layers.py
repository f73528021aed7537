"""The arithmetic of the parser, in numpy: the same bits on every machine and with any number of threads.

Every sum is a sum of integers, small enough that floating point adds them exactly in any order. All else is done
element by element, in single precision unless said otherwise, and IEEE 754 defines each result to the last bit.
`native/parser.h` does the same operations in the same order.

Shapes: N rows, one per letter; K inputs and D outputs; W words of equal length, L letters, H heads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

# Single precision holds all integers up to this, so no sum may exceed it.
LARGEST_EXACT = 1 << 24
# The inputs of a linear map become integers up to this. A higher limit leaves fewer bits to the weights.
INPUT_LIMIT = 1023
WEIGHT_LIMIT = 2047
# The same for the weights of a softmax, and the values that they weigh.
SOFTMAX_LIMIT = 1023
VALUE_LIMIT = 2047
NORM_EPSILON = 1e-5
# OpenBLAS computes a product of at most this many multiplications in the calling thread. Its other threads are no
# use for matrices as small as ours, and waiting for them takes many times as long when the cores are busy.
MULTIPLICATIONS_PER_TILE = 1 << 18
ROWS_PER_TILE = 8
# Stands in for the largest value of a row of zeros.
TINY = np.float32(1e-30)
# Adding this number rounds to an integer, which is then found in the lowest bits.
ROUND = np.float32(3 << 22)
# 2^x = 1 + x * (c0 + x * (c1 + ...)) for |x| <= 1/2, with a relative error below 3e-6.
EXP2 = tuple(np.float32(c) for c in (0.6931241931, 0.2402409863, 0.05590642727, 0.009582853006))
LARGEST_EXPONENT = np.float32(126)
LOG2_E = 1.4426950408889634
# The tanh approximation of GELU is x / (1 + 2^(x * (GELU_1 + GELU_3 * x^2))).
GELU_1, GELU_3 = np.float32(-1.5957691216057 * LOG2_E), np.float32(-0.0713548162726 * LOG2_E)


def limit_of_squares(terms: int) -> int:
    """The largest integer for which a sum of so many squares is exact.

    >>> limit_of_squares(128)
    362
    """
    return math.isqrt(LARGEST_EXACT // terms)


def largest_size(x: F32) -> F32:
    """The largest absolute value of each row. Positive numbers are in the order of their bits, and the largest of
    integers is found faster."""
    bits = (x.view(np.int32) & np.int32(0x7FFFFFFF)).max(-1, keepdims=True)
    largest: F32 = np.maximum(bits.view(np.float32), TINY)
    return largest


def quantized(x_NK: F32, limit: int) -> tuple[F32, F32]:
    """The rows in integers up to `limit`, and the step of each row: what an integer is multiplied with."""
    largest_N1 = largest_size(x_NK)
    integers_NK: F32 = x_NK * (np.float32(limit) / largest_N1)
    np.rint(integers_NK, out=integers_NK)
    return integers_NK, largest_N1 / np.float32(limit)


def product(x_NK: F32, weight_KD: F32) -> F32:
    """`x_NK @ weight_KD`, in tiles that are too small to be divided among threads."""
    (n, k), d = x_NK.shape, weight_KD.shape[1]
    columns = max(1, MULTIPLICATIONS_PER_TILE // (ROWS_PER_TILE * k))
    y_ND = np.empty((n, d), dtype=np.float32)
    whole = n - n % ROWS_PER_TILE
    x_tiles, y_tiles = x_NK[:whole].reshape(-1, ROWS_PER_TILE, k), y_ND[:whole].reshape(-1, ROWS_PER_TILE, d)
    for start in range(0, d, columns):
        part = slice(start, start + columns)
        np.matmul(x_tiles, weight_KD[:, part], out=y_tiles[:, :, part])
        np.matmul(x_NK[whole:], weight_KD[:, part], out=y_ND[whole:, part])
    return y_ND


@dataclass(frozen=True)
class Linear:
    """A linear map, with integers as weights and a step for each output."""

    weight_KD: F32
    step_D: F32
    bias_D: F32

    @classmethod
    def of(cls, weight_DK: F32, bias_D: F32) -> Linear:
        # Rounding adds at most K / 2 to the sum of the integers of an output; 1 makes up for that of the steps.
        largest_sum = LARGEST_EXACT // INPUT_LIMIT - weight_DK.shape[1] // 2 - 1
        size_DK = np.abs(weight_DK.astype(np.float64))
        # The weights have 16 bits, so that this sum is exact, too.
        step_D1 = np.maximum(size_DK.max(1) / WEIGHT_LIMIT, size_DK.sum(1) / largest_sum)[:, None]
        step_D1 = np.maximum(step_D1.astype(np.float32), TINY)
        return cls(np.ascontiguousarray(np.rint(weight_DK / step_D1).T), step_D1[:, 0], bias_D)

    def __call__(self, x_NK: F32) -> F32:
        integers_NK, step_N1 = quantized(x_NK, INPUT_LIMIT)
        y_ND = product(integers_NK, self.weight_KD)
        y_ND *= step_N1
        y_ND *= self.step_D
        y_ND += self.bias_D
        return y_ND


@dataclass(frozen=True)
class Norm:
    """Layer norm. Mean and variance are those of the row in integers, in double precision."""

    weight_D: F32
    bias_D: F32

    def __call__(self, x_ND: F32) -> F32:
        d = x_ND.shape[1]
        integers_ND, step_N1 = quantized(x_ND, limit_of_squares(d))
        sum_N1 = np.einsum("nd->n", integers_ND)[:, None].astype(np.float64)
        squares_N1 = np.einsum("nd,nd->n", integers_ND, integers_ND)[:, None].astype(np.float64)
        step_of_sum_N1 = step_N1.astype(np.float64) / d
        variance_N1 = (squares_N1 * d - sum_N1 * sum_N1) * (step_of_sum_N1 * step_of_sum_N1)
        factor_N1 = 1 / np.sqrt(variance_N1 + NORM_EPSILON)
        y_ND: F32 = x_ND - (sum_N1 * step_of_sum_N1).astype(np.float32)
        y_ND *= factor_N1.astype(np.float32)
        y_ND *= self.weight_D
        y_ND += self.bias_D
        return y_ND


def power_of_two(x: F32) -> F32:
    """2^x for x from -126 to 126, and the nearest of these for others; overwrites x.

    >>> power_of_two(np.array([-1, 0, 3, 1000], dtype=np.float32)).tolist() == [0.5, 1, 8, 2**126]
    True
    """
    np.clip(x, -LARGEST_EXPONENT, LARGEST_EXPONENT, out=x)
    shifted = x + ROUND
    x -= shifted - ROUND
    y = x * EXP2[-1]
    for coefficient in EXP2[-2::-1]:
        y += coefficient
        y *= x
    y += np.float32(1)
    # The exponent is in the bits from 23 on.
    y.view(np.int32)[...] += shifted.view(np.int32) << 23
    return y


def gelu(x: F32) -> F32:
    """The tanh approximation, x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    inner: F32 = np.square(x)
    inner *= GELU_3
    inner += GELU_1
    inner *= x
    y = power_of_two(inner)
    y += np.float32(1)
    np.divide(x, y, out=y)
    return y


def attention(qkv_WLD: F32, heads: int) -> F32:
    """Full self-attention over the letters of each word; D is the queries, keys and values of all heads."""
    words, length, width = qkv_WLD.shape
    d = width // 3 // heads
    limit = limit_of_squares(d)
    limit_311 = np.array([limit, limit, min(VALUE_LIMIT, LARGEST_EXACT // (SOFTMAX_LIMIT * length))], np.float32)
    limit_311 = limit_311[:, None, None]
    # The letters of a word share a step, as they are summed.
    largest_W3H1 = largest_size(np.abs(qkv_WLD).max(1).reshape(words, 3, heads, d))
    factor_WD = np.repeat(limit_311 / largest_W3H1, d, axis=3).reshape(words, 1, width)
    integers_WLD: F32 = qkv_WLD * factor_WD
    np.rint(integers_WLD, out=integers_WLD)
    q_WHLd, k_WHLd, v_WHLd = integers_WLD.reshape(words, length, 3, heads, d).transpose(2, 0, 3, 1, 4)
    q_WH11, k_WH11, v_WH11 = (largest_W3H1 / limit_311)[..., None].transpose(1, 0, 2, 3, 4)
    score_WHLL = q_WHLd @ k_WHLd.transpose(0, 1, 3, 2)
    score_WHLL *= q_WH11 * k_WH11 * np.float32(d**-0.5 * LOG2_E)
    score_WHLL -= score_WHLL.max(-1, keepdims=True)
    weight_WHLL = power_of_two(score_WHLL)
    weight_WHLL *= np.float32(SOFTMAX_LIMIT)
    np.rint(weight_WHLL, out=weight_WHLL)
    mixed_WHLd: F32 = weight_WHLL @ v_WHLd
    mixed_WHLd *= v_WH11 / weight_WHLL.sum(-1, keepdims=True)
    return mixed_WHLd.transpose(0, 2, 1, 3).reshape(words, length, -1)

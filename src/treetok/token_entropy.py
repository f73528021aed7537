"""Token entropies, -log(count / total), in fixed-point arithmetic.

Integer addition is exact in any order, so fast paths that sum in a different order from the paper's pseudo-code
still break every tie the same way, and results are identical on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

INFINITE = 1 << 61


def fraction_bits(total: int) -> int:
    """Number of fractional bits: 20 (about 1e-6), or fewer when counts are so large that the sum of entropies
    over the whole corpus would not fit in 63 bits."""
    return max(4, min(20, 50 - total.bit_length()))


def entropies_of(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Entropies of tokens with the given counts; a count of 0 is treated as 1.

    >>> entropies_of(np.array([8, 4, 4])) / 2**20
    array([0.69314671, 1.38629436, 1.38629436])
    """
    counts = np.maximum(counts, 1)
    total = int(counts.sum())
    scale = float(1 << fraction_bits(total))
    entropies: npt.NDArray[np.int64] = np.rint(-np.log(counts / total) * scale).astype(np.int64)
    return entropies


def entropies_by_token(counts: Mapping[str, int]) -> dict[str, int]:
    """`entropies_of` for a mapping from tokens to counts."""
    values = entropies_of(np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))
    return dict(zip(counts, values.tolist(), strict=True))

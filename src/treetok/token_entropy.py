"""The entropy -log(count / total) of tokens, in whole numbers.

Whole numbers add up to the same sum in any order: fast paths that add in another order than the paper's
pseudo-code still agree with it on every tie, and results are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

INFINITE = 1 << 61


def fraction_bits(total: int) -> int:
    """How many binary places entropies carry: 20 (a millionth), fewer only when counts are so large that a
    sum of entropies over a whole corpus would not fit into 63 bits."""
    return max(4, min(20, 50 - total.bit_length()))


def entropies_of(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Entropies of tokens with those counts; a count of 0 counts as 1.

    >>> entropies_of(np.array([8, 4, 4])) / 2**20
    array([0.69314671, 1.38629436, 1.38629436])
    """
    counts = np.maximum(counts, 1)
    total = int(counts.sum())
    scale = float(1 << fraction_bits(total))
    entropies: npt.NDArray[np.int64] = np.rint(-np.log(counts / total) * scale).astype(np.int64)
    return entropies


def entropies_by_token(counts: Mapping[str, int]) -> dict[str, int]:
    """The same for a vocabulary."""
    values = entropies_of(np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))
    return dict(zip(counts, values.tolist(), strict=True))

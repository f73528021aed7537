"""What each word weighs when a vocabulary is chosen: its count, or less than that the more frequent it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treetok.vocabulary.shared_nodes import I64

# Weights are integers in units of 1/1000.
WEIGHT_OF_ONE = 1000.0
# A name that is rarer than one in this many words weighs less than other words of its count: chosen on development
# words (docs/lab-notes.md).
WORDS_PER_NAME = 100_000


def word_weights(
    frequencies: I64, alignment: float, largest_sum: float, names: npt.NDArray[np.bool_] | None = None
) -> I64:
    """Frequencies to the power of 1 - alignment, as integers; those of rare names are not raised to a power but
    multiplied, so that they weigh little. All are scaled so that they sum to `largest_sum` at most.

    >>> word_weights(np.array([1, 100]), 0.5, 1e9).tolist(), word_weights(np.array([1, 100]), 0.0, 1e9).tolist()
    ([1000, 10000], [1, 100])
    >>> word_weights(np.array([1, 100, 399_899]), 0.5, 1e9, np.array([True, True, False])).tolist()
    [500, 10000, 632376]
    """
    weights = frequencies.astype(np.float64) ** (1 - alignment)
    if names is not None and names.any():
        of_one_name = rarity_limit(frequencies) ** -alignment
        weights = np.where(names, np.minimum(weights, of_one_name * frequencies), weights)
    scale = min(1.0 if alignment == 0 else WEIGHT_OF_ONE, largest_sum / max(float(weights.sum()), 1.0))
    if scale == 1:
        return frequencies
    rounded: I64 = np.maximum(np.rint(scale * weights), 1).astype(np.int64)
    return rounded


def rarity_limit(frequencies: I64) -> float:
    """Names of a lower frequency weigh less than other words."""
    return float(frequencies.sum()) / WORDS_PER_NAME

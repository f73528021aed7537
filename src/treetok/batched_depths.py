"""The depths of the splits of many words at once: `treetok.tree.split_depths`, by numpy.

Shapes: W words of equal length, with S splits each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# Bounds the memory of a batch.
WORDS_PER_BATCH = 50_000


def batch_split_depths(scores_of_words: Sequence[Any]) -> npt.NDArray[np.uint8]:
    """The depths of all splits of all words, one word after the other.

    >>> batch_split_depths([[0.3, 0.9, 0.1], [], [2, 1]]).tolist()
    [1, 0, 1, 0, 1]
    """
    splits = np.array([len(scores) for scores in scores_of_words], dtype=np.int64)
    last = np.cumsum(splits)
    depths = np.zeros(int(last[-1]) if len(splits) else 0, dtype=np.uint8)
    flat = np.concatenate([np.zeros(0), *scores_of_words])
    order = np.argsort(splits, kind="stable")
    for of_length in np.split(order, np.flatnonzero(np.diff(splits[order])) + 1):
        for start in range(0, len(of_length), WORDS_PER_BATCH):
            words = of_length[start : start + WORDS_PER_BATCH]
            at_WS = (last - splits)[words][:, None] + np.arange(splits[words[0]])
            depths[at_WS] = depths_of_equal_length(flat[at_WS])
    return depths


def depths_of_equal_length(scores_WS: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """The ancestors of a split are all those that rank above everything between the two; ties go left."""
    words, splits = scores_WS.shape
    order_WS = np.argsort(-scores_WS, axis=1, kind="stable")
    rank_WS = np.empty((words, splits), dtype=np.uint8)
    np.put_along_axis(rank_WS, order_WS, np.arange(splits, dtype=np.uint8)[None], 1)
    depths_WS = np.zeros((words, splits), dtype=np.uint8)
    for split in range(splits):
        own_W1 = rank_WS[:, split : split + 1]
        for beside in (slice(split + 1, None), slice(split - 1, None, -1) if split else slice(0, 0)):
            depths_WS[:, beside] += np.minimum.accumulate(rank_WS[:, beside], axis=1) > own_W1
    return depths_WS

"""Ids as arrays of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt


def as_kind(ids: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Ids of uint32 as integers of another type. They are below 2**31, so that nothing is copied for int32."""
    return ids.view(kind) if kind == np.int32 else ids.astype(kind, copy=False)


def flattened(lists: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """Lists of ids as one array, and where each begins in it.

    >>> ids, offsets = flattened([[5, 7], [], [9]])
    >>> ids.tolist(), offsets.tolist()
    ([5, 7, 9], [0, 2, 2, 3])
    """
    offsets = np.zeros(len(lists) + 1, dtype=np.uint64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    return np.fromiter(chain.from_iterable(lists), dtype=np.uint32, count=int(offsets[-1])), offsets

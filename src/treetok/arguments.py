"""Checks of the arguments of a tokenizer's methods, and errors that name the one at fault."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError, share, whole_number
from treetok.text import check_encodable

# More than any machine has; more are no use.
MOST_THREADS = 1024


def checked_threads(threads: int | None) -> int:
    """
    >>> checked_threads(None), checked_threads(2), checked_threads(10**30) == MOST_THREADS
    (1, 2, True)
    """
    return 1 if threads is None else min(whole_number("threads", threads, least=1), MOST_THREADS)


def checked_dropout(dropout: float) -> float:
    return 0.0 if dropout == 0 else share("dropout", dropout, may_be_one=True, may_be_zero=True)


def checked_seed(seed: int | None) -> int:
    """A seed of 64 bits; None is a new one."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")
    number = whole_number("seed", seed, least=0)
    if number >= 1 << 64:
        raise TreetokError(f"seed must be below 2**64, not {number}")
    return number


def integers_for(dtype: npt.DTypeLike, vocab_size: int) -> np.dtype[Any]:
    """
    >>> integers_for("int32", 32_000)
    dtype('int32')
    """
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind.kind not in "iu" or np.iinfo(kind).max < vocab_size - 1:
        raise TreetokError(f"ids below {vocab_size} need a type such as int64, int32 or uint32, not {dtype}")
    return kind


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


def explained(error: Exception, text: object) -> TreetokError:
    """The error that a text at fault causes; the native core only notices it."""
    try:
        check_encodable(text)  # type: ignore[arg-type]
    except TreetokError as reason:
        return reason
    return TreetokError(str(error))


def explained_in_batch(error: Exception, texts: Iterable[object]) -> TreetokError:
    """The same, with the number of the text in its batch."""
    for number, text in enumerate(texts):
        try:
            check_encodable(text)  # type: ignore[arg-type]
        except TreetokError as reason:
            return TreetokError(f"texts[{number}]: {reason}")
    return TreetokError(str(error))

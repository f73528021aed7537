"""Checks of the arguments of a tokenizer's methods, and errors that name the one at fault."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError, share, shown, whole_number
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
        raise TreetokError(f"seed must be below 2**64, not {shown(number)}")
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

"""A figure together with the contribution of every word."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.cached_property import cached_property
from treetok.errors import TreetokError

Floats = npt.NDArray[np.float64]
# From sums over words (last axis: columns) to the figure.
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Measurement:
    """What each word (or sentence) contributes to a figure, one row per word, and how column sums become the
    figure. For a ratio, numerator and denominator are thus resampled separately.

    >>> right = Measurement(np.array([[1, 1], [0, 1], [1, 1], [1, 1]]), share_of_sums)
    >>> right.value, right.count
    (0.75, 4)
    >>> right.restricted_to([True, True, False, False]).value
    0.5
    """

    rows: npt.NDArray[np.float64]
    statistic: Statistic
    # Which words count: some figures are defined only for some words. None means all.
    counted: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise TreetokError("a measurement needs a row of finite numbers for each word")
        if self.counted is not None and self.counted.shape != (len(rows),):
            raise TreetokError(f"`counted` has {self.counted.size} entries for {len(rows)} words")
        object.__setattr__(self, "rows", rows)

    @cached_property
    def value(self) -> float:
        """The figure; nan where no word counts."""
        return float(self.statistic(self.rows.sum(axis=0)))

    @property
    def count(self) -> int:
        """How many words the figure is computed from."""
        return len(self.rows) if self.counted is None else int(np.count_nonzero(self.counted))

    def restricted_to(self, chosen: Sequence[bool] | npt.NDArray[np.bool_]) -> Measurement:
        """The same figure over some of the words."""
        mask = np.asarray(chosen, dtype=bool)
        if mask.shape != (len(self.rows),):
            raise TreetokError(f"the mask has {mask.size} entries for {len(self.rows)} words")
        return Measurement(self.rows[mask], self.statistic, None if self.counted is None else self.counted[mask])


def divide(numerator: npt.ArrayLike, denominator: npt.ArrayLike, otherwise: float) -> Floats:
    """Division that gives `otherwise` where the denominator is 0.

    >>> divide([1, 1], [2, 0], otherwise=0.0).tolist()
    [0.5, 0.0]
    """
    above, below = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    quotient = np.full(np.broadcast(above, below).shape, otherwise, dtype=np.float64)
    np.divide(above, below, out=quotient, where=below != 0)
    return quotient


def share_of_sums(sums: Floats) -> Floats:
    """The first column divided by the second; nan where nothing counts."""
    return divide(sums[..., 0], sums[..., 1], otherwise=np.nan)


def check_same_length(words: Sized, predictions: Sized, what: str = "predictions") -> None:
    if len(words) != len(predictions):
        raise TreetokError(f"{len(words)} words but {len(predictions)} {what}")

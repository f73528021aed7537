"""Bootstrap confidence intervals, and paired tests between two tokenizers.

Figures are functions of sums over words (`Measurement`), so a resample is a sum of rows, each weighted by how
often its word was drawn. Words with equal rows are interchangeable: how often a whole group is drawn comes from
one multinomial (or, for swaps, binomial) draw, which has the same distribution and is much faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError, share, whole_number
from treetok.evaluate.metrics.measurement import Floats, Measurement

DEFAULT_SAMPLES = 2000
DEFAULT_SWAPS = 10_000
DEFAULT_CONFIDENCE = 0.95
# At most this many numbers are drawn at a time, whatever the number of words.
MOST_DRAWS = 1 << 22
# Sums of the same numbers in a different order differ by less than this.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Figure:
    """A value, its bootstrap interval, and the number of words it is computed from."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class PairedTest:
    """The first figure minus the second (`difference`), its bootstrap interval, and the two-sided p-value: how
    likely a difference at least as large would be if the two tokenizers were equally good. `count` is the number
    of words compared.
    """

    difference: float
    low: float
    high: float
    p_value: float
    count: int


def interval(
    measurement: Measurement,
    samples: int = DEFAULT_SAMPLES,
    seed: int = 0,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Figure:
    """The percentile bootstrap interval of a figure, resampling words.

    >>> from treetok.evaluate.metrics.compression import kept_whole
    >>> figure = interval(kept_whole([["surf", "s"], ["no"], ["yes"], ["so"]] * 100))
    >>> figure.value, round(figure.low, 2), round(figure.high, 2), figure.count
    (0.75, 0.71, 0.79, 400)
    """
    samples = whole_number("samples", samples, least=1)
    confidence = share("confidence", confidence, may_be_one=False)
    values = [measurement.statistic(sums) for sums in _resampled_sums(measurement.rows, samples, seed)]
    low, high = _percentiles(np.concatenate(values), confidence)
    return Figure(measurement.value, low, high, measurement.count)


def paired_test(
    first: Measurement,
    second: Measurement,
    samples: int = DEFAULT_SWAPS,
    seed: int = 0,
    confidence: float = DEFAULT_CONFIDENCE,
) -> PairedTest:
    """Compare two tokenizers by the same figure over the same words in the same order.

    The interval comes from a paired bootstrap: the same words are drawn for both. The p-value comes from a paired
    permutation test (approximate randomisation): the rows of each word are swapped with probability one half.

    >>> from treetok.evaluate.metrics.compression import kept_whole
    >>> whole, cut = ["no"], ["n", "o"]
    >>> test = paired_test(kept_whole([whole] * 60 + [cut] * 40), kept_whole([whole] * 50 + [cut] * 50))
    >>> round(test.difference, 4), test.low > 0, test.p_value < 0.01
    (0.1, True, True)
    """
    samples = whole_number("samples", samples, least=1)
    confidence = share("confidence", confidence, may_be_one=False)
    if first.rows.shape != second.rows.shape:
        raise TreetokError(f"a paired test needs the same words, not {len(first.rows)} and {len(second.rows)}")
    if first.statistic is not second.statistic:
        raise TreetokError("a paired test compares one figure of two tokenizers, not two figures")
    # Canonical order, so that both orders of the arguments draw the same numbers and give the same p-value.
    if first.rows.tobytes() > second.rows.tobytes():
        turned = paired_test(second, first, samples, seed, confidence)
        return PairedTest(-turned.difference, -turned.high, -turned.low, turned.p_value, turned.count)

    columns = first.rows.shape[1]
    both = np.concatenate([first.rows, second.rows], axis=1)

    def differences(sums: Floats) -> Floats:
        return first.statistic(sums[..., :columns]) - first.statistic(sums[..., columns:])

    resampled = np.concatenate([differences(sums) for sums in _resampled_sums(both, samples, seed)])
    swapped = np.concatenate([differences(sums) for sums in _swapped_sums(both, samples, seed)])
    low, high = _percentiles(resampled, confidence)
    difference = first.value - second.value
    as_great = int(np.count_nonzero(np.abs(swapped) >= abs(difference) - ROUNDING))
    # The observed pairing is one of the permutations, so the p-value is never 0.
    p_value = math.nan if math.isnan(difference) else (as_great + 1) / (samples + 1)
    return PairedTest(difference, low, high, p_value, len(first.rows))


def _resampled_sums(rows: Floats, samples: int, seed: int) -> Iterator[Floats]:
    """Sums over rows drawn with replacement, as many as there are: arrays of (some samples, columns)."""
    groups, sizes = _groups(rows)
    generator = np.random.default_rng(seed)
    for some in _batches(samples, len(groups)):
        times_drawn = generator.multinomial(len(rows), sizes / len(rows), size=some)
        yield times_drawn @ groups


def _swapped_sums(both: Floats, samples: int, seed: int) -> Iterator[Floats]:
    """Sums over rows whose left and right halves are swapped with probability one half."""
    groups, sizes = _groups(both)
    half = both.shape[1] // 2
    left_to_right = groups[:, half:] - groups[:, :half]
    change_of_swap = np.concatenate([left_to_right, -left_to_right], axis=1)
    sums = sizes @ groups
    generator = np.random.default_rng(seed)
    for some in _batches(samples, len(groups)):
        times_swapped = generator.binomial(sizes, 0.5, size=(some, len(groups)))
        yield sums + times_swapped @ change_of_swap


def _groups(rows: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Distinct rows and how often each occurs."""
    if not len(rows):
        raise TreetokError("there are no words to draw from")
    groups, sizes = np.unique(rows, axis=0, return_counts=True)
    return groups, sizes.astype(np.int64)


def _batches(samples: int, numbers_per_sample: int) -> Iterator[int]:
    at_a_time = max(1, MOST_DRAWS // numbers_per_sample)
    for start in range(0, samples, at_a_time):
        yield min(at_a_time, samples - start)


def _percentiles(values: Floats, confidence: float) -> tuple[float, float]:
    # The figure is undefined in resamples in which no word counts.
    defined = values[~np.isnan(values)]
    if not defined.size:
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)

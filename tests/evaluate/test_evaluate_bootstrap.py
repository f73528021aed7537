"""Intervals and tests: right in simulation, equal to plain resampling, and the same for the same seed."""

import itertools
import math

import numpy as np
import pytest

from treetok.errors import TreetokError
from treetok.evaluate import bootstrap
from treetok.evaluate.bootstrap import Figure, interval, paired_test
from treetok.evaluate.gold import GoldWord
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums
from treetok.evaluate.metrics.segmentation import accuracy, boundaries
from treetok.evaluate.metrics.tree_recall import tree_recall

ONE_MORPH = GoldWord("walk", (("walk",),))
TWO_MORPHS = GoldWord("walks", (("walk", "s"),))
THREE_MORPHS = GoldWord("surfers", (("surf", "er", "s"),))
GOLD = [ONE_MORPH, TWO_MORPHS, THREE_MORPHS] * 40


def right_or_wrong(right) -> Measurement:
    right = np.asarray(right, dtype=float)
    return Measurement(np.stack([right, np.ones_like(right)], axis=1), share_of_sums)


def cut_at_random(seed: int, share_of_cuts: float) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    pieces = []
    for gold in GOLD:
        cuts = [place for place in range(1, len(gold.word)) if generator.random() < share_of_cuts]
        pieces.append([gold.word[a:b] for a, b in itertools.pairwise([0, *cuts, len(gold.word)])])
    return pieces


def all_figures(seed: int, share_of_cuts: float = 0.3) -> dict[str, Measurement]:
    pieces = cut_at_random(seed, share_of_cuts)
    macro, micro = boundaries(GOLD, pieces), boundaries(GOLD, pieces, "micro")
    spans = [{(0, 4), (4, 6)} if seed % 2 else {(4, 5)} for _ in GOLD]
    return {
        "accuracy": accuracy(GOLD, pieces),
        "macro precision": macro.precision,
        "macro recall": macro.recall,
        "macro F1": macro.f1,
        "micro F1": micro.f1,
        "tree recall": tree_recall(GOLD, spans).by_word,
        "pooled tree recall": tree_recall(GOLD, spans).pooled,
    }


NAMES = list(all_figures(0))


@pytest.mark.parametrize("name", NAMES)
def test_intervals_contain_the_value_and_depend_on_the_seed_alone(name):
    measurement = all_figures(seed=1)[name]
    figure = interval(measurement, seed=3)
    assert figure.low <= figure.value <= figure.high
    assert (figure.value, figure.count) == (measurement.value, measurement.count)
    assert interval(all_figures(seed=1)[name], seed=3) == figure
    if figure.low < figure.high:
        narrow = interval(measurement, seed=3, confidence=0.5)
        assert figure.low <= narrow.low <= narrow.high <= figure.high
        assert narrow.high - narrow.low < figure.high - figure.low


def test_the_order_of_words_does_not_matter():
    measurement = all_figures(seed=1)["macro F1"]
    turned = Measurement(measurement.rows[::-1], measurement.statistic)
    figure, other = interval(measurement), interval(turned)
    assert (figure.low, figure.high) == (other.low, other.high)


@pytest.mark.parametrize("name", NAMES)
def test_resamples_are_those_of_drawing_words_one_by_one(name):
    measurement = all_figures(seed=1)[name]
    rows = measurement.rows
    generator = np.random.default_rng(0)
    drawn = generator.integers(len(rows), size=(20_000, len(rows)))
    values = measurement.statistic(rows[drawn].sum(axis=1))
    figure = interval(measurement, samples=20_000)
    tolerance = 0.1 * (values.max() - values.min()) / 2
    assert (figure.low, figure.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=tolerance)


def test_a_ratio_is_not_the_mean_of_the_resampled_values_of_words():
    """Precision over the few words that have a boundary: the number of these words varies between resamples."""
    pieces = [["wal", "k"]] + [["walk", "s"]] * 3 + [["surfers"]] * 96
    words = [ONE_MORPH] + [TWO_MORPHS] * 3 + [THREE_MORPHS] * 96
    precision = boundaries(words, pieces).precision
    assert (precision.value, precision.count) == (0.75, 4)
    figure = interval(precision)
    assert figure.low < 0.3 and figure.high == 1


def test_memory_does_not_grow_with_the_samples(monkeypatch):
    measurement = all_figures(seed=1)["macro F1"]
    at_once = interval(measurement)
    monkeypatch.setattr(bootstrap, "MOST_DRAWS", 100)
    assert interval(measurement) == at_once


def test_coverage_of_a_share():
    generator = np.random.default_rng(0)
    covered = 0
    for seed in range(400):
        figure = interval(right_or_wrong(generator.random(300) < 0.3), samples=500, seed=seed)
        covered += figure.low <= 0.3 <= figure.high
    assert 0.92 <= covered / 400 <= 0.98


def test_coverage_of_a_ratio_of_sums():
    """Numerator and denominator vary together, as do hits and boundaries."""
    generator = np.random.default_rng(0)
    covered = 0
    for seed in range(400):
        totals = generator.integers(0, 5, size=300)
        hits = generator.binomial(totals, 0.6)
        figure = interval(Measurement(np.stack([hits, totals], axis=1), share_of_sums), samples=500, seed=seed)
        covered += figure.low <= 0.6 <= figure.high
    assert 0.92 <= covered / 400 <= 0.98


def test_a_figure_of_no_words():
    nothing = tree_recall([ONE_MORPH], [[(0, 4)]]).by_word
    figure = interval(nothing)
    assert math.isnan(figure.value) and math.isnan(figure.low) and math.isnan(figure.high) and figure.count == 0
    test = paired_test(nothing, nothing)
    assert math.isnan(test.difference) and math.isnan(test.p_value)
    with pytest.raises(TreetokError, match=r"^there are no words to draw from$"):
        interval(accuracy([], []))


def test_resamples_without_a_word_that_counts_are_left_out():
    one_of_two = Measurement(np.array([[1.0, 1.0], [0.0, 0.0]]), share_of_sums, np.array([True, False]))
    assert interval(one_of_two) == Figure(1.0, 1.0, 1.0, 1)


@pytest.mark.parametrize("name", NAMES)
def test_paired_test_is_symmetric(name):
    first, second = all_figures(seed=1)[name], all_figures(seed=2, share_of_cuts=0.4)[name]
    test, turned = paired_test(first, second, seed=5), paired_test(second, first, seed=5)
    assert test.p_value == turned.p_value
    assert (test.difference, test.low, test.high) == (-turned.difference, -turned.high, -turned.low)
    assert test.difference == pytest.approx(first.value - second.value)
    assert test.low <= test.difference <= test.high
    assert paired_test(first, second, seed=5) == test


def test_a_tokenizer_does_not_differ_from_itself():
    figure = all_figures(seed=1)["macro F1"]
    test = paired_test(figure, figure)
    assert (test.difference, test.low, test.high, test.p_value, test.count) == (0, 0, 0, 1, len(GOLD))


@pytest.mark.parametrize("name", ["accuracy", "macro precision", "macro F1", "micro F1"])
def test_p_value_is_the_share_of_all_ways_to_swap(name):
    words = slice(1, 11)
    first, second = all_figures(seed=1)[name], all_figures(seed=2, share_of_cuts=0.6)[name]
    left, right = first.rows[words], second.rows[words]
    observed = abs(first.statistic(left.sum(axis=0)) - first.statistic(right.sum(axis=0)))
    assert observed > 0
    as_great = 0
    for swaps in itertools.product([False, True], repeat=len(left)):
        swapped = np.array(swaps)[:, None]
        ours = first.statistic(np.where(swapped, right, left).sum(axis=0))
        theirs = first.statistic(np.where(swapped, left, right).sum(axis=0))
        as_great += abs(ours - theirs) >= observed - 1e-12
    exact = as_great / 2 ** len(left)
    test = paired_test(Measurement(left, first.statistic), Measurement(right, first.statistic), samples=40_000)
    assert test.p_value == pytest.approx(exact, abs=0.01)


def test_p_values_of_equal_tokenizers_are_uniform():
    generator = np.random.default_rng(0)
    p_values = []
    for seed in range(300):
        first, second = generator.random((2, 400)) < 0.4
        p_values.append(paired_test(right_or_wrong(first), right_or_wrong(second), samples=500, seed=seed).p_value)
    assert 0.02 <= np.mean(np.array(p_values) <= 0.05) <= 0.09
    assert 0.4 <= np.mean(np.array(p_values) <= 0.5) <= 0.6


def test_pairing_finds_what_two_intervals_do_not():
    """Hard words are hard for both: the intervals overlap although one tokenizer is better on every tenth word."""
    hard = np.arange(400) % 2 == 0
    better = hard | (np.arange(400) % 20 == 1)
    worse_figure, better_figure = interval(right_or_wrong(hard)), interval(right_or_wrong(better))
    assert worse_figure.high > better_figure.low
    test = paired_test(right_or_wrong(better), right_or_wrong(hard))
    assert test.low > 0 and 0 < test.p_value < 0.001


def test_arguments_are_checked():
    first = all_figures(seed=1)
    with pytest.raises(TreetokError, match=r"^a paired test needs the same words, not 2 and 3$"):
        paired_test(right_or_wrong([1, 0]), right_or_wrong([1, 0, 1]))
    with pytest.raises(
        TreetokError, match=r"^a paired test compares one figure of two tokenizers, not two figures$"
    ):
        paired_test(first["accuracy"], first["macro recall"])
    with pytest.raises(TreetokError, match=r"^samples must be a whole number of 1 or more, not 0$"):
        interval(first["accuracy"], samples=0)
    with pytest.raises(TreetokError, match=r"^confidence must be a number above 0 and below 1, not 95$"):
        interval(first["accuracy"], confidence=95)
    with pytest.raises(TreetokError, match=r"^confidence must be a number above 0 and below 1, not 1$"):
        paired_test(first["accuracy"], first["accuracy"], confidence=1)

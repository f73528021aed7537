"""Metrics: cases by hand, and Renyi efficiency as its authors compute it."""

import math

import numpy as np
import pytest
import tokenization_scorer
from hypothesis import given
from hypothesis import strategies as st

from treetok import Tree
from treetok.errors import TreetokError
from treetok.evaluate.gold import GoldWord
from treetok.evaluate.metrics.compression import (
    bytes_per_token,
    count_tokens,
    kept_whole,
    pieces_per_word,
    renyi_efficiency,
    tokens_per_sentence,
    tokens_per_word,
    vocabulary_use,
)
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums
from treetok.evaluate.metrics.segmentation import accuracy, bag_f1, boundaries
from treetok.evaluate.metrics.tree_recall import tree_recall

EVENING = GoldWord("evening", (("even", "ing"), ("evening",)))
SURFERS = GoldWord("surfers", (("surf", "er", "s"),))
WALK = GoldWord("walk", (("walk",),))
A = GoldWord("a", (("a",),))


# --- words and boundaries


def test_boundaries_by_hand():
    words, pieces = [EVENING, SURFERS, WALK], [["even", "ing"], ["surf", "ers"], ["wal", "k"]]
    macro = boundaries(words, pieces)
    # Precision 1/1, 1/1, 0/1; recall of `surfers` alone, as the others may be left whole.
    assert (macro.precision.value, macro.precision.count) == (pytest.approx(2 / 3), 3)
    assert (macro.recall.value, macro.recall.count) == (0.5, 1)
    assert macro.f1.value == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    # Recall 1, 1/2, 1.
    perfect = boundaries(words, pieces, uncut="perfect")
    assert (perfect.recall.value, perfect.recall.count) == (pytest.approx(2.5 / 3), 3)
    # Hits 1, 1, 0; predicted 1, 1, 1; right 1, 2, 0.
    micro = boundaries(words, pieces, "micro")
    assert (micro.precision.value, micro.recall.value, micro.f1.value) == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_words_of_one_letter_do_not_raise_the_perfect_scores():
    with_letter = boundaries([A, SURFERS], [["a"], ["surf", "ers"]], uncut="perfect")
    assert with_letter.recall.value == 0.5 and with_letter.recall.count == 1


def test_whole_words_have_no_precision_and_no_recall():
    scores = boundaries([SURFERS, WALK], [["surfers"], ["walk"]])
    assert (scores.precision.value, scores.recall.value, scores.f1.value) == (0, 0, 0)
    assert (scores.precision.count, scores.recall.count) == (0, 1)


def test_pieces_in_another_spelling_are_never_exact():
    naive = GoldWord("naïves", (("naïve", "s"),))
    assert accuracy([naive], [["naive", "s"]]).value == 0
    assert boundaries([naive], [["naive", "s"]]).f1.value == 1


def test_the_gold_itself_is_right():
    words = [EVENING, SURFERS, WALK]
    for choice in (0, -1):
        pieces = [list(word.alternatives[choice]) for word in words]
        assert accuracy(words, pieces).value == bag_f1(words, pieces).value == 1
        for average in ("macro", "micro"):
            scores = boundaries(words, pieces, average)
            assert scores.precision.value == scores.recall.value == scores.f1.value == 1


@pytest.mark.parametrize("metric", [accuracy, bag_f1, boundaries])
def test_predictions_that_do_not_fit(metric):
    with pytest.raises(TreetokError, match=r"^2 words but 1 predictions$"):
        metric([WALK, SURFERS], [["walk"]])
    with pytest.raises(
        TreetokError, match=r"^the prediction for 'walk' has an empty piece or none: \['', 'walk'\]$"
    ):
        metric([WALK], [["", "walk"]])
    with pytest.raises(TreetokError, match=r"^the prediction for 'walk' has an empty piece or none: \[\]$"):
        metric([WALK], [[]])


def test_unknown_averages():
    with pytest.raises(TreetokError, match="average='mean' and uncut='skipped'"):
        boundaries([WALK], [["walk"]], "mean")
    with pytest.raises(TreetokError, match="average='macro' and uncut='dropped'"):
        boundaries([WALK], [["walk"]], uncut="dropped")


def test_figures_over_some_of_the_words():
    words, pieces = [EVENING, SURFERS, WALK], [["even", "ing"], ["surf", "ers"], ["walk"]]
    chosen = [word.must_be_cut for word in words]
    exact = accuracy(words, pieces)
    assert (exact.value, exact.count) == (pytest.approx(2 / 3), 3)
    assert (exact.restricted_to(chosen).value, exact.restricted_to(chosen).count) == (0, 1)
    precision = boundaries(words, pieces).precision
    assert (precision.count, precision.restricted_to([False, True, True]).count) == (2, 1)
    with pytest.raises(TreetokError, match=r"^the mask has 2 entries for 3 words$"):
        exact.restricted_to([True, False])


def test_no_words_are_no_figure():
    assert math.isnan(accuracy([], []).value) and accuracy([], []).count == 0
    assert boundaries([], []).f1.value == 0


def test_measurements_are_checked():
    with pytest.raises(TreetokError, match="row of finite numbers"):
        Measurement(np.array([[math.nan, 1.0]]), share_of_sums)
    with pytest.raises(TreetokError, match="row of finite numbers"):
        Measurement(np.array([1.0, 1.0]), share_of_sums)
    with pytest.raises(TreetokError, match=r"^`counted` has 1 entries for 2 words$"):
        Measurement(np.ones((2, 2)), share_of_sums, np.array([True]))


# --- trees


def test_tree_recall_takes_the_best_alternative():
    gold = GoldWord("abcd", (("abc", "d"), ("ab", "cd"), ("abcd",)))
    tree = Tree("abcd", [1, 3, 2]).spans()  # [[a b] [c d]]
    assert tree_recall([gold], [tree], "described").pooled.rows.tolist() == [[2, 2]]
    assert tree_recall([gold], [tree], "released").pooled.rows.tolist() == [[2, 2]]


def test_tree_recall_arguments():
    with pytest.raises(TreetokError, match=r"^1 words but 0 trees$"):
        tree_recall([WALK], [])
    with pytest.raises(TreetokError, match=r"'described' or 'released', not 'leaves'$"):
        tree_recall([WALK], [[(0, 4)]], "leaves")
    with pytest.raises(TreetokError, match=r"^first must be a whole number of 1 or more, not 0$"):
        tree_recall([WALK], [[(0, 4)]], first=0)


# --- compression


def test_renyi_by_hand():
    # p = 1/2, 1/4, 1/4.
    counts = {"a": 2, "b": 1, "c": 1, "never": 0}
    assert renyi_efficiency(counts, power=2).entropy == pytest.approx(-math.log2(1 / 4 + 1 / 16 + 1 / 16))
    assert renyi_efficiency(counts, power=1).entropy == pytest.approx(1.5)
    assert renyi_efficiency(counts, power=math.inf).entropy == pytest.approx(1.0)
    assert renyi_efficiency(counts, power=5000).entropy == pytest.approx(1.0, abs=1e-3)
    by_default = renyi_efficiency(counts)
    assert by_default.power == 2.5
    assert by_default.entropy == pytest.approx(math.log2(0.5**2.5 + 2 * 0.25**2.5) / -1.5)
    assert (by_default.vocabulary_size, by_default.vocabulary) == (3, "observed")
    assert by_default.value == pytest.approx(by_default.entropy / math.log2(3))
    given_size = renyi_efficiency(counts, 1024)
    assert (given_size.vocabulary_size, given_size.vocabulary) == (1024, "given")
    assert given_size.value == pytest.approx(by_default.entropy / 10)


@given(
    st.dictionaries(st.sampled_from([f"t{i}" for i in range(30)]), st.integers(1, 50), min_size=2),
    st.sampled_from([0.5, 2.0, 2.5, 3.0]),
)
def test_renyi_is_that_of_its_authors(counts, power):
    tokens = [token for token, times in counts.items() for _ in range(times)]

    def score(**arguments) -> float:
        return tokenization_scorer.score([" ".join(tokens)], **arguments)

    ours = renyi_efficiency(count_tokens([tokens]), power=power)
    assert ours.entropy == pytest.approx(score(metric="renyi_entropy", power=power), abs=1e-9)
    assert ours.value == pytest.approx(score(metric="renyi", power=power), abs=1e-9)
    given_size = renyi_efficiency(counts, 32000, power)
    assert given_size.value == pytest.approx(score(metric="renyi", power=power, vocab=32000), abs=1e-9)
    shannon = renyi_efficiency(counts, power=1)
    assert shannon.value == pytest.approx(score(metric="shannon_efficiency"), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "needs the counts of some tokens"),
        (({"a": 0},), "needs the counts of some tokens"),
        (({"a": 1, "b": -1},), "needs the counts of some tokens"),
        (({"a": 3},), "not defined for a vocabulary of one token"),
        (({"a": 3, "b": 1}, 1), "2 different tokens occur, more than the vocabulary of 1 has"),
        (({"a": 3, "b": 1}, 2.5), "vocabulary_size must be a whole number of 1 or more, not 2.5"),
        (({"a": 3, "b": 1}, None, 0), "a number above 0, not 0"),
        (({"a": 3, "b": 1}, None, math.nan), "a number above 0, not nan"),
    ],
)
def test_renyi_arguments(arguments, message):
    with pytest.raises(TreetokError, match=message):
        renyi_efficiency(*arguments)


def test_one_token_alone_wastes_its_vocabulary():
    assert str(renyi_efficiency({"a": 3}, vocabulary_size=8).value) == "0.0"


def test_rates_are_ratios_of_sums():
    texts, tokenized = ["é a b", "abc"], [["é", "a", "b"], ["a", "b", "c"]]
    assert tokens_per_word(texts, tokenized).value == 6 / 4
    assert tokens_per_sentence(tokenized).value == 3
    assert bytes_per_token(texts, tokenized).value == 9 / 6
    assert pieces_per_word(tokenized).value == 3
    assert kept_whole([["a"], ["a", "b"], ["c"]]).value == pytest.approx(2 / 3)
    assert bytes_per_token(["\ud800"], [["x"]]).value == 3
    assert vocabulary_use({"a": 1, "b": 0}, 4) == 0.25
    with pytest.raises(TreetokError, match="2 different tokens occur, more than the vocabulary of 1 has"):
        vocabulary_use({"a": 1, "b": 1}, 1)
    with pytest.raises(TreetokError, match=r"^2 words but 1 tokenized texts$"):
        tokens_per_word(texts, tokenized[:1])
    assert math.isnan(bytes_per_token([], []).value)

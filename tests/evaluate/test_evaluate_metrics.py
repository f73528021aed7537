"""Metrics: cases by hand, an independent scorer, reference points, Renyi efficiency as its authors compute it."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import tokenization_scorer
from hypothesis import given
from hypothesis import strategies as st

from treetok import Tree
from treetok.errors import TreetokError
from treetok.evaluate.gold import GoldWord, read_gold
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

WORDS_PER_FILE = 4000


def random_cut(word: str, generator: random.Random) -> list[str]:
    share_of_cuts = generator.choice([0.0, 0.1, 0.3])
    cuts = [place for place in range(1, len(word)) if generator.random() < share_of_cuts]
    return [word[start:end] for start, end in zip([0, *cuts], [*cuts, len(word)], strict=True)]


@st.composite
def words_and_cuts(draw):
    """Words over two letters, each with up to three alternatives, and a way to cut each."""

    def cut(word: str) -> tuple[str, ...]:
        return tuple(random_cut(word, random.Random(draw(st.integers(0, 10**6)))))

    words = draw(st.lists(st.text("ab", min_size=1, max_size=7), min_size=1, max_size=8))
    gold = [GoldWord(word, tuple(cut(word) for _ in range(draw(st.integers(1, 3))))) for word in words]
    return gold, [list(cut(word)) for word in words]


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


def boundary_recall_of_morpho_challenge(reference, other, skip):
    """Of each word the best recall of `reference` (lists of alternatives) in `other`, averaged: as described."""
    recalls = []
    for of_word, others in zip(reference, other, strict=True):
        if len("".join(of_word[0])) < 2:
            continue
        cuts = [{len("".join(morphs[:n])) for n in range(1, len(morphs))} for morphs in of_word]
        other_cuts = [{len("".join(morphs[:n])) for n in range(1, len(morphs))} for morphs in others]
        if not all(cuts):
            if not skip:
                recalls.append(Fraction(1))
            continue
        recalls.append(max(Fraction(len(ours & theirs), len(ours)) for ours in cuts for theirs in other_cuts))
    return float(sum(recalls) / len(recalls)) if recalls else 0.0


@given(words_and_cuts())
def test_macro_boundaries_are_those_of_morpho_challenge(case):
    words, pieces = case
    gold, predicted = [word.alternatives for word in words], [[cut] for cut in pieces]
    for uncut, skip in (("skipped", True), ("perfect", False)):
        scores = boundaries(words, pieces, uncut=uncut)
        precision = boundary_recall_of_morpho_challenge(predicted, gold, skip)
        recall = boundary_recall_of_morpho_challenge(gold, predicted, skip)
        assert scores.precision.value == pytest.approx(precision)
        assert scores.recall.value == pytest.approx(recall)
        both = precision + recall
        assert scores.f1.value == pytest.approx(2 * precision * recall / both if both else 0.0)


@given(words_and_cuts())
def test_macro_boundaries_are_those_of_morfessor_where_uncut_words_are_perfect(case):
    evaluation = pytest.importorskip("morfessor.evaluation")
    # It takes each word once, divides by the words of one letter without adding them up, and by 0 for no hits.
    cases = {word.word: (word, cut) for word, cut in zip(*case, strict=True) if len(word.word) > 1}
    words, pieces = [word for word, _ in cases.values()], [cut for _, cut in cases.values()]
    ours = boundaries(words, pieces, uncut="perfect")
    if not ours.precision.value or not ours.recall.value:
        return
    morfessor = evaluation.MorfessorEvaluation({word.word: word.alternatives for word in words})
    all_words = evaluation.EvaluationConfig(num_samples=1, sample_size=len(words))
    theirs = morfessor.evaluate_segmentation([(1, cut) for cut in pieces], all_words)
    assert [ours.precision.value, ours.recall.value, ours.f1.value] == pytest.approx(
        [theirs["precision_avg"], theirs["recall_avg"], theirs["fscore_avg"]]
    )


@given(words_and_cuts())
def test_segmentation_agrees_with_an_independent_scorer(independent_scorer, case):
    check_segmentation(independent_scorer, *case)


def in_order(answers):
    """A function of words that gives one answer after the other: a word may come twice with different ones."""
    left = iter(answers)
    return lambda _word: next(left)


def check_segmentation(independent_scorer, words, pieces):
    gold = [(word.word, [list(morphs) for morphs in word.alternatives]) for word in words]
    exact = independent_scorer.tok_scores(gold, in_order(pieces))
    assert accuracy(words, pieces).value == exact["acc"]
    assert bag_f1(words, pieces).value == pytest.approx(exact["f1_bag"], abs=1e-12)
    micro = independent_scorer.boundary_scores(gold, in_order(pieces))
    ours = boundaries(words, pieces, "micro")
    assert (ours.precision.value, ours.recall.value) == (micro["P"], micro["R"])
    assert ours.f1.value == pytest.approx(micro["F1"], abs=1e-12)


def test_all_gold_files_score_as_with_an_independent_scorer(gold_folder, independent_scorer):
    generator = random.Random(0)
    for path in sorted(gold_folder.rglob("*.tsv")):
        words = read_gold(path).words
        words = generator.sample(words, min(len(words), WORDS_PER_FILE))
        check_segmentation(independent_scorer, words, [random_cut(word.word, generator) for word in words])
        check_segmentation(
            independent_scorer, words, [list(generator.choice(word.alternatives)) for word in words]
        )
        random_tree = independent_scorer.random_tree(generator)
        spans = [random_tree(word.word) for word in words]
        check_trees(independent_scorer, words, spans)


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


def branching(word: str, shape: str) -> list[tuple[int, int]]:
    places = range(len(word) - 1)
    return Tree(word, list(places) if shape == "left" else [-place for place in places]).spans()


def end_exclusive(spans):
    return {(start, last + 1) for start, last in spans}


def check_trees(independent_scorer, words, inclusive_spans):
    gold = [(word.word, [list(morphs) for morphs in word.alternatives]) for word in words]
    trees = [end_exclusive(spans) for spans in inclusive_spans]
    for protocol in ("released", "described"):
        for first in (None, 64):
            recall = tree_recall(words, trees, protocol, first)
            try:
                theirs = independent_scorer.tree_scores(gold, in_order(inclusive_spans), protocol, first)
            except ZeroDivisionError:
                assert recall.by_word.count == 0 and math.isnan(recall.by_word.value)
                continue
            assert recall.by_word.count == recall.pooled.count == theirs["n"]
            assert recall.by_word.value == pytest.approx(theirs["word_recall"], abs=1e-12)
            assert recall.pooled.value == theirs["corpus_recall"]


@given(words_and_cuts(), st.integers(0, 10**6))
def test_tree_recall_agrees_with_an_independent_scorer(independent_scorer, case, seed):
    words, _ = case
    random_tree = independent_scorer.random_tree(random.Random(seed))
    check_trees(independent_scorer, words, [random_tree(word.word) for word in words])


# Word-averaged recall in percent and words counted: released code over 64 words, over all, as described over all.
REFERENCE_POINTS = {
    ("morpho2010_en", "left"): [(58.46, 52), (60.72, 844), (56.89, 844)],
    ("morpho2010_en", "right"): [(47.18, 52), (46.64, 844), (29.42, 844)],
    ("morpho2010_en", "balanced"): [(43.56, 52), (42.88, 844), (27.68, 844)],
    ("compound_en", "left"): [(50.00, 64), (50.00, 759), (50.00, 759)],
    ("compound_en", "right"): [(50.00, 64), (50.00, 759), (50.00, 759)],
    ("compound_en", "balanced"): [(47.66, 64), (50.33, 759), (50.33, 759)],
}


@pytest.mark.parametrize(("name", "shape"), REFERENCE_POINTS)
def test_reference_points_of_tree_recall(gold_folder, independent_scorer, name, shape):
    words = read_gold(gold_folder / f"{name}.tsv").words
    if shape == "balanced":
        trees = [end_exclusive(independent_scorer.balanced(word.word)) for word in words]
    else:
        trees = [branching(word.word, shape) for word in words]
    found = [tree_recall(words, trees, *how).by_word for how in (("released", 64), ("released",), ("described",))]
    assert [(round(100 * recall.value, 2), recall.count) for recall in found] == REFERENCE_POINTS[name, shape]


def test_single_characters_are_free_hits_of_the_released_protocol(gold_folder):
    words = read_gold(gold_folder / "morpho2010_en.tsv").words[:64]
    leaves = [[(place, place + 1) for place in range(len(word.word))] for word in words]
    pooled = tree_recall(words, leaves, "released").pooled
    assert pooled.rows.sum(axis=0).tolist() == [25, 130]
    assert round(100 * tree_recall(words, leaves, "released").by_word.value, 2) == 18.33
    assert tree_recall(words, leaves, "described").by_word.value == 0


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

"""Metrics against scorers that share no code with them: the plain one of these tests, Morfessor's, another one."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate import plain_scorer as plain
from treetok import Tree
from treetok.evaluate.gold import GoldWord, read_gold
from treetok.evaluate.metrics.segmentation import accuracy, bag_f1, boundaries
from treetok.evaluate.metrics.tree_recall import tree_recall

WORDS_PER_FILE = 300


def random_cut(word, generator):
    share_of_cuts = generator.choice([0.0, 0.1, 0.3])
    cuts = [place for place in range(1, len(word)) if generator.random() < share_of_cuts]
    return [word[start:end] for start, end in zip([0, *cuts], [*cuts, len(word)], strict=True)]


def random_tree(word, generator):
    return plain.tree(len(word), lambda start, end: generator.randrange(start + 1, end))


@st.composite
def words_and_cuts(draw):
    """Words over two letters, each with up to three alternatives, and a way to cut each."""

    def cut(word):
        return tuple(random_cut(word, random.Random(draw(st.integers(0, 10**6)))))

    words = draw(st.lists(st.text("ab", min_size=1, max_size=7), min_size=1, max_size=8))
    gold = [GoldWord(word, tuple(cut(word) for _ in range(draw(st.integers(1, 3))))) for word in words]
    return gold, [list(cut(word)) for word in words]


def as_pairs(words):
    return [(word.word, [list(morphs) for morphs in word.alternatives]) for word in words]


def check_segmentation(words, pieces):
    gold = as_pairs(words)
    assert accuracy(words, pieces).value == pytest.approx(float(plain.accuracy(gold, pieces)), abs=1e-12)
    assert bag_f1(words, pieces).value == pytest.approx(float(plain.bag_f1(gold, pieces)), abs=1e-12)
    for scores, expected in (
        (boundaries(words, pieces), plain.boundary_means(gold, pieces)),
        (boundaries(words, pieces, uncut="perfect"), plain.boundary_means(gold, pieces, uncut_is_perfect=True)),
        (boundaries(words, pieces, "micro"), plain.boundary_totals(gold, pieces)),
    ):
        found = [scores.precision.value, scores.recall.value, scores.f1.value]
        assert found == pytest.approx([float(share) for share in expected], abs=1e-12)


def check_trees(words, trees):
    for protocol, letters_count in (("released", True), ("described", False)):
        for first in (None, 64):
            recall = tree_recall(words, trees, protocol, first)
            by_word, pooled, counted = plain.tree_recall(as_pairs(words), trees, letters_count, first)
            assert recall.by_word.count == recall.pooled.count == counted
            if counted:
                assert recall.by_word.value == pytest.approx(float(by_word), abs=1e-12)
                assert recall.pooled.value == pytest.approx(float(pooled), abs=1e-12)


@given(words_and_cuts())
def test_segmentation_agrees_with_the_plain_scorer(case):
    check_segmentation(*case)


@given(words_and_cuts(), st.integers(0, 10**6))
def test_tree_recall_agrees_with_the_plain_scorer(case, seed):
    words, _ = case
    generator = random.Random(seed)
    check_trees(words, [random_tree(word.word, generator) for word in words])


def test_all_gold_files_score_as_with_the_plain_scorer(gold_files):
    """The sample of the project, and the gold that lies beside it, if any does."""
    generator = random.Random(0)
    for path in gold_files:
        gold = read_gold(path)
        assert (gold.kind, gold.skipped) == ("tsv", ())
        words = gold.words
        assert as_pairs(words) == plain.read(path)
        # In the order of the file, of which one protocol scores the first words alone.
        words = [words[k] for k in sorted(generator.sample(range(len(words)), min(len(words), WORDS_PER_FILE)))]
        check_segmentation(words, [random_cut(word.word, generator) for word in words])
        check_segmentation(words, [list(generator.choice(word.alternatives)) for word in words])
        check_trees(words, [random_tree(word.word, generator) for word in words])


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


# ---- figures that are known beforehand


def trees_of(words, shape):
    return [plain.tree(len(word.word), plain.SHAPES[shape]) for word in words]


def recalls(words, trees):
    """Word-averaged recall and words counted: released code over 64 words, over all, as described over all."""
    found = [tree_recall(words, trees, *how).by_word for how in (("released", 64), ("released",), ("described",))]
    return [(round(100 * recall.value, 2), recall.count) for recall in found]


def test_trees_on_compounds_of_two_parts(gold_sample):
    """Of two parts, a tree that branches one way has the one that it begins with and no other, unless that is a
    letter: these are half right whatever the words are."""
    words = [word for word in read_gold(gold_sample) if {len(morphs) for morphs in word.alternatives} == {2}]
    words = [word for word in words if min(len(morph) for morphs in word.alternatives for morph in morphs) > 1]
    assert len(words) > 20
    for shape in ("left", "right"):
        assert recalls(words, trees_of(words, shape)) == [(50.0, len(words))] * 3


def test_single_characters_are_free_hits_of_the_released_protocol(gold_sample):
    words = read_gold(gold_sample).words
    leaves = [{(place, place + 1) for place in range(len(word.word))} for word in words]
    pooled = tree_recall(words, leaves, "released").pooled
    letters = [max(sum(len(morph) == 1 for morph in morphs) for morphs in word.alternatives) for word in words]
    # `a` and `I` are whole words, and these never count.
    assert pooled.rows[:, 0].sum() == sum(letters) - 2
    assert tree_recall(words, leaves, "described").by_word.value == 0


# Published together with the protocol: (released, first 64), (released, all), (described, all).
REFERENCE_POINTS = {
    ("morpho2010_en", "left"): [(58.46, 52), (60.72, 844), (56.89, 844)],
    ("morpho2010_en", "right"): [(47.18, 52), (46.64, 844), (29.42, 844)],
    ("morpho2010_en", "balanced"): [(43.56, 52), (42.88, 844), (27.68, 844)],
    ("compound_en", "left"): [(50.00, 64), (50.00, 759), (50.00, 759)],
    ("compound_en", "right"): [(50.00, 64), (50.00, 759), (50.00, 759)],
    ("compound_en", "balanced"): [(47.66, 64), (50.33, 759), (50.33, 759)],
}


def test_reference_points_of_tree_recall(gold_folder):
    for (name, shape), expected in REFERENCE_POINTS.items():
        words = read_gold(gold_folder / f"{name}.tsv").words
        assert recalls(words, trees_of(words, shape)) == expected
    words = read_gold(gold_folder / "morpho2010_en.tsv").words[:64]
    leaves = [{(place, place + 1) for place in range(len(word.word))} for word in words]
    assert tree_recall(words, leaves, "released").pooled.rows.sum(axis=0).tolist() == [25, 130]


def test_the_scorer_of_others_agrees_with_the_plain_one(gold_folder, independent_scorer):
    """Two people read the same description: what they wrote gives the same figures."""
    generator = random.Random(1)
    for name in ("morpho2010_en", "compound_en"):
        gold = plain.read(gold_folder / f"{name}.tsv")
        assert gold == independent_scorer.load(str(gold_folder / f"{name}.tsv"))
        cuts = {word: random_cut(word, generator) for word, _ in gold}
        trees = {word: random_tree(word, generator) for word, _ in gold}
        in_order, trees_in_order = [cuts[word] for word, _ in gold], [trees[word] for word, _ in gold]
        theirs = independent_scorer.tok_scores(gold, cuts.__getitem__)
        assert float(plain.accuracy(gold, in_order)) == pytest.approx(theirs["acc"])
        assert float(plain.bag_f1(gold, in_order)) == pytest.approx(theirs["f1_bag"])
        theirs = independent_scorer.boundary_scores(gold, cuts.__getitem__)
        found = [float(share) for share in plain.boundary_totals(gold, in_order)]
        assert found == pytest.approx([theirs[key] for key in ("P", "R", "F1")])
        inclusive = {word: {(start, end - 1) for start, end in tree} for word, tree in trees.items()}
        for mode, first in (("released", 64), ("released", None), ("described", None)):
            theirs = independent_scorer.tree_scores(gold, inclusive.__getitem__, mode, first)
            by_word, pooled, counted = plain.tree_recall(gold, trees_in_order, mode == "released", first)
            assert (float(by_word), float(pooled), counted) == pytest.approx(
                (theirs["word_recall"], theirs["corpus_recall"], theirs["n"])
            )


def test_plain_trees_are_trees(gold_sample):
    for word in read_gold(gold_sample):
        n = len(word.word)
        left, right = Tree(word.word, list(range(n - 1))), Tree(word.word, [-place for place in range(n - 1)])
        assert plain.tree(n, plain.SHAPES["left"]) == set(left.spans())
        assert plain.tree(n, plain.SHAPES["right"]) == set(right.spans())

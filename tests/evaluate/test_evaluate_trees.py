"""Sources of trees for comparison."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from treetok import Tree
from treetok.corpus.counting import count_words
from treetok.evaluate.baselines.morfessor_baseline import train_morfessor
from treetok.evaluate.interface import NamedTreeTokenizer
from treetok.evaluate.tree_sources import (
    Balanced,
    LeftBranching,
    OverStrings,
    Random,
    RightBranching,
    count_trees,
    tree_sources,
)
from treetok.sources import TreeSource, scores_of_words
from treetok.text import profile_named
from treetok.tree import walk_spans

words = st.text("abcdef", min_size=1, max_size=20)


def spans(source, word) -> set[tuple[int, int]]:
    """First and last letter of every span."""
    return {(start, end - 1) for start, end, _ in walk_spans(scores_of_words(source, [word])[word])}


def halved(first, last) -> set[tuple[int, int]]:
    middle = (first + last) // 2
    return {(first, last)} | (halved(first, middle) | halved(middle + 1, last) if first < last else set())


@given(words)
def test_trivial_trees_are_what_they_are_called(word):
    n = len(word)
    leaves = {(i, i) for i in range(n)}
    assert spans(LeftBranching(), word) == leaves | {(0, j) for j in range(n)}
    assert spans(RightBranching(), word) == leaves | {(i, n - 1) for i in range(n)}
    assert spans(Balanced(), word) == halved(0, n - 1)


def test_random_trees_depend_on_the_word_and_the_seed_alone():
    forwards, backwards = Random(7).split_scores(["lower", "newest"]), Random(7).split_scores(["newest", "lower"])
    assert forwards == backwards[::-1]
    assert Random(7).split_scores(["lower"]) != Random(8).split_scores(["lower"])
    random.seed(1)
    expected = random.random()
    random.seed(1)
    Random().split_scores(["lower"])
    assert random.random() == expected


def test_random_trees_split_every_span_anywhere_with_equal_chances():
    roots, second = Counter(), Counter()
    for seed in range(3000):
        splits = [split for _, _, split in walk_spans(Random(seed).split_scores(["abcde"])[0]) if split >= 0]
        roots[splits[0]] += 1
        if splits[0] == 0:
            second[splits[1]] += 1
    assert set(roots) == {0, 1, 2, 3} and set(second) == {1, 2, 3}
    # Five standard deviations of a fair draw.
    for drawn in (roots, second):
        total, chance = sum(drawn.values()), 1 / len(drawn)
        assert all(abs(n - total * chance) < 5 * (total * chance * (1 - chance)) ** 0.5 for n in drawn.values())


@pytest.mark.parametrize("name", ["uncased", "lossless"])
def test_trees_over_strings_are_those_of_the_tokenizer(request, name):
    """`TreeTokenizer.tree` puts the boundaries between words on top as well."""
    tokenizer = request.getfixturevalue(name)
    source = OverStrings(tokenizer.state, name)
    strings = ["lighthouses", "fielder's", "chain-gang", "Weren't", "a", "walked", "qxzvj", "mother-in-law's"]
    for string in strings:
        tree = Tree(string, source.split_scores([string])[0])
        assert tree.spans() == tokenizer.tree(string).spans()
    assert len(source.split_scores(strings)) == len(strings)


def test_trees_over_strings_stand_over_the_characters_given():
    """Not over what a profile makes of them."""
    source = OverStrings(RightBranching(), "uncased")
    assert Tree("Éa", source.split_scores(["Éa"])[0]).brackets() == "[É a]"
    # A combining mark goes with the character before it, and so does a dropped character.
    assert Tree("e\u0301ab", source.split_scores(["e\u0301ab"])[0]).brackets() == "[[e \u0301] [a b]]"
    assert Tree("a\u200bbc", source.split_scores(["a\u200bbc"])[0]).brackets() == "[[a \u200b] [b c]]"
    assert Tree("東京", source.split_scores(["東京"])[0]).brackets() == "[東 京]"
    lossless = OverStrings(LeftBranching(), "lossless")
    assert (
        Tree("ice Cream", lossless.split_scores(["ice Cream"])[0]).brackets()
        == "[[[i c] e] [[[[[  C] r] e] a] m]]"
    )


@given(st.text(min_size=1, max_size=15).filter(lambda text: text.isprintable()))
def test_any_string_has_a_tree(string):
    for profile in ("uncased", "lossless"):
        (scores,) = scores_of_words(OverStrings(LeftBranching(), profile), [string]).values()
        assert len(scores) == len(string) - 1


def test_counts_are_counted_in_the_form_trees_are_read_off():
    lossless = count_trees({" Walking": 2, "walking": 1, " walk": 3, " ring": 3}, profile_named("lossless"))
    uncased = count_trees({"walking": 3, "walk": 3, "ring": 3}, profile_named("uncased"))
    assert (lossless.hashes == uncased.hashes).all() and (lossless.counts == uncased.counts).all()


def test_morfessor_trees_go_down_to_morphs_and_branch_left_inside_them():
    stems = ("walk", "jump", "look", "help", "talk", "climb", "paint", "cook")
    counts = {stem + ending: 3 for stem in stems for ending in ("", "s", "ed", "ing", "er", "ers")}
    morfessor = train_morfessor(counts, "uncased")

    def brackets(word):
        return Tree(word, morfessor.trees.split_scores([word])[0]).brackets()

    assert brackets("walking") == "[[[[w a] l] k] [[i n] g]]"
    # Not a word of the text.
    assert brackets("walkwalking") == "[[[[w a] l] k] [[[[w a] l] k] [[i n] g]]]"
    for word in counts:
        tree = Tree(word, morfessor.trees.split_scores([word])[0])
        stored = morfessor.model.segment(word)
        ends = {0}
        for morph in stored:
            start = max(ends)
            assert (start, start + len(morph)) in tree.spans()
            ends.add(start + len(morph))
    assert morfessor.trees.split_scores(["x", "qq"]) == [[], [0]]


@pytest.mark.parametrize("name", ["uncased", "lossless"])
def test_all_trees_by_name(request, name):
    tokenizer = request.getfixturevalue(name)
    counts = count_words(SAMPLE_FILES, profile_named(name)).counts()
    morfessor = train_morfessor(counts, name, max_types=200)
    sources = tree_sources(
        name, word_counts=counts, tokenizers=[NamedTreeTokenizer(tokenizer, "ours")], morfessor=morfessor
    )
    assert list(sources) == [
        *("ours", "ours, parser alone"),
        *("left-branching", "right-branching", "balanced", "random", "counts", "Morfessor"),
    ]
    strings = ["lighthouses", "Fielder's", "chain-gang", "naïve", "東京", "x"]
    for source in sources.values():
        assert isinstance(source, TreeSource)
        scores = scores_of_words(source, strings)
        # The boundary between the words is the topmost split.
        assert next(split for _, _, split in walk_spans(scores["Fielder's"])) == len("fielder") - 1
    # This tokenizer has its trees from the counts of the same text.
    assert sources["ours"].split_scores(strings) == sources["counts"].split_scores(strings)
    assert list(tree_sources("uncased", pre_tokenize=False)) == list(sources)[2:6]

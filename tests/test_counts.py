from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treetok.sources import CountTrees, TreeSource, ngram_counts
from treetok.tree import Tree

words_of_few_letters = st.text("abc", min_size=1, max_size=8)


def scores_by_definition(word_counts, word):
    """Split where min(count(left), count(right)) is highest, leftmost on ties; n-grams seen once are ignored."""
    seen = Counter()
    for known, times in word_counts.items():
        for start in range(len(known)):
            for end in range(start + 1, len(known) + 1):
                seen[known[start:end]] += times
    scores = [0] * (len(word) - 1)

    def split(start, end, depth):
        if end - start > 1:
            smaller = {k: min(seen[word[start:k]], seen[word[k:end]]) for k in range(start + 1, end)}
            smaller = {k: count if count > 1 else min(count, 0) for k, count in smaller.items()}
            k = max(smaller, key=lambda k: (smaller[k], -k))
            scores[k - 1] = -depth
            split(start, k, depth + 1)
            split(k, end, depth + 1)

    split(0, len(word), 0)
    return scores


@given(st.dictionaries(words_of_few_letters, st.integers(1, 5), max_size=20), st.lists(words_of_few_letters))
def test_trees_follow_the_definition(word_counts, unseen):
    source = CountTrees.from_words(word_counts)
    words = [*word_counts, *unseen]
    for word, scores in zip(words, source.split_scores(words), strict=True):
        assert scores.tolist() == scores_by_definition(word_counts, word)


def test_batches_change_nothing(monkeypatch, sample_text):
    words = Counter(sample_text.lower().split())
    source = CountTrees.from_words(words)
    at_once = source.split_scores(list(words))
    monkeypatch.setattr(ngram_counts, "SPANS_PER_BATCH", 100)
    for one, other in zip(at_once, source.split_scores(list(words)), strict=True):
        assert np.array_equal(one, other)


def test_suffixes_are_found():
    stems = ["walk", "talk", "jump", "look", "turn", "work"]
    words = {stem + ending: 5 for stem in stems for ending in ("", "s", "ed", "ing", "er")}
    source = CountTrees.from_words(words)
    for stem in stems:
        tree = Tree(stem + "ing", source.split_scores([stem + "ing"])[0])
        assert {(0, 4), (4, 7)} <= set(tree.spans())


def test_it_is_a_source_of_trees():
    assert isinstance(CountTrees.from_words({}), TreeSource)
    assert [len(scores) for scores in CountTrees.from_words({}).split_scores(["a", "abc"])] == [0, 2]
    assert CountTrees.from_words({"ab": 1}).split_scores([]) == []

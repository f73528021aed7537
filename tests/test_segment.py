import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import reference_algorithms as reference
from treetok.segment import Segmenter
from treetok.text.word_limit import LONGEST_WORD

words = st.text("abcx", min_size=1, max_size=9)


@st.composite
def vocabularies(draw):
    """Counts of a few tokens, with many ties; `x` is never a token."""
    tokens = draw(st.lists(st.text("abc", min_size=1, max_size=4), max_size=25))
    return {token: draw(st.sampled_from([0, 1, 1, 2, 4, 8, 64])) for token in [*"abc", *tokens]}


@st.composite
def trees(draw):
    word = draw(words)
    return word, [draw(st.integers(0, 4)) for _ in word[1:]]


def all_merges(pieces):
    """Every way to merge adjacent pieces."""
    for joins in product([False, True], repeat=len(pieces) - 1):
        merged = pieces[:1]
        for join, piece in zip(joins, pieces[1:], strict=True):
            if join:
                merged[-1:] = [merged[-1] + piece]
            else:
                merged = [*merged, piece]
        yield merged


@given(vocabularies(), trees())
def test_cut_equals_the_pseudo_code(counts, tree):
    word, scores = tree
    segmenter = Segmenter(counts)
    expected = reference.tokenize(reference.parse(word, scores), segmenter.costs, segmenter.unknown)
    assert segmenter.cut(word, scores) == expected


@given(vocabularies(), st.lists(st.sampled_from(["a", "b", "c", "ab", "x"]), min_size=1, max_size=8))
def test_post_merge_finds_the_best_of_all_merges(counts, pieces):
    counts = {**counts, "ab": counts.get("ab", 3)}
    segmenter = Segmenter(counts)

    def cost(merged):
        pieces_left = set(pieces)
        known = [segmenter.costs.get(t, segmenter.unknown if t in pieces_left else None) for t in merged]
        return math.inf if None in known else sum(known)

    merged = segmenter.post_merge(pieces)
    assert "".join(merged) == "".join(pieces)
    assert cost(merged) == min(map(cost, all_merges(pieces)))
    assert merged == reference.post_merge(pieces, segmenter.costs, segmenter.unknown)


@given(vocabularies(), st.lists(st.sampled_from(["a", "b", "c", "ab", "x"]), min_size=1, max_size=8))
def test_the_fewest_tokens_come_before_entropies(counts, pieces):
    counts = {**counts, "ab": counts.get("ab", 3)}
    entropies = Segmenter(counts)

    def tokens_and_entropies(merged):
        known = [entropies.costs.get(t, entropies.unknown if t in set(pieces) else None) for t in merged]
        return (math.inf, 0) if None in known else (len(merged), sum(known))

    merged = Segmenter(counts, fewest_tokens=True).post_merge(pieces)
    assert tokens_and_entropies(merged) == min(map(tokens_and_entropies, all_merges(pieces)))


def test_a_letter_that_is_a_frequent_word_is_merged_with_fewest_tokens():
    counts = {"hesper": 3, "i": 500, "a": 90_000, "ia": 20}
    assert Segmenter(counts).post_merge(["hesper", "i", "a"]) == ["hesper", "i", "a"]
    assert Segmenter(counts, fewest_tokens=True).post_merge(["hesper", "i", "a"]) == ["hesper", "ia"]


def test_the_fewest_tokens_win_however_rare_they_are():
    """The longest word there is: 32 of the rarest tokens, or 33 of the most frequent ones."""
    word = "ab" * (LONGEST_WORD // 2)
    # Larger counts would have fewer binary places.
    counts = dict.fromkeys(["a", "b", "ba"], 350_000_000) | {"ab": 1}
    assert Segmenter(counts).post_merge(list(word)) == ["a", *["ba"] * (LONGEST_WORD // 2 - 1), "b"]
    assert Segmenter(counts, fewest_tokens=True).post_merge(list(word)) == ["ab"] * (LONGEST_WORD // 2)


def test_a_character_outside_the_vocabulary_costs_as_much_as_the_rarest_token():
    for fewest_tokens in (False, True):
        segmenter = Segmenter({"a": 100, "b": 3, "c": 7}, fewest_tokens)
        assert segmenter.unknown == segmenter.costs["b"]


def test_ties_keep_pieces_apart():
    # p(ab) = 1/16 = p(a) * p(b): merging gains nothing, and the <= in Algorithm 2 then keeps the split.
    assert Segmenter({"a": 4, "b": 4, "ab": 2, "c": 6}).post_merge(["a", "b"]) == ["ab"]
    tied = Segmenter({"a": 4, "b": 4, "ab": 1, "c": 7})
    assert tied.costs["a"] + tied.costs["b"] == tied.costs["ab"]
    assert tied.post_merge(["a", "b"]) == ["a", "b"]


def test_the_example_of_the_paper():
    # [[[book] e] d] with `ed` in the vocabulary: post-merge corrects the tree.
    counts = {**dict.fromkeys("boked", 10), "book": 50, "ed": 60}
    assert Segmenter(counts).match_top_down("booked", [1, 1, 1, 2, 3]) == ["book", "e", "d"]
    assert Segmenter(counts).cut("booked", [1, 1, 1, 2, 3]) == ["book", "ed"]


def test_a_long_left_branching_word_needs_no_recursion():
    word = "".join(random.Random(0).choices("abc", k=20_000))
    pieces = Segmenter({"a": 5, "b": 5, "c": 5, "ab": 9}).cut(word, range(len(word) - 1))
    assert "".join(pieces) == word
    assert set(pieces) == {"a", "b", "c", "ab"}


class Watched(dict):
    """Counts the characters of the strings that are looked up in it."""

    characters = 0

    def __contains__(self, token):
        self.characters += len(token)
        return super().__contains__(token)

    def get(self, token, default=None):
        self.characters += len(token)
        return super().get(token, default)


@pytest.mark.parametrize("fewest_tokens", [False, True])
@pytest.mark.parametrize("shape", ["left-branching", "right-branching", "random"])
def test_work_is_linear_in_the_length_of_a_word(shape, fewest_tokens):
    def characters_looked_up(length):
        segmenter = Segmenter({"a": 5, "b": 5, "c": 5, "ab": 9, "abcab": 3}, fewest_tokens)
        segmenter.costs = Watched(segmenter.costs)
        word = "".join(random.Random(0).choices("abc", k=length))
        scores = list(range(length - 1))
        if shape == "right-branching":
            scores.reverse()
        elif shape == "random":
            random.Random(1).shuffle(scores)
        assert "".join(segmenter.cut(word, scores)) == word
        return segmenter.costs.characters

    # Quadratic work would be 64 times as much.
    assert 6 < characters_looked_up(4000) / characters_looked_up(500) < 10

"""The cost of a vocabulary after post-merge, against words segmented one by one."""

import random

import numpy as np
import pytest

from treetok.segment import Segmenter
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.merged_cuts import MergedCuts
from treetok.vocabulary.top_down_cuts import TopDownCuts, token_costs


def random_trees(seed, words=40):
    rng = random.Random(seed)
    strings = {"".join(rng.choices("abcd", k=rng.randint(1, 9))) for _ in range(words)}
    return [(word, [rng.random() for _ in word[1:]], rng.randint(1, 9)) for word in sorted(strings)]


def plain_total(trees, vocabulary, weights, cost, erased_end_cost):
    """Words are segmented by the segmenter; every end of a word that merging erases has its cost."""
    segmenter = Segmenter(vocabulary, fewest_tokens=True)
    words = {word for word, _, count in trees if count >= 2 and len(word) >= 3}
    total = 0
    for (word, scores, _), weight in zip(trees, weights, strict=True):
        before, after = segmenter.match_top_down(word, scores), segmenter.cut(word, scores)
        ends_before, ends_after = ({len("".join(p[: k + 1])) for k in range(len(p))} for p in (before, after))
        erased = sum(word[:end] in words for end in ends_before - ends_after)
        total += weight * (sum(map(cost, after)) + erased_end_cost * erased)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_the_total_is_that_of_words_segmented_one_by_one(seed):
    trees, rng = random_trees(seed), random.Random(seed)
    nodes = SharedNodes(trees)
    extra = rng.choice([0, 0.5])
    costs = token_costs(nodes.tokens, extra)
    present = np.array([len(token) == 1 or rng.random() < 0.2 for token in nodes.tokens])
    candidates = present | np.array([rng.random() < 0.7 for _ in nodes.tokens])
    weights = np.array([rng.randint(1, 50) for _ in trees])
    counts = TopDownCuts(nodes, present, nodes.frequencies, costs).counts
    vocabulary = {nodes.tokens[k]: int(counts[k]) for k in np.flatnonzero(present)}
    erased_end_cost = rng.choice([0, 200, 450])
    cuts = MergedCuts(nodes, candidates, present, weights, costs, erased_end_cost)

    def cost(token):
        return 150 if extra and len(token) == 1 else 100

    expected = plain_total(trees, vocabulary, weights.tolist(), cost, erased_end_cost)
    assert cuts.total == expected


def cuts_of(trees, tokens):
    nodes = SharedNodes(trees)
    present = np.array([len(token) == 1 or token in tokens for token in nodes.tokens])
    everything = np.ones(len(present), dtype=bool)
    cuts = MergedCuts(nodes, everything, present, nodes.frequencies, token_costs(nodes.tokens, 0), 200)
    return cuts, dict(zip(nodes.tokens, cuts.worth.tolist(), strict=True))


def test_a_token_is_worth_the_tokens_it_would_merge():
    trees = [("xe", [0], 1), ("abxe", [0, 1, 2], 7), ("cdxe", [0, 1, 2], 5)]
    _, worth = cuts_of(trees, {"ab", "cd"})
    # In its own word, and in the other two, where it would merge x and e.
    assert worth["xe"] == 100 * (1 + 7 + 5)
    # Nothing is merged here: the top-down worth.
    assert worth["abxe"] == 100 * 7 * 2
    cuts, worth = cuts_of(trees, {"ab", "cd", "xe"})
    assert worth["xe"] == 100 * (1 + 7 + 5)
    assert cuts.total == 100 * (1 + 7 * 2 + 5 * 2)


def test_erasing_the_end_of_a_word_has_its_cost():
    plain = [("xe", [0], 1), ("abxe", [0, 1, 2], 7), ("abx", [0, 1], 1)]
    _, worth = cuts_of(plain, {"ab"})
    # `abx` is seen only once: too rare to count as a word.
    assert worth["xe"] == 100 * (1 + 7)
    words = [*plain[:2], ("abx", [0, 1], 2)]
    _, worth = cuts_of(words, {"ab"})
    assert worth["xe"] == 100 * (1 + 7 - 2 * 7)
    cuts, worth = cuts_of(words, {"ab", "xe"})
    assert worth["xe"] == 100 * (1 + 7 - 2 * 7)
    assert cuts.total == 100 * (1 + 7 * 2 + 2 * 2 + 2 * 7)


def test_tokens_that_complete_words_are_chosen_and_tokens_that_erase_ends_are_not():
    """Verbs in -ize are trees like [[legal iz] e]; plurals in -ers are trees like [[play er] s]. `ers` alone is
    frequent enough to be chosen for its own sake, `ize` is not."""
    stems = ["legal", "moral", "final", "vocal", "total", "local"]
    verbs = [(stem + "ize", [*[1] * 4, 9, 1, 10], 6) for stem in stems]
    verbs += [(stem + "izing", [*[1] * 4, 9, 1, 10, 2, 2], 6) for stem in stems]
    agents = ["play", "sing", "work", "read", "walk", "talk"]
    nouns = [(stem + "er", [*[1] * 3, 9, 1], 6) for stem in agents]
    nouns += [(stem + "ers", [*[1] * 3, 9, 1, 10], 6) for stem in agents]
    rest = [(stem, [1] * (len(stem) - 1), 50) for stem in [*stems, *agents]]
    rest += [("ize", [2, 1], 5), ("ers", [2, 1], 40), ("er", [1], 30), ("ing", [2, 1], 30), ("iz", [1], 6)]
    trees = [*verbs, *nouns, *rest]
    size = len({letter for word, _, _ in trees for letter in word}) + len(stems) + len(agents) + 4
    before = build_vocabulary(trees, size, alignment=0.5)
    after = build_vocabulary(trees, size, alignment=0.5, post_merge=True)
    assert "ers" in before and "ize" not in before
    assert "ize" in after and "ers" not in after
    assert len(before) == len(after) == size


def test_erasing_ends_costs_nothing_at_alignment_0_and_most_at_1(monkeypatch):
    asked = []

    def choose(nodes, candidates, *rest):
        asked.append(rest[-2])
        return candidates

    monkeypatch.setattr("treetok.vocabulary.choose_strings", choose)
    for alignment in (0, 0.31, 1):
        build_vocabulary([("ab", [0], 5)], 3, alignment=alignment, post_merge=True)
    build_vocabulary([("ab", [0], 5)], 3, alignment=1)
    assert asked == [0, 200, 645, None]


@pytest.mark.parametrize("seed", range(20))
def test_looking_at_merges_never_costs_more(seed):
    trees = random_trees(seed, 80)
    nodes = SharedNodes(trees)
    costs = token_costs(nodes.tokens, 0)
    totals = []
    for post_merge in (False, True):
        vocabulary = build_vocabulary(nodes, 20, alignment=0, threshold=1, post_merge=post_merge)
        present = np.array([token in vocabulary for token in nodes.tokens])
        totals.append(MergedCuts(nodes, present, present, nodes.frequencies, costs, 0).total)
    assert totals[1] <= totals[0]

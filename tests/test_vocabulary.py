import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import TreetokError, reference
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.heuristic import heuristic_vocabulary


def random_trees(seed):
    """Words over few letters, so that substrings repeat inside words and between them, with random trees."""
    rng = random.Random(seed)
    letters = "abcd"[: rng.randint(1, 4)]
    words = {"".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(rng.randint(1, 40))}
    return [
        (word, [rng.randint(0, 3) for _ in word[1:]], rng.choice([1, 1, 2, 3, 10, 100])) for word in sorted(words)
    ]


def parsed(trees):
    return [(reference.parse(word, scores), count) for word, scores, count in trees]


@pytest.mark.parametrize("block", range(10))
def test_fast_construction_equals_the_reference(block):
    for seed in range(50 * block, 50 * block + 50):
        rng = random.Random(-seed - 1)
        trees = random_trees(seed)
        threshold, rate = rng.choice([1, 2, 5]), rng.choice([0.05, 0.2, 0.5])
        largest = len(reference.init_vocabulary(parsed(trees), threshold))
        size = rng.randint(len(set("".join(word for word, _, _ in trees))), largest)
        expected = reference.build_vocabulary(parsed(trees), size, threshold, rate)
        assert len(expected) == size
        assert build_vocabulary(trees, size, threshold=threshold, pruning_rate=rate) == expected


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 5, 50]))
def test_heuristic_vocabulary_equals_the_reference(seed, threshold):
    trees = random_trees(seed)
    nodes = SharedNodes(trees)
    counts = heuristic_vocabulary(nodes, threshold)
    fast = {nodes.tokens[k]: count for k, count in enumerate(counts.tolist()) if count}
    assert fast == reference.init_vocabulary(parsed(trees), threshold)


def test_nodes_are_shared():
    trees = [("walking", [0, 0, 0, 9, 1, 0], 3), ("talking", [0, 0, 0, 9, 1, 0], 2)]
    nodes = SharedNodes(trees)
    strings = [nodes.tokens[k] for k in nodes.token]
    assert len(strings) == len(set(strings))
    assert sorted(s for s in strings if len(s) > 1) == sorted(
        ["walking", "talking", "walk", "talk", "alk", "lk", "ing", "ng"]
    )


def test_only_pairs_with_one_parent_are_counted():
    # The example of the paper: in [[b [o o]] k] only (o, o) is counted in the first round.
    root = reference.parse("book", [1, 0, 2])
    assert reference.count_bigrams([(root, 7)], dict.fromkeys("bok", 1)) == {"oo": 7}


def test_input_order_does_not_matter():
    trees = random_trees(3)
    expected = build_vocabulary(trees, 12)
    for seed in range(5):
        random.Random(seed).shuffle(trees)
        assert list(build_vocabulary(trees, 12).items()) == list(expected.items())


def test_large_counts_do_not_overflow():
    trees = [(word, scores, count * 10**11) for word, scores, count in random_trees(7)]
    vocabulary = build_vocabulary(trees, 15)
    assert vocabulary == reference.build_vocabulary(parsed(trees), 15, 5, 0.2)
    assert all(count >= 0 for count in vocabulary.values())


def test_threshold_is_lowered_rather_than_falling_short():
    trees = [("abcd", [0, 1, 0], 1), ("abce", [0, 1, 0], 1)]
    assert len(build_vocabulary(trees, 9, threshold=5)) == 9
    # 5 characters, ab, cd, ce and the two words: there is nothing else to find.
    assert len(build_vocabulary(trees, 100, threshold=5)) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 3}, "vocabulary of 3 is too small: the text has 4 different characters"),
        ({"size": 5, "threshold": 0}, "threshold must be at least 1"),
        ({"size": 5, "pruning_rate": 1.0}, "pruning rate must lie between 0 and 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(TreetokError, match=message):
        build_vocabulary([("abcd", [0, 1, 0], 1)], **arguments)

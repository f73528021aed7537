import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import TreetokError
from treetok import reference_algorithms as reference
from treetok.segment import Segmenter
from treetok.vocabulary import DEFAULT_THRESHOLD, LARGEST_SUM, METHODS, SharedNodes, build_vocabulary
from treetok.vocabulary.fewest_tokens import choose_strings, exchange_strings
from treetok.vocabulary.heuristic import heuristic_vocabulary
from treetok.vocabulary.names import MOST_NAMES, which_are_names
from treetok.vocabulary.pruning import LiveNodes, TreeViterbi
from treetok.vocabulary.top_down_cuts import TopDownCuts, token_costs
from treetok.vocabulary.weights import word_weights


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
        assert build_vocabulary(trees, size, method="paper", threshold=threshold, pruning_rate=rate) == expected


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 5, 50]))
def test_heuristic_vocabulary_equals_the_reference(seed, threshold):
    trees = random_trees(seed)
    nodes = SharedNodes(trees)
    counts = heuristic_vocabulary(nodes, threshold)
    fast = {nodes.tokens[k]: count for k, count in enumerate(counts.tolist()) if count}
    assert fast == reference.init_vocabulary(parsed(trees), threshold)


@given(st.integers(0, 10_000))
def test_steps_equal_the_reference_where_costs_are_equal(seed):
    """Entropies from 1 to 4, so that keeping a node whole often costs as much as splitting it."""
    trees, rng = random_trees(seed), random.Random(seed)
    nodes = SharedNodes(trees)
    entropies = np.array([rng.randint(1, 4) for _ in nodes.tokens])
    live = LiveNodes(nodes)
    viterbi = TreeViterbi(live, entropies)
    counts = nodes.sum_by_token(*viterbi.token_frequencies(live.in_all_words))
    used = {nodes.tokens[k]: int(count) for k, count in enumerate(counts) if count}
    assert used == reference.e_step(parsed(trees), dict(zip(nodes.tokens, entropies.tolist(), strict=True)))


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


@pytest.mark.parametrize("method", METHODS)
def test_input_order_does_not_matter(method):
    trees = random_trees(3)
    expected = build_vocabulary(trees, 12, method=method)
    for seed in range(5):
        random.Random(seed).shuffle(trees)
        assert list(build_vocabulary(trees, 12, method=method).items()) == list(expected.items())


def test_large_counts_do_not_overflow():
    trees = [(word, scores, count * 10**11) for word, scores, count in random_trees(7)]
    vocabulary = build_vocabulary(trees, 15, method="paper")
    assert vocabulary == reference.build_vocabulary(parsed(trees), 15, 5, 0.2)
    assert all(count >= 0 for count in vocabulary.values())


def test_strings_below_the_threshold_are_not_considered():
    """A long word that occurs four times would save far more tokens than a short one that occurs five times."""
    trees = [("abcdefgh", [0] * 7, 4), ("xy", [0], 5)]
    for method in METHODS:
        assert set(build_vocabulary(trees, 11, method=method)) == {*"abcdefghxy", "xy"}
    assert "xy" not in build_vocabulary(trees, 11, threshold=1, pruning_rate=0.01)
    assert DEFAULT_THRESHOLD == 5


def test_the_threshold_is_halved():
    """Down to 2, where there is enough, and not to 1."""
    trees = [("ab", [0], 2), ("cdefghij", [0] * 7, 1)]
    assert set(build_vocabulary(trees, 11, threshold=5)) == {*"abcdefghij", "ab"}
    assert set(build_vocabulary(trees, 12, threshold=5)) > {*"abcdefghij"}
    assert len(build_vocabulary(trees, 12, threshold=5)) == 12


def test_threshold_is_lowered_rather_than_falling_short():
    trees = [("abcd", [0, 1, 0], 1), ("abce", [0, 1, 0], 1)]
    assert len(build_vocabulary(trees, 9, threshold=5)) == 9
    # 5 characters, ab, cd, ce and the two words: there is nothing else to find.
    assert len(build_vocabulary(trees, 100, threshold=5)) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 3}, "vocabulary of 3 is too small: the text has 4 distinct characters"),
        ({"size": 5, "threshold": 0}, "threshold must be at least 1"),
        ({"size": 5, "pruning_rate": 1.0}, "pruning rate must be between 0 and 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(TreetokError, match=message):
        build_vocabulary([("abcd", [0, 1, 0], 1)], **arguments)


def tokens_of_text(trees, tokens, cost_of_a_letter=1):
    """Number of tokens of a text segmented top-down by the segmenter itself."""
    segmenter = Segmenter(dict.fromkeys(tokens, 1))
    return sum(
        count * sum(cost_of_a_letter if len(piece) == 1 else 1 for piece in segmenter.match_top_down(word, scores))
        for word, scores, count in trees
    )


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 5]), st.data())
def test_the_worth_of_a_string_is_the_tokens_it_saves(seed, cost_of_a_letter, data):
    trees = random_trees(seed)
    nodes = SharedNodes(trees)
    characters = {nodes.tokens[k] for k in nodes.token[nodes.leaves].tolist()}
    longer = [token for token in nodes.tokens if token not in characters]
    chosen = set(data.draw(st.lists(st.sampled_from(longer)))) if longer else set()
    present = np.array([token in characters | chosen for token in nodes.tokens])
    costs = np.array([cost_of_a_letter if len(token) == 1 else 1 for token in nodes.tokens])
    cuts = TopDownCuts(nodes, present, nodes.frequencies, costs)
    assert cuts.total == tokens_of_text(trees, characters | chosen, cost_of_a_letter)
    assert cuts.counts.sum() == tokens_of_text(trees, characters | chosen)
    for k, token in enumerate(nodes.tokens):
        if token not in characters:
            with_it, without_it = chosen | {token}, chosen - {token}
            costs_without, costs_with = (
                tokens_of_text(trees, characters | vocabulary, cost_of_a_letter)
                for vocabulary in (without_it, with_it)
            )
            assert cuts.worth[k] == costs_without - costs_with


@pytest.mark.parametrize("seed", range(40))
def test_compact_vocabularies_are_nearly_the_best_there_are(seed):
    """All choices of a few strings are tried; the search may miss the best one, but not by much."""
    trees = random_trees(seed)[:8]
    nodes = SharedNodes(trees)
    characters = {nodes.tokens[k] for k in nodes.token[nodes.leaves].tolist()}
    longer = [token for token in nodes.tokens if token not in characters]
    extra = min(3, len(longer))
    vocabulary = build_vocabulary(
        trees, len(characters) + extra, method="compact", alignment=0, threshold=1, pruning_rate=0.05
    )
    assert len(vocabulary) == len(characters) + extra
    best = min(tokens_of_text(trees, characters | {*chosen}) for chosen in combinations(longer, extra))
    found = tokens_of_text(trees, vocabulary)
    assert best <= found <= 1.25 * best
    of_paper = build_vocabulary(trees, len(vocabulary), method="paper", threshold=1, pruning_rate=0.05)
    assert found <= tokens_of_text(trees, of_paper)


def test_exchanges_that_cost_more_are_taken_back():
    """The 20 strings that a word of 21 letters begins with are worth 20, 19, ... tokens, but together no more than
    20. Five pairs of letters, worth 10 each, must not be given up for the best five of them."""
    long_word = "abcdefghijklmnopqrstu"
    pairs = [one + other for one in "vwxyz" for other in "ab"]
    trees = [(long_word, list(range(20)), 1), *((pair, [0], 10) for pair in pairs)]
    nodes = SharedNodes(trees)
    is_character = np.array([len(token) == 1 for token in nodes.tokens])
    start = is_character | np.array([token in pairs for token in nodes.tokens])
    tried = []

    def watched(present):
        cuts = TopDownCuts(nodes, present, nodes.frequencies, ones)
        tried.append((int((present & ~start).sum()), cuts.total))
        return cuts

    rank = np.argsort(np.argsort(np.array(nodes.tokens, dtype=object)))
    everything, ones = np.ones(len(start), dtype=bool), np.ones(len(start), dtype=np.int64)
    end = exchange_strings(watched, everything, start, is_character, rank)
    # Strings exchanged, and tokens of the text: half of the ten strings that are worth more, then fewer of them.
    assert tried == [(0, 121), (5, 121 + 30), (2, 121), (1, 121 - 10)]
    assert {nodes.tokens[k] for k in np.flatnonzero(end & ~is_character)} == {long_word, *pairs[:-1]}


@pytest.mark.parametrize("block", range(4))
def test_exchanges_never_cost_more_and_end_where_none_helps(block):
    """From any vocabulary, not only from a good one."""
    improved = 0
    for seed in range(30 * block, 30 * block + 30):
        rng = random.Random(seed)
        nodes = SharedNodes(random_trees(seed))
        is_character = np.array([len(token) == 1 for token in nodes.tokens])
        costs = token_costs(nodes.tokens, rng.choice([0, 0.5]))
        start = is_character | np.array([rng.random() < 0.3 for _ in nodes.tokens])
        candidates = start | np.array([rng.random() < 0.8 for _ in nodes.tokens])
        rank = np.argsort(np.argsort(np.array(nodes.tokens, dtype=object)))
        before = TopDownCuts(nodes, start, nodes.frequencies, costs).total

        def cuts_with(present, nodes=nodes, costs=costs):
            return TopDownCuts(nodes, present, nodes.frequencies, costs)

        end = exchange_strings(cuts_with, candidates, start.copy(), is_character, rank)
        after = TopDownCuts(nodes, end, nodes.frequencies, costs)
        assert after.total <= before
        assert end.sum() == start.sum()
        assert (end & ~candidates).sum() == 0 and end[is_character].all()
        improved += after.total < before
        # The most valuable string outside, for the least valuable one inside.
        outside, inside = np.flatnonzero(candidates & ~end), np.flatnonzero(end & ~is_character)
        if len(outside) and len(inside):
            best = max(outside.tolist(), key=lambda k: (after.worth[k], -rank[k]))
            worst = min(inside.tolist(), key=lambda k: (after.worth[k], -rank[k]))
            if after.worth[best] > after.worth[worst]:
                swapped = end.copy()
                swapped[best], swapped[worst] = True, False
                assert TopDownCuts(nodes, swapped, nodes.frequencies, costs).total >= after.total
    assert improved >= 10


def test_characters_are_chosen_whether_they_are_candidates_or_not():
    nodes = SharedNodes([("ab", [0], 3), ("cd", [0], 5)])
    costs = token_costs(nodes.tokens, 0)
    candidates = np.array([len(token) > 1 for token in nodes.tokens])
    chosen = choose_strings(nodes, candidates, 5, nodes.frequencies, costs, 0.5)
    assert {nodes.tokens[k] for k in np.flatnonzero(chosen)} == {*"abcd", "cd"}


def test_alignment_gives_rare_words_more_weight():
    counts = {stem + ending: 2 for stem in ("walk", "talk", "jump", "look") for ending in ("s", "ed", "ing")}
    counts["walking"] = counts["talked"] = 100
    trees = [(word, [0, 0, 0, 9] + [1] * (len(word) - 5), count) for word, count in counts.items()]
    compressing, aligning = (build_vocabulary(trees, 20, alignment=a, threshold=1) for a in (0, 1))
    assert {"walking", "talked"} <= set(compressing)
    assert not {"walking", "talked"} & set(aligning)
    words_once = [(word, scores, 1) for word, scores, _ in trees]
    assert tokens_of_text(trees, compressing) < tokens_of_text(trees, aligning)
    assert tokens_of_text(words_once, compressing) > tokens_of_text(words_once, aligning)


@pytest.mark.parametrize(("alignment", "chosen"), [(0, "犬猫"), (0.2, "ab")])
def test_alignment_makes_single_letters_cost_more(alignment, chosen):
    """There is room for one of two strings: that of the more frequent word, or the one that saves letters."""
    trees = [("ab", [0], 10), ("犬猫", [0], 11)]
    vocabulary = build_vocabulary(trees, 5, alignment=alignment, threshold=1)
    assert chosen in vocabulary


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "unknown vocab 'best': choose 'compact' or 'paper'"),
        ({"method": None}, "unknown vocab None"),
        ({"alignment": 1.5}, "alignment must be a number of at least 0 and at most 1"),
        ({"alignment": float("nan")}, "alignment must be"),
        ({"alignment": "much"}, "alignment must be"),
        ({"alignment": 0.3, "method": "paper"}, "alignment is for vocab='compact' alone"),
    ],
)
def test_bad_choices_are_refused(options, message):
    with pytest.raises(TreetokError, match=message):
        build_vocabulary([("ab", [0], 1)], 3, **options)


@pytest.mark.parametrize("method", METHODS)
def test_ties_are_broken_by_the_token(method):
    """As in the reference, the alphabetically first of equals are pruned; a compact vocabulary keeps them."""
    trees = [(word, [0], 6) for word in ("ef", "ab", "cd", "gh")]
    expected = {"compact": {"ab", "cd"}, "paper": {"ef", "gh"}}[method]
    assert {token for token in build_vocabulary(trees, 10, method=method) if len(token) > 1} == expected


def test_weights_are_never_zero():
    """However small the share of a word: its strings would be worth nothing at all."""
    names = np.array([False, True])
    for alignment, which in ((0.0, None), (0.0, names), (1.0, names)):
        weights = word_weights(np.array([10**16, 1]), alignment, LARGEST_SUM, which).tolist()
        assert weights[1] == 1 if alignment == 0 else weights == [1000, 1]
        assert weights[0] < 10**16


def test_names_are_words_with_a_capital_seldom_written_without():
    counts = {" the": 500, " The": 90, "The": 4, " Ada": 20, "Ada's": 2, " river": 300, " River": 80, " I": 9}
    counts["42"] = 9

    def names(counts):
        return {word for word, is_name in zip(counts, which_are_names(counts), strict=True) if is_name}

    assert names(counts) == {" Ada", "Ada's", " I"}
    # All forms of a word count together, and NASA is a name while US is not.
    more = names(counts | {" NASA": 3, " Nasa": 1, " US": 9, " us": 30})
    assert more == {" Ada", "Ada's", " I", " NASA", " Nasa"}
    # Written as often without a capital as SELDOM allows, and once more.
    assert " River" in names(counts | {" river": 23})
    assert " River" not in names(counts | {" river": 24})
    # With too many names, case says nothing.
    in_letters = sum(count for word, count in counts.items() if word != "42")
    others = in_letters - 31
    assert names(counts | {" Bob": int(MOST_NAMES * others / (1 - MOST_NAMES)) - 31})
    assert not names(counts | {" Bob": int(MOST_NAMES * others / (1 - MOST_NAMES)) - 29})
    assert names({}) == set()


def test_rare_names_make_room_for_words():
    """Of two words, the more frequent one becomes a token, unless it is a name."""
    text = [("ab", [0], 60), ("cd", [0], 50), ("ef", [0], 10**7)]
    without = build_vocabulary(text, 8, alignment=0.5)
    assert "ab" in without and "cd" not in without
    names = np.array([True, False, False])
    assert "cd" in build_vocabulary(text, 8, alignment=0.5, names=names)
    # Where fewer tokens are all that counts, a name is a word like others.
    assert "ab" in build_vocabulary(text, 8, alignment=0, names=names)


@pytest.mark.parametrize("alignment", [0, 0.001, np.float32(0.3), np.int64(1)])
def test_huge_counts_do_not_overflow(alignment):
    """A word that makes up nearly all of a text is one token, whatever its count."""
    long_word = "abcdefghij" * 6
    trees = [(long_word, [0] * 59, 9 * 10**14)] + [(f"{a}{b}", [0], 1) for a in "klmn" for b in "opqr"]
    vocabulary = build_vocabulary(trees, 20, alignment=alignment, threshold=1)
    assert vocabulary[long_word] == 9 * 10**14

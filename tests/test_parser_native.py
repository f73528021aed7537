"""The light parser in C++ gives the same scores as the one in numpy, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_parser_storage import CHARACTERS, MORPHEMES, WORDS, random_parser, rounded
from treetok import TreeTokenizer
from treetok.pipeline.vocabulary import without_redundant_words
from treetok.sources.parser import ParserTrees
from treetok.sources.parser_layers import LARGEST_EXACT, Linear, Norm, gelu, power_of_two, quantized
from treetok.sources.tree_agreement import tree_agreement
from treetok.text.word_limit import LONGEST_WORD

try:
    from treetok import _core
except ImportError:
    _core = None

needs_core = pytest.mark.skipif(_core is None, reason="the native core is not built: pip install .")
INSTRUCTIONS = _core.Parser.instructions() if _core else []
ANY_WORD = st.text(st.characters(codec=None), min_size=2, max_size=LONGEST_WORD)
LIKELY_WORD = st.text("abcdefghijklmnopqrstuvwxyzßé東", min_size=2, max_size=LONGEST_WORD)
WORD_OF_MORPHEMES = st.lists(st.sampled_from(MORPHEMES), min_size=1, max_size=12).map("".join)


def native(parser, instructions=""):
    characters = "".join(parser.characters)
    return _core.Parser(parser.weights, parser.heads, characters, parser.morphemes, instructions)


def assert_same_bits(parser, words):
    expected = parser.split_scores(words)
    assert all(np.isfinite(of_word).all() for of_word in expected)
    for instructions in INSTRUCTIONS:
        for word, one, other in zip(
            words, expected, native(parser, instructions).split_scores(words), strict=True
        ):
            assert one.dtype == other.dtype == np.float32
            assert one.tobytes() == other.tobytes(), (instructions, word)


@pytest.fixture(scope="module")
def shipped():
    return TreeTokenizer.load("en").state.source


@pytest.fixture(scope="module")
def shipped_native(shipped):
    return [native(shipped, instructions) for instructions in INSTRUCTIONS]


@needs_core
@given(words=st.lists(ANY_WORD | LIKELY_WORD, min_size=1, max_size=4))
def test_shipped_parser(shipped, shipped_native, words):
    expected = [of_word.tobytes() for of_word in shipped.split_scores(words)]
    for parser in shipped_native:
        assert [of_word.tobytes() for of_word in parser.split_scores(words)] == expected


@needs_core
def test_shipped_parser_on_words_of_all_lengths(shipped):
    rng = np.random.default_rng(0)
    letters = "".join(rng.choice(list("etaoinshrdlucmfwypvbgkjqxz"), size=3 * LONGEST_WORD))
    words = [letters[length : 2 * length] for length in range(2, LONGEST_WORD + 1)]
    assert_same_bits(shipped, [*words, "unwalkability", "overjumpers", "", "a"])


@needs_core
@given(
    seed=st.integers(0, 1000),
    heads=st.integers(1, 5),
    per_head=st.integers(1, 20),
    hidden=st.integers(1, 70),
    layers=st.integers(0, 3),
    morphemes=st.sampled_from([[], MORPHEMES, MORPHEMES[:1]]),
    integers=st.booleans(),
    size=st.sampled_from([0.01, 0.3, 1, 8]),
    words=st.lists(ANY_WORD | LIKELY_WORD | WORD_OF_MORPHEMES, min_size=1, max_size=4),
)
def test_random_parsers(seed, heads, per_head, hidden, layers, morphemes, integers, size, words):
    parser = random_parser(seed, CHARACTERS, morphemes, heads * per_head, hidden, layers, heads)
    weights = {name: (array * size).astype(np.float16) for name, array in parser.weights.items()}
    parser = ParserTrees(weights, heads, parser.characters, parser.morphemes)
    assert_same_bits(rounded(parser) if integers else parser, words)


@needs_core
@pytest.mark.parametrize(
    "name", ["begin", "letter", "layers.0.qkv.weight", "layers.1.hidden.weight", "pair_score.weight"]
)
@pytest.mark.parametrize("value", [0, 6e-8, 65504])
def test_unusual_weights(name, value):
    """All zeros, the smallest and the largest numbers of 16 bits."""
    parser = random_parser()
    weights = {**parser.weights, name: np.full_like(parser.weights[name], value)}
    assert_same_bits(ParserTrees(weights, parser.heads, parser.characters, parser.morphemes), list(WORDS))


@needs_core
def test_no_letters_and_no_morphemes():
    assert_same_bits(random_parser(characters=[], morphemes=[]), ["walking", "東京"])


@needs_core
def test_huge_weights_give_the_same_scores_or_an_error():
    parser = random_parser()
    for sign in (1, -1):
        weights = {name: np.full_like(array, sign * 60000) for name, array in parser.weights.items()}
        huge = ParserTrees(weights, parser.heads, parser.characters, parser.morphemes)
        expected = huge.split_scores(["walking"])[0]
        try:
            scores = native(huge).split_scores(["walking"])[0]
            np.testing.assert_array_equal(scores, expected)
        except ValueError as error:
            assert "not a finite number" in str(error)
            assert not np.isfinite(expected).all()


@needs_core
def test_what_does_not_fit_is_rejected():
    parser = random_parser()
    characters = "".join(parser.characters)
    for name in parser.weights:
        for wrong in (parser.weights[name][:-1], parser.weights[name].astype(np.float32)):
            with pytest.raises((ValueError, TypeError)):
                _core.Parser({**parser.weights, name: wrong}, 2, characters, parser.morphemes)
    for heads in (0, 3):
        with pytest.raises(ValueError, match="heads"):
            _core.Parser(parser.weights, heads, characters, parser.morphemes)
    with pytest.raises(ValueError, match="letter"):
        _core.Parser(parser.weights, 2, characters[1:], parser.morphemes)
    with pytest.raises(ValueError, match="begin"):
        _core.Parser(parser.weights, 2, characters, parser.morphemes[1:])
    with pytest.raises(ValueError, match="fewer than two"):
        _core.Parser(parser.weights, 2, characters, ["a", *parser.morphemes[1:]])
    for not_finite in (np.inf, -np.inf, np.nan):
        bias = np.full_like(parser.weights["pair_score.bias"], not_finite)
        with pytest.raises(ValueError, match="not all finite"):
            _core.Parser({**parser.weights, "pair_score.bias": bias}, 2, characters, parser.morphemes)
    with pytest.raises(ValueError, match="instructions"):
        native(parser, "abacus")
    with pytest.raises(ValueError, match="2 to 64 letters"):
        native(parser).split_scores(["x" * (LONGEST_WORD + 1)])


# ---- the arithmetic itself

FLOATS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=300)


@given(FLOATS, st.integers(1, 2047))
def test_quantized_numbers_are_off_by_half_a_step(numbers, limit):
    x = np.array([numbers], dtype=np.float32)
    integers, step = quantized(x, limit)
    assert np.array_equal(integers, np.rint(integers)) and np.abs(integers).max() <= limit
    assert (np.abs(integers * step - x) <= 0.501 * step).all()


@given(st.integers(1, 4096), st.sampled_from([0, 1e-5, 1, 60000]), st.integers(0, 1000))
def test_sums_of_products_are_exact(inputs, size, seed):
    rng = np.random.default_rng(seed)
    weight = (rng.normal(size=(3, inputs)) * size).clip(-65504, 65504).astype(np.float16).astype(np.float32)
    weight[1] = size
    linear = Linear.of(weight, np.zeros(3, dtype=np.float32))
    assert np.abs(linear.weight_KD).sum(0).max() * 1023 <= LARGEST_EXACT
    x = rng.normal(size=(2, inputs)).astype(np.float32)
    exact = x.astype(np.float64) @ weight.T.astype(np.float64)
    bound = np.abs(x).max() * np.abs(weight).sum(1)
    assert (np.abs(linear(x) - exact) <= 0.01 * bound + 1e-20).all()


def test_functions_are_close_to_exact_ones():
    x = np.linspace(-20, 20, 20001, dtype=np.float32)
    exact = np.exp2(x.astype(np.float64))
    np.testing.assert_allclose(power_of_two(x.copy()), exact, rtol=4e-6)
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x.astype(np.float64) ** 3)
    np.testing.assert_allclose(gelu(x), 0.5 * x * (1 + np.tanh(inner)), atol=1e-5)
    huge = np.array([-1e30, -np.inf, 1e30, np.inf, np.nan], dtype=np.float32)
    assert np.isfinite(power_of_two(huge)[:4]).all() and np.isnan(power_of_two(huge)[4])


def test_norm_is_that_of_exact_numbers():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(50, 96)) * 3 + 1).astype(np.float32)
    weight, bias = (rng.normal(size=96).astype(np.float32) for _ in range(2))
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(Norm(weight, bias)(x), expected, atol=5e-3)
    np.testing.assert_array_equal(Norm(weight, bias)(np.zeros_like(x)), np.tile(bias, (50, 1)))


@needs_core
def test_training_asks_the_native_parser(monkeypatch):
    """For the lexicon and the agreement of trees, which are of hundreds of thousands of words."""
    parser = rounded(random_parser())
    words = [word for word in WORDS if 3 <= len(word) <= LONGEST_WORD]
    scores = dict(zip(words, parser.split_scores(words), strict=True))
    others = {**scores, words[-1]: -scores[words[-1]]}
    monkeypatch.setattr(ParserTrees, "split_scores", lambda self, words: pytest.fail("numpy was asked"))
    rare = dict.fromkeys(words, 1)
    assert without_redundant_words(words, scores, rare, parser, threads=2) == []
    assert without_redundant_words(words, others, rare, parser, threads=2) == [words[-1]]
    assert without_redundant_words(words, scores, {}, parser) == []
    assert tree_agreement(parser, scores, words).whole_tree == 1
    assert tree_agreement(parser, others, words).whole_tree < 1

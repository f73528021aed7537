"""The light parser without PyTorch: its scores for unusual words, and its file on disk."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

from test_storage import contents, rewrite
from treetok import TreeTokenizer, TreetokError
from treetok.sources import ParserTrees
from treetok.sources.parser import (
    FACTOR,
    LARGEST_INTEGER,
    MORPHEME_TABLES,
    expected_shapes,
    strings_of,
    with_rounded_tables,
)
from treetok.sources.parser_layers import product
from treetok.text.word_limit import LONGEST_WORD

CHARACTERS, MORPHEMES = list("abcdefghijklmnopqrstuvwxyzß"), ["ed", "er", "ing", "jump", "un", "walk"]
WORDS = {stem + ending: 5 for stem in ("walk", "jump", "look") for ending in ("", "s", "ed", "ing", "er")}


def random_parser(seed=0, characters=CHARACTERS, morphemes=MORPHEMES, dimension=8, hidden=12, layers=2, heads=2):
    """An untrained parser, with the shapes that ParserTrees expects."""
    rng = np.random.default_rng(seed)
    sizes = {"last_norm.weight": (dimension,), "pair_hidden.bias": (hidden,), "place_from_start": (5, dimension)}
    sizes |= {f"layers.{n}.qkv.weight": () for n in range(layers)}
    some = {name: np.zeros(shape) for name, shape in sizes.items()}
    shapes = expected_shapes(some, heads, len(characters), len(morphemes))
    weights = {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    return ParserTrees(weights, heads, characters, morphemes)


# Prints the scores of many words, parsed together and one by one. The parser has the size of the shipped ones.
SCORES = """
import sys
from treetok import TreeTokenizer
parser, words = TreeTokenizer.load("en").state.source, sys.stdin.read().split()
for calls in ([words], [words[::-1]], [[word] for word in words]):
    scores = {word: of_word for call in calls for word, of_word in zip(call, parser.split_scores(call))}
    print(b"".join(scores[word].tobytes() for word in words).hex())
"""


def test_scores_depend_neither_on_other_words_nor_on_threads_nor_on_the_machine():
    """To the last bit. The kernels of OpenBLAS differ by processor in the order of sums: one of them is chosen by
    name, which has no effect on other processors and libraries."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(CHARACTERS, size=length)) for length in rng.integers(2, 40, size=300)]
    outputs = set()
    for threads, kernel in (("1", ""), ("2", ""), ("1", "Haswell"), ("2", "Haswell"), ("1", "Prescott")):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OPENBLAS_CORETYPE": kernel}
        command = [sys.executable, "-c", SCORES]
        run = subprocess.run(
            command, input=" ".join(words), env=environment, capture_output=True, text=True, check=True
        )
        outputs.update(run.stdout.split())
    assert len(outputs) == 1


def test_products_are_those_of_matrices_in_tiles_too_small_for_threads(monkeypatch):
    sizes = []

    def matmul(x, weight, out):
        sizes.append(x.shape[-2] * x.shape[-1] * weight.shape[-1])
        out[...] = x @ weight

    rng = np.random.default_rng(0)
    for n, k, d in ((64, 128, 384), (61, 256, 100), (3, 5, 1), (9, 4096, 30)):
        x, weight = (rng.integers(-9, 9, size=shape).astype(np.float32) for shape in ((n, k), (k, d)))
        assert np.array_equal(product(x, weight), x @ weight)
        with monkeypatch.context() as patch:
            patch.setattr("treetok.sources.parser_layers.np.matmul", matmul)
            assert np.array_equal(product(x, weight), x @ weight)
    # OpenBLAS uses threads for more.
    assert max(sizes) <= 1 << 18


def rounded(parser):
    return ParserTrees(with_rounded_tables(parser.weights), parser.heads, parser.characters, parser.morphemes)


PARSER = random_parser()


@pytest.fixture(scope="module")
def neural():
    return TreeTokenizer.train(WORDS, 60, trees=PARSER, profile="uncased", progress=False)


@pytest.fixture
def saved(tmp_path, neural):
    neural.save(tmp_path / "model")
    return tmp_path / "model"


def test_every_word_gets_its_scores():
    words = ["", "a", "ab", "東京タワー", "walking", "\ud800x", "x" * LONGEST_WORD, "y" * (3 * LONGEST_WORD + 1)]
    scores = PARSER.split_scores(words)
    assert [len(of_word) for of_word in scores] == [max(len(word) - 1, 0) for word in words]
    assert all(np.isfinite(of_word).all() for of_word in scores)
    assert PARSER.split_scores([]) == []


def test_overlong_words_are_split_at_fixed_positions():
    word = "walking" * 20
    scores = PARSER.split_scores([word])[0]
    cuts = np.arange(LONGEST_WORD, len(word), LONGEST_WORD) - 1
    assert set(np.argsort(-scores)[: len(cuts)]) == set(cuts)
    np.testing.assert_array_equal(scores[: cuts[0]], PARSER.split_scores([word[:LONGEST_WORD]])[0])


def test_a_score_does_not_depend_on_the_batch(monkeypatch):
    words = [stem + ending for stem in WORDS for ending in ("", "x", "walk", "unß")]
    together = PARSER.split_scores(words)
    monkeypatch.setattr("treetok.sources.parser.LETTERS_PER_BATCH", 20)
    for one, other in zip(together, PARSER.split_scores(words), strict=True):
        np.testing.assert_array_equal(one, other)
    for number in (0, 7, 30):
        np.testing.assert_array_equal(together[number], PARSER.split_scores([words[number]])[0])


def test_morphemes_matter():
    without = random_parser(morphemes=[])
    assert len(without.split_scores(["walked"])[0]) == 5
    weights = {name: array.copy() for name, array in PARSER.weights.items()}
    weights["begin"][MORPHEMES.index("walk") + 1] += 1
    changed = ParserTrees(weights, 2, CHARACTERS, MORPHEMES)
    unwalked, wlaked = changed.split_scores(["unwalked", "wlaked"])
    assert not np.allclose(unwalked, PARSER.split_scores(["unwalked"])[0])
    np.testing.assert_array_equal(wlaked, PARSER.split_scores(["wlaked"])[0])


def test_quantization_error_is_small_and_quantizing_again_changes_nothing():
    precise = {**PARSER.weights, "inside": PARSER.weights["inside"] * (np.arange(7)[:, None] > 0)}
    small = with_rounded_tables(precise)
    assert [small[table].dtype for table in MORPHEME_TABLES] == [np.int8] * 3
    for table in MORPHEME_TABLES:
        again = small[table] * small[FACTOR.format(table)].astype(np.float32)
        error = np.abs(again - precise[table]).max(1)
        assert (error <= 0.52 * np.abs(precise[table]).max(1) / LARGEST_INTEGER).all()
    words = list(WORDS)
    parser = rounded(PARSER)
    stored = ParserTrees.from_arrays(parser.arrays())
    for one, other in zip(parser.split_scores(words), stored.split_scores(words), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(rounded(random_parser(morphemes=[])).split_scores(["walked"])[0]) == 5


def test_no_pytorch_is_needed():
    code = "import sys, treetok.sources.parser, treetok.storage; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- on disk


def test_loaded_equals_saved(saved, neural, tmp_path):
    assert json.loads((saved / "treetok.json").read_text(encoding="utf-8"))["trees"] == "neural"
    data = ["lexicon.safetensors", "parser.safetensors", "vocab.tsv"]
    files = sorted(["MODEL_CARD.md", "tokenizer_config.json", "treetok.json", *data])
    assert list(contents(saved)) == files
    again = TreeTokenizer.load(saved)
    unseen = "unlooked jumpers overwalking überjump"
    assert again.encode(unseen) == neural.encode(unseen)
    assert again.tree("unlooking") == neural.tree("unlooking")
    again.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved)
    assert pickle.loads(pickle.dumps(again)).tree("unlooking") == neural.tree("unlooking")


def test_the_same_parser_gives_the_same_bytes(saved, tmp_path):
    TreeTokenizer.train(WORDS, 60, trees=random_parser(), profile="uncased", progress=False).save(tmp_path / "two")
    assert contents(tmp_path / "two") == contents(saved)


def test_custom_trees_replace_the_parser(saved, uncased):
    uncased.save(saved)
    assert "parser.safetensors" not in contents(saved)


@pytest.mark.parametrize("damage", ["missing", "not listed", "shorter", "flipped", "no safetensors"])
def test_a_damaged_file_is_named(saved, damage):
    path = saved / "parser.safetensors"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "not listed":
        head = json.loads((saved / "treetok.json").read_text(encoding="utf-8"))
        del head["files"]["parser.safetensors"]
        (saved / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    elif damage == "shorter":
        path.write_bytes(content[:-1])
    elif damage == "flipped":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        rewrite(saved, path.name, b"\xff" * 100)
    with pytest.raises(TreetokError, match=r"parser\.safetensors is (damaged|missing)"):
        TreeTokenizer.load(saved)


def without(*names):
    return lambda arrays: {name: array for name, array in arrays.items() if name not in names}


def replaced(name, make):
    return lambda arrays: {**arrays, name: make(arrays[name])}


def not_a_number(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("heads"), "has no 'heads'"),
        (without("morpheme_lengths"), "has no 'morpheme_lengths'"),
        (without("last_norm.weight"), "missing weights"),
        (without("layers.1.output.bias"), "do not have the expected shapes"),
        (without("layers.0.qkv.weight"), "do not have the expected shapes"),
        (replaced("last_norm.weight", lambda a: a[0].reshape(())), "missing weights"),
        (replaced("letter", lambda a: a[:-1]), "do not have the expected shapes"),
        (replaced("begin", lambda a: a[:, :-1]), "do not have the expected shapes"),
        (replaced("pair_score.weight", lambda a: a[0]), "do not have the expected shapes"),
        (lambda arrays: {**arrays, "extra": arrays["end"]}, "do not have the expected shapes"),
        (replaced("end", lambda a: a.astype(np.float32)), "end of the parser are float32, not float16"),
        (replaced("end", lambda a: a.view(np.int16)), "are int16, not float16"),
        (replaced("end", not_a_number), "not all finite"),
        (replaced("layers.0.hidden.bias", lambda a: a + np.float16(np.inf)), "not all finite"),
        (replaced("heads", lambda a: a * 0), "0 heads do not divide"),
        (replaced("heads", lambda a: a - 4), "-2 heads do not divide"),
        (replaced("heads", lambda a: a + 1), "3 heads do not divide the 8 dimensions"),
        (replaced("heads", lambda a: a.astype(np.float16)), "not a single integer"),
        (replaced("heads", lambda a: np.repeat(a, 2)), "not a single integer"),
        (replaced("last_norm.weight", lambda a: np.zeros(5000, np.float16)), "out of range"),
        (replaced("last_norm.weight", lambda a: a[:0]), "out of range"),
        (replaced("place_from_start", lambda a: a[:0]), "out of range"),
        (replaced("characters", lambda a: a[:-1]), "not UTF-8"),
        (replaced("characters", lambda a: a[1:]), "do not have the expected shapes"),
        (
            replaced("characters", lambda a: a[[1, 0, *range(2, len(a))]]),
            "characters of the parser are not sorted",
        ),
        (replaced("characters", lambda a: a.astype(np.int32)), "not one-dimensional arrays of bytes"),
        (replaced("morphemes", lambda a: a[:-1]), "do not match their lengths"),
        (replaced("morpheme_lengths", lambda a: a[:-1]), "do not match their lengths"),
        (replaced("morpheme_lengths", lambda a: a[::-1]), "not sorted"),
        (
            replaced("morpheme_lengths", lambda a: np.append(a, 0).astype(np.uint8)),
            "a morpheme has fewer than two",
        ),
        (replaced("morphemes", lambda a: a.reshape(1, -1)), "not one-dimensional arrays of bytes"),
    ],
)
def test_an_invalid_parser_is_rejected(saved, change, message):
    arrays = safetensors.numpy.load((saved / "parser.safetensors").read_bytes())
    changed = {name: np.array(array, order="C") for name, array in change(arrays).items()}
    rewrite(saved, "parser.safetensors", safetensors.numpy.save(changed))
    with pytest.raises(TreetokError, match=rf"parser\.safetensors is damaged: .*{message}"):
        TreeTokenizer.load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("end.factor"), "end of the parser are int8, not float16"),
        (replaced("end", lambda a: a.astype(np.float16)), "end of the parser are float16, not int8"),
        (replaced("end.factor", lambda a: a[:-1]), "do not have the expected shapes"),
        (replaced("end.factor", not_a_number), "not all finite"),
        (replaced("end.factor", lambda a: a.astype(np.float32)), "float32, not float16"),
        (lambda arrays: {**arrays, "letter.factor": arrays["end.factor"]}, "do not have the expected shapes"),
    ],
)
def test_invalid_quantized_tables_are_rejected(change, message):
    with pytest.raises(TreetokError, match=message):
        ParserTrees.from_arrays(change(rounded(PARSER).arrays()))


def test_weights_whose_sums_overflow_are_rejected(saved):
    arrays = safetensors.numpy.load((saved / "parser.safetensors").read_bytes())
    huge = {n: np.full_like(a, 60000) if a.dtype == np.float16 and n != "heads" else a for n, a in arrays.items()}
    rewrite(saved, "parser.safetensors", safetensors.numpy.save(huge))
    tokenizer = TreeTokenizer.load(saved)
    try:
        tokenizer.encode("overwalkings unseen")
    except TreetokError as error:
        assert "not a finite number" in str(error)


@pytest.mark.parametrize("strings", [[], ["a"], ["añ", "b", "東京", "👩"], ["", "x"]])
def test_strings_that_follow_each_other(strings, monkeypatch):
    utf8 = np.frombuffer("".join(strings).encode(), np.uint8)
    lengths = np.array([len(string) for string in strings], np.uint8)
    one_more = np.append(lengths, np.uint8(1))
    for switch in ("1", "0"):
        monkeypatch.setenv("TREETOK_NATIVE", switch)
        assert strings_of(utf8, lengths) == strings
        assert strings_of(utf8, one_more) is None
        assert strings_of(np.append(utf8, np.uint8(ord("x"))), lengths) is None
        with pytest.raises(UnicodeDecodeError):
            strings_of(np.array([0xC3], np.uint8), np.array([1], np.uint8))

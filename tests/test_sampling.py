"""Subword regularization."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from test_native import KINDS, running_text, text_near_borders
from treetok import TreeTokenizer, TreetokError
from treetok.native import why_not_native
from treetok.native_encoder import native_encoder
from treetok.reference_encoder import ReferenceEncoder
from treetok.sampling import Dropout, mix

texts = text_near_borders | running_text | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
probabilities = st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.9, 1.0]) | st.floats(0, 1)
seeds = st.integers(0, (1 << 64) - 1)


@pytest.fixture(scope="module")
def tokenizers():
    return [
        TreeTokenizer.train(SAMPLE_FILES, 1500, "counts", progress=False, **options) for options in KINDS.values()
    ]


@given(texts, probabilities, seeds)
def test_samples_decode_to_the_text(tokenizers, text, dropout, seed):
    for tokenizer in tokenizers:
        ids = tokenizer.encode(text, dropout=dropout, seed=seed)
        assert ids == tokenizer.encode(text, dropout=dropout, seed=seed)
        if tokenizer.profile == "lossless":
            assert tokenizer.decode(ids) == text


@given(texts, seeds)
def test_no_dropout_is_the_usual_encoding_and_full_dropout_gives_characters(tokenizers, text, seed):
    for tokenizer in tokenizers:
        assert tokenizer.encode(text, dropout=0.0, seed=seed) == tokenizer.encode(text)
        reference = ReferenceEncoder(tokenizer.state)
        assert reference.encode_sampled([text], 1, 0, seed) == [reference.encode(text)]
        characters = [character for word in tokenizer.state.text_profile.split(text) for character in word]
        expected = [number for character in characters for number in tokenizer._table.ids_of_piece(character)]
        assert tokenizer.encode(text, dropout=1.0, seed=seed) == expected


@pytest.mark.skipif(why_not_native() is not None, reason="there is no native core here")
@given(st.lists(texts, max_size=4), probabilities, seeds, st.data())
def test_native_samples_are_those_of_the_reference(tokenizers, batch, dropout, seed, data):
    batch.append("".join(batch) + "<s>the")
    names = {"<s>", data.draw(st.sampled_from(["the", "s", "<"]))}
    specials = [(name, number) for number, name in enumerate(sorted(names, key=len, reverse=True))]
    threshold = Dropout.of(dropout, seed).threshold
    for tokenizer in tokenizers:
        native, reference = native_encoder(tokenizer.state), ReferenceEncoder(tokenizer.state)
        for allowed in (None, specials):
            expected = reference.encode_sampled(batch, 1, threshold, seed, allowed)
            for threads in (1, 3):
                assert native.encode_sampled(batch, threads, threshold, seed, allowed) == expected


def test_shipped_tokenizers_sample_like_their_reference(sample_text):
    """With the lexicon, the parser and markers."""
    lines = [*sample_text.split("\n")[:60], "blorkishnesses WINDSURFING mistranslated"]
    for name in ("en", "en-uncased"):
        tokenizer = TreeTokenizer.load(name)
        expected = ReferenceEncoder(tokenizer.state).encode_sampled(lines, 1, Dropout.of(0.3, 5).threshold, 5)
        assert tokenizer.encode_batch(lines, dropout=0.3, seed=5, threads=2) == expected
        assert expected != tokenizer.encode_batch(lines)


def test_occurrences_are_independent_and_declined_as_often_as_asked(lossless):
    """` the` is a token: each occurrence is kept with the same probability, whatever its neighbours do."""
    the = lossless.token_to_id(" the")
    for dropout in (0.1, 0.5, 0.9):
        ids = lossless.encode(" the" * 4000, dropout=dropout, seed=3)
        assert ids.count(the) / 4000 == pytest.approx(1 - dropout, abs=0.03)
    batch = lossless.encode_batch([" the"] * 4000, dropout=0.5, seed=3)
    assert sum(ids == [the] for ids in batch) / 4000 == pytest.approx(0.5, abs=0.03)
    pairs = [batch[at] == batch[at + 1] == [the] for at in range(0, 4000, 2)]
    assert sum(pairs) / 2000 == pytest.approx(0.25, abs=0.03)


def test_seeds(lossless):
    text = "The lighthouse keepers were walking home. " * 5
    samples = [lossless.encode(text, dropout=0.3, seed=seed) for seed in range(20)]
    assert len(set(map(tuple, samples))) == 20
    # Without a seed, every call is another sample.
    assert lossless.encode(text, dropout=0.3) != lossless.encode(text, dropout=0.3)
    # A place in the batch is part of the seed, its neighbours are not.
    first = lossless.encode_batch([text, "a", text], dropout=0.3, seed=1)
    assert first[0] == samples[1] != first[2]
    assert lossless.encode_batch(["", "b b b", text], dropout=0.3, seed=1)[2] == first[2]


def test_samples_in_one_array(lossless):
    texts = ["the walkers", "", "walking<|endoftext|>"] * 20
    options = {"dropout": 0.5, "seed": 7, "allowed_special": "all", "threads": 2}
    lists = lossless.encode_batch(texts, **options)
    for dtype in ("uint32", "int64"):
        ids, offsets = lossless.encode_flat(texts, dtype=dtype, **options)
        assert (ids.dtype, offsets.dtype) == (dtype, {"uint32": "uint64", "int64": "int64"}[dtype])
        assert [ids[start:end].tolist() for start, end in pairwise(offsets)] == lists
    assert [part.tolist() for part in lossless.encode_flat([], dropout=0.5)] == [[], [0]]
    usual = lossless.encode_flat(texts)[0].tolist()
    assert (
        lossless.encode_flat(texts, seed=7)[0].tolist()
        == usual
        != lossless.encode_flat(texts, dropout=0.5)[0].tolist()
    )
    with pytest.raises(TreetokError, match="dropout must be a number"):
        lossless.encode_flat(texts, dropout=2)


def test_special_tokens_are_kept(lossless):
    ids = lossless.encode("a<|endoftext|>b", dropout=1.0, allowed_special="all")
    assert ids == lossless.encode("a<|endoftext|>b", allowed_special="all")


def test_numbers_that_are_known():
    """The first numbers of SplitMix64 with seed 0, as published with it."""
    golden = 0x9E3779B97F4A7C15
    assert [mix(golden * step & (1 << 64) - 1) for step in range(3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


@pytest.mark.parametrize("dropout", [-0.1, 1.1, "0.5", None, True, float("nan")])
def test_bad_probabilities(lossless, dropout):
    with pytest.raises(TreetokError, match="dropout must be a number of at least 0 and at most 1"):
        lossless.encode_batch(["a"], dropout=dropout, seed=1)


@pytest.mark.parametrize("seed", [-1, 1 << 64, "1", 0.5])
def test_bad_seeds(lossless, seed):
    with pytest.raises(TreetokError, match="seed must be"):
        lossless.encode("a", dropout=0.5, seed=seed)

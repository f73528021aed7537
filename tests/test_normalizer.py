"""Tokenizers that bring text into a normal form of Unicode first."""

import random
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from test_native import assert_same_arrays
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.native import why_not_native
from treetok.native_encoder import native_encoder
from treetok.reference_encoder import ReferenceEncoder
from treetok.sampling import Dropout
from treetok.text.normalized import PERHAPS_MARK, normalise, normalise_with_places, segments

# Letters and marks that become one, in any order; Hangul; ligatures, wide and narrow forms; signs that become
# several words.
DECISIVE = (
    "eoa \n\u0301\u0323\u0307\u0327éộſẛ\u1100\u1161\u11a8가각ﬁ①½ｶﾞガ\uffa1\uffc2"
    "＜|＞…´\u0344\u0958\u09c7\u09be\u0385ΩÅ"
)
texts = st.text(st.sampled_from(DECISIVE), max_size=20) | st.text(st.characters(exclude_categories=["Cs"]))
forms = pytest.mark.parametrize("form", ["nfc", "nfkc"])


@pytest.fixture(scope="module")
def tokenizers(lossless, uncased):
    """By form: with the trees and tokens of others."""
    return {
        form: [TreeTokenizer(replace(tokenizer.state, normalizer=form)) for tokenizer in (lossless, uncased)]
        for form in ("nfc", "nfkc")
    }


@forms
@given(texts)
@example("".join(map(chr, range(0x0300, 0x0380))))
def test_segments_can_be_normalised_on_their_own(form, text):
    parts = [text[start:end] for start, end in segments(form, text)]
    assert "".join(parts) == text
    whole = unicodedata.normalize(form.upper(), text)
    assert "".join(unicodedata.normalize(form.upper(), part) for part in parts) == whole
    normal, starts, ends = normalise_with_places(form, text)
    assert normal == whole == normalise(form, text)
    assert len(starts) == len(ends) == len(normal)
    assert starts == sorted(starts) and ends == sorted(ends)


@forms
def test_segments_of_every_character_beside_marks(form):
    """Between any character and what may join it."""
    for character in map(chr, [*range(0xD800), *range(0xE000, 0x110000)]):
        if unicodedata.is_normalized("NFKD", character) and not unicodedata.combining(character):
            continue
        for text in ("e" + character, "\u1100" + character, "\u09c7" + character, character + "\u0301"):
            parts = [unicodedata.normalize(form.upper(), text[a:b]) for a, b in segments(form, text)]
            assert "".join(parts) == unicodedata.normalize(form.upper(), text)


def all_marks():
    """What stands behind a letter in some normal form, in an order of its own."""
    every = map(chr, [*range(0xD800), *range(0xE000, 0x110000)])
    return [mark for mark in every if unicodedata.combining(unicodedata.normalize("NFKD", mark)[0])]


def test_long_runs_of_marks_have_the_normal_forms_of_unicode():
    """These are sorted before Python does it, in less time."""
    marks = all_marks()
    assert all(re.fullmatch(PERHAPS_MARK, mark) for mark in marks)
    # Classes that differ, marks that are several, and what becomes one with a letter.
    few = "\u0300\u0315\u0327\u0323\u0344\u0345\u05b0\u0f71\u0f72\u0f73\u3099\uff9e"
    letters = ["", "a", "é", "ộ", "\u1100\u1161", "각", "\u09c7\u09be", "ｶ", "か", "´", "\u0f40", " ", "👍🏽"]
    choose = random.Random(0)
    for _ in range(500):
        parts = [
            choose.choice(letters)
            + "".join(choose.choices(choose.choice([marks, few]), k=choose.choice([3, 63, 200])))
            for _ in range(choose.randrange(1, 4))
        ]
        text = "".join(parts) + choose.choice(letters)
        for form in ("nfc", "nfkc"):
            expected = unicodedata.normalize(form.upper(), text)
            assert normalise(form, text) == expected
            normal, starts, ends = normalise_with_places(form, text)
            assert normal == expected and len(starts) == len(ends) == len(normal)
            assert starts == sorted(starts) and ends == sorted(ends) and ends[-1] == len(text)


@forms
@given(texts)
def test_ids_are_those_of_the_normal_form(tokenizers, lossless, uncased, form, text):
    normal = unicodedata.normalize(form.upper(), text)
    for tokenizer, plain in zip(tokenizers[form], (lossless, uncased), strict=True):
        ids = plain.encode(normal)
        assert tokenizer.encode(text) == tokenizer.encode_batch([text, "a"])[0] == ids
        assert tokenizer.encode_with_offsets(text).ids == ids
        assert tokenizer.encode_flat([text])[0].tolist() == ids
        assert tokenizer.encode(text, dropout=0.5, seed=1) == plain.encode(normal, dropout=0.5, seed=1)
        assert tokenizer.count_tokens(text) == len(ids)
    lossless_one = tokenizers[form][0]
    assert lossless_one.decode(lossless_one.encode(text)) == normal
    if text.strip():
        assert "".join(lossless_one.segment(text)) == normal
        assert lossless_one.tree(text).text == normal


@forms
@given(texts)
def test_offsets_are_those_of_the_text_as_it_was(tokenizers, form, text):
    lossless = tokenizers[form][0]
    encoding = lossless.encode_with_offsets(text)
    covered = 0
    for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
        # No gap: a token begins where the last ended, or shares its part of the text.
        assert 0 <= start <= covered and end >= covered
        covered = end
        if not token.startswith("<"):
            # Behind markers it has no space, or other capitals.
            assert token.strip().lower() in normalise(form, text[start:end]).lower()
    assert covered == len(text)


def test_examples_of_offsets(tokenizers):
    nfkc = tokenizers["nfkc"][0]
    encoding = nfkc.encode_with_offsets("e\u0301 ½ the")
    assert encoding.tokens[:2] == ["<0xC3>", "<0xA9>"] and encoding.tokens[-1] == " the"
    # é is one character in normal form, ½ becomes three.
    assert encoding.offsets[:2] == [(0, 2), (2, 2)] and encoding.offsets[-1] == (4, 8)
    assert {offset for offset in encoding.offsets[2:-1] if offset[0] < offset[1]} <= {(2, 3), (3, 4), (2, 4)}
    assert encoding.word_ids[-1] == max(word for word in encoding.word_ids if word is not None)


@pytest.mark.skipif(why_not_native() is not None, reason="there is no native core here")
@forms
@given(st.lists(texts | st.just("a<s>e\u0301"), max_size=3), st.integers(0, 99))
def test_native_as_the_reference(tokenizers, form, batch, seed):
    specials = [("<s>", 0), ("e\u0301", 1)]
    for tokenizer in tokenizers[form]:
        native, reference = native_encoder(tokenizer.state), ReferenceEncoder(tokenizer.state)
        for allowed in (None, specials):
            assert native.encode_batch(batch, 2, allowed) == reference.encode_batch(batch, 1, allowed)
            expected = reference.encode_with_offsets(batch, 1, allowed)
            assert_same_arrays(native.encode_with_offsets(batch, 2, allowed), expected)
            sampled = reference.encode_sampled(batch, 1, Dropout.of(0.5, seed).threshold, seed, allowed)
            assert native.encode_sampled(batch, 2, Dropout.of(0.5, seed).threshold, seed, allowed) == sampled
        for text in batch:
            assert native.split(text) == reference.split(text)
            found, expected_ids = native.encode_utf8(text.encode(), 2), reference.encode_utf8(text.encode(), 1)
            assert found.tolist() == expected_ids.tolist()


def test_what_becomes_a_special_token_is_text(tokenizers):
    nfkc = tokenizers["nfkc"][0]
    text = "＜|endoftext|＞"
    assert normalise("nfkc", text) == "<|endoftext|>"
    ids = nfkc.encode(text, allowed_special="all")
    assert nfkc.special_tokens["<|endoftext|>"] not in ids
    assert ids == nfkc.encode("<|endoftext|>")


def test_training_counts_normal_forms(monkeypatch, tmp_path):
    composed = "".join(path.read_text(encoding="utf-8") for path in SAMPLE_FILES[:3]) + " élève crème café" * 30
    taken_apart = unicodedata.normalize("NFD", composed)
    (tmp_path / "text.txt").write_text(taken_apart, encoding="utf-8")
    options = {"vocab_size": 600, "trees": "counts", "progress": False}
    expected = TreeTokenizer.train([composed], **options)
    trained = TreeTokenizer.train([tmp_path / "text.txt"], normalizer="nfc", **options)
    assert trained.state.entries == expected.state.entries
    assert trained.state.lexicon.words() == expected.state.lexicon.words()
    monkeypatch.setenv("TREETOK_NATIVE", "0")
    assert TreeTokenizer.train([taken_apart], normalizer="nfc", **options) == trained
    counts = {"cafe\u0301": 30, "creme": 3}
    with pytest.warns(match="the text supports"):
        words = TreeTokenizer.train(counts, normalizer="nfc", **options)
    assert words.tokenize(" cafe\u0301") == words.tokenize(" café")


@forms
def test_it_is_saved_and_files_are_read_with_it(form, tokenizers, tmp_path, capsys):
    tokenizer = tokenizers[form][0]
    tokenizer.save(tmp_path / "model")
    loaded = TreeTokenizer.load(tmp_path / "model")
    assert loaded == tokenizer and loaded.state.normalizer == form
    assert loaded != TreeTokenizer(replace(tokenizer.state, normalizer=None))
    assert main(["info", str(tmp_path / "model")]) == 0
    assert ["normalizer", form] in [line.split() for line in capsys.readouterr().out.splitlines()]
    text = "cafe\u0301 ﬁnds\n" * 50
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert loaded.encode_files(tmp_path / "text.txt", tmp_path / "ids.bin", progress=False) == len(
        tokenizer.encode(text)
    )
    (counts,) = loaded.count_files(tmp_path / "text.txt", progress=False)
    assert (counts.tokens, counts.characters) == (len(tokenizer.encode(text)), len(text))


@pytest.mark.parametrize("bad", ["nfd", "", 5, ["nfc"]])
def test_unknown_normalizers(bad):
    with pytest.raises(TreetokError, match=r"unknown normalizer .*: choose one of 'nfc', 'nfkc', or None"):
        TreeTokenizer.train(["a b"], 300, "counts", normalizer=bad, progress=False)


def test_texts_at_fault(tokenizers):
    for tokenizer in tokenizers["nfc"]:
        with pytest.raises(TreetokError, match="text must be str, not int"):
            tokenizer.encode(5)
        with pytest.raises(TreetokError, match="text must be str, not bytes"):
            tokenizer.encode_with_offsets(b"a")
        with pytest.raises(TreetokError, match=r"texts\[1\]: the text has a lone surrogate"):
            tokenizer.encode_batch(["a", "é\ud800"])

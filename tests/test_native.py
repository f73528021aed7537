"""The native core gives what the plain-Python reference gives: ids, offsets, texts, pieces and scores."""

import os
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.lexicon import Lexicon
from treetok.native import why_not_native
from treetok.native_encoder import SPECIAL, native_encoder, native_source, tokens_of
from treetok.reference_encoder import ReferenceEncoder
from treetok.sources import CountTrees
from treetok.text import VERSIONS
from treetok.text.lossless import Lossless

if why_not_native() is None:
    from treetok import _core

pytestmark = pytest.mark.skipif(why_not_native() is not None, reason="there is no native core here")

KINDS = {
    "lossless": {"profile": "lossless"},
    "lossless without markers": {"profile": "lossless", "markers": False},
    "lossless as in the paper": {"profile": "lossless", "vocab": "paper"},
    "uncased": {"profile": "uncased"},
    "uncased as in the paper": {"profile": "uncased", "vocab": "paper"},
}

# Characters that decide where words end, beside those of all of Unicode.
DECISIVE = (
    "aZzAéÉßẞΣσςİıſ ſ\t\n\r\x85\xa0\u3000 ''’’0123456789٣४Ⅻ½_-.,;"
    "@#*/\x00\u0301\u20e3\ufe0f\u200c\u200d中国カなไทย한글🇩🇪👩👍🏽❤©→ℹ"
)
text_near_borders = st.text(st.sampled_from(DECISIVE), max_size=40)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
words = st.sampled_from(
    ["the", "cat's", "", "THE", "HTMLParser", "camelCase", "URLs", "12345678", "naïve", "Straße"]
)
running_text = st.lists(words | any_text.map(lambda text: text[:3]), max_size=12).map(" ".join)
long_runs = st.builds(
    lambda unit, times: unit * times, st.text(st.sampled_from(DECISIVE), max_size=3), st.integers(1, 90)
)
# Long enough for several of the blocks of 64 bytes that ASCII text is split by.
ascii_parts = st.sampled_from(
    [
        "the",
        " of",
        "HTMLParser",
        "URLs",
        "aB",
        "A",
        "7",
        "1998",
        "1234567",
        "...",
        "_",
        "'",
        "'s",
        "'lL",
        "'d_",
        "’t",
        " ",
        "   ",
        "\n",
        " \n \n",
        "\n    ",
        "\t",
        "\xa0",
        "é",
    ]
)
ascii_runs = st.builds(lambda unit, times: unit * times, st.sampled_from("aA1 .\n"), st.integers(1, 70))
ascii_blocks = st.lists(ascii_parts | ascii_runs, max_size=60)
texts = st.one_of(text_near_borders, any_text, running_text, long_runs, ascii_blocks.map("".join))


@pytest.fixture(scope="module")
def pairs():
    """The native and the reference encoder of each kind of tokenizer, in both versions of its profile."""
    made = []
    for options in KINDS.values():
        state = TreeTokenizer.train(SAMPLE_FILES, 1200, "counts", progress=False, **options).state
        for version in state.text_profile.versions:
            of_version = replace(state, profile_version=version)
            made.append((native_encoder(of_version), ReferenceEncoder(of_version), of_version))
    return made


def assert_same_arrays(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@given(texts)
@example("'S ’ll 'ſ 'Re 'vE 'lL' 'd1 'd_ 's\u0301")
@example("a" * 65 + " " + "9" * 67 + "٣" * 130 + " " * 200 + "x")
@example("ΑΣ ΑΣΑ Σ ΑΣ' ΑΣ\u0301 İΣ ΑΣ.Α")
@example("👩\u200d❤\ufe0f\u200d👩 👍🏽\u0903🏽 ©\u200d👩 🇩🇪🇩 1\ufe0f\u20e3 #\u20e3 *\ufe0f")
def test_same_as_the_reference(pairs, text):
    for native, reference, state in pairs:
        assert native.split(text) == VERSIONS[state.profile, state.profile_version].split(text)
        ids = reference.encode(text)
        assert native.encode(text) == ids
        assert_same_arrays(native.encode_with_offsets([text], 1), reference.encode_with_offsets([text], 1))
        separator = state.text_profile.separator
        assert native.decode(ids, False, separator) == reference.decode(ids, False, separator)


@given(texts, st.data())
def test_special_tokens_as_in_the_reference(pairs, text, data):
    """Among them some that are the beginning of others, or that stand in the middle of words."""
    cut = data.draw(st.integers(0, len(text)))
    names = {name for name in (text[cut : cut + 3], text[cut : cut + 1], text[:2], "<|endoftext|>") if name}
    specials = [(name, number) for number, name in enumerate(sorted(names, key=len, reverse=True))]
    for native, reference, _ in pairs:
        assert native.encode(text, specials) == reference.encode(text, specials)
        batch = [text, "", text[cut:]]
        expected = reference.encode_with_offsets(batch, 1, specials)
        assert_same_arrays(native.encode_with_offsets(batch, 2, specials), expected)


@given(st.data())
def test_any_ids_are_decoded_as_in_the_reference(pairs, data):
    """Also markers in places where no text has them, and halves of characters."""
    for native, reference, state in pairs:
        strange = [*state.table.marker_of_id, *state.table.id_of_byte.values()]
        ids = st.integers(0, len(state.table) - 1)
        drawn = data.draw(st.lists(ids | st.sampled_from(strange) if strange else ids, max_size=12))
        for skip in (False, True):
            separator = state.text_profile.separator
            assert native.decode(drawn, skip, separator) == reference.decode(drawn, skip, separator)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64))
def test_pieces_and_scores_of_words(pairs, text):
    for native, reference, state in pairs:
        for word in state.text_profile.split(text):
            assert native.pieces(word) == reference.pieces(word)
            assert native.scores(word) == list(map(float, reference.scores(word)))


def test_batches_and_threads_do_not_change_ids(pairs, sample_text):
    lines = [*sample_text.split("\n"), "", " ", "Ünknown wörds 東京", "x" * 5000]
    for native, reference, _ in pairs:
        expected = [reference.encode(line) for line in lines]
        flat = [number for ids in expected for number in ids]
        places = reference.encode_with_offsets(lines, 1)
        for threads in (1, 2, 7):
            assert native.encode_batch(lines, threads) == expected
            ids, offsets = native.encode_flat(lines, threads)
            assert ids.dtype == np.uint32 and offsets.dtype == np.uint64
            assert ids.tolist() == flat and np.diff(offsets).tolist() == list(map(len, expected))
            assert_same_arrays(native.encode_with_offsets(lines, threads), places)
        assert [len(array) for array in native.encode_flat([], 2)] == [0, 1]


@pytest.mark.parametrize(
    "word", [" blorf", " " + "antidisestablishmentarian" * 2, " naïve", " 1234567", "", " 東京"]
)
def test_words_that_stop_the_look_up_of_known_ones(pairs, word):
    """Ids are written some words later than the words are found: fewer and more of them than here."""
    _, reference, state = pairs[1]
    assert (state.profile, state.profile_version) == ("lossless", 2)
    for before in range(140):
        text = "a the" + " the a an I" * (before // 4) + " the" * (before % 4) + word + " the" * (before % 3)
        native = native_encoder(state)
        native.encode("a the an I")
        # Once with the word unknown, once known.
        for _ in range(2):
            assert native.encode(text) == reference.encode(text)


def test_a_table_that_overflows_gives_the_same_ids(lossless):
    """A million distinct words: the table of known words is emptied more than once on the way."""
    native, reference = native_encoder(lossless.state), ReferenceEncoder(lossless.state)
    unknown = [f" w{number:x}qz" for number in range(1_000_000)]
    native.encode_flat(unknown, 2)
    some = unknown[::50_000] + unknown[-3:]
    assert [native.encode(word) for word in some] == [reference.encode(word) for word in some]


def test_bad_input_is_explained(lossless):
    for text, message in (
        (7, "text must be str, not int"),
        ("a\ud800", r"lone surrogate \(U\+D800\) at character 1"),
    ):
        for call in (lossless.encode, lossless.encode_with_offsets, lossless.segment, lossless.tree):
            with pytest.raises(TreetokError, match=message):
                call(text)
        for call in (lossless.encode_batch, lossless.encode_flat):
            with pytest.raises(TreetokError, match=message):
                call(["fine", text])
    for ids, message in (([10**30], "out of range"), ([-1], "out of range"), (["a"], "must be an integer")):
        with pytest.raises(TreetokError, match=message):
            lossless.decode(ids)


def test_arrays_of_any_layout(lossless):
    """The core needs those that lie in one piece, and keeps its copies of others as long as it reads them."""
    lexicon, source = lossless.state.lexicon, lossless.state.source
    arrays = [
        np.repeat(array, 2)[::2] for array in (lexicon.lengths, lexicon.depths, source.hashes, source.counts)
    ]
    lengths, depths, hashes, counts = arrays
    state = replace(
        lossless.state, lexicon=Lexicon(lexicon.utf8, lengths, depths), source=CountTrees(hashes, counts)
    )
    native = native_encoder(state)
    # Takes memory that was freed too early.
    _reused = [np.zeros_like(array, order="C") for array in arrays * 2]
    for word in (lexicon.words()[-1], "walking", "unseenly"):
        assert native.scores(word) == list(map(float, ReferenceEncoder(lossless.state).scores(word)))


def test_numbers_that_make_no_sense(lossless):
    """The core is private, but reads memory by these numbers."""
    native, text = native_encoder(lossless.state), b"some text\nin lines " * 1000
    for threads in (0, 1 << 61, (1 << 64) - 1):
        assert np.array_equal(native.encode_utf8(text, threads), native.encode_utf8(text, 1))
    for special in (("", 0), ("<s>", lossless.vocab_size), ("<s>", (1 << 32) - 1)):
        with pytest.raises(ValueError, match="special token"):
            native.encode("a\0<s>", [special])
    names, kinds, costs = tokens_of(lossless.state)
    source = native_source(lossless.state.source)
    for profile, kind, unknown_id in ((4, SPECIAL, 0), (0, 6, 0), (0, SPECIAL, len(names))):
        kinds[0] = kind
        with pytest.raises(ValueError, match=r"no such profile|no such kind|unknown"):
            _core.Encoder(profile, names, kinds, costs, 0, unknown_id, None, source)


def test_ids_that_change_the_list_they_are_in(lossless):
    class Clearing:
        def __index__(self):
            ids.clear()
            return 70

    ids = [Clearing(), *range(100, 200)]
    assert native_encoder(lossless.state).decode(ids, False, "") is None


def test_the_reference_can_be_chosen():
    """And says so."""
    script = "from treetok import TreeTokenizer; print(type(TreeTokenizer.load('en')._encoder).__name__)"
    for switch, name in (("0", "ReferenceEncoder"), ("1", "Encoder")):
        environment = {**os.environ, "TREETOK_NATIVE": switch}
        shown = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert shown.stdout.strip() == name, shown.stderr


def test_pictures_end_where_those_of_the_reference_end(lossless):
    """Whatever the release of `regex` takes for one character: Indic letters may join what is before."""
    pieces = [
        "👨",
        "⛹",
        "❤",
        "🏽",
        "\u200d",
        "\u094d",
        "क",
        "\u0d4d",
        "ക",
        "\u0301",
        "\u0903",
        "\ufe0f",
        "a",
        " ",
        "©",
    ]
    source = random.Random(0)
    for _ in range(2000):
        text = "".join(source.choices(pieces, k=source.randint(1, 6)))
        assert lossless._encoder.split(text) == Lossless().split(text), ascii(text)

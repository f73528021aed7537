import multiprocessing
import pickle
import subprocess
import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import ROOT
from treetok import TreeTokenizer, TreetokError
from treetok.reference_encoder import ReferenceEncoder
from treetok.text.uncased import NORMAL_CHARACTERS

encodable = st.text(st.characters(exclude_categories=["Cs"]))
mixed_scripts = st.text(
    st.sampled_from("aZ 'sé\u0301ß東京한글עבריתहि\u0940🏳\u200d🌈\x00\x1f\x7f\n\r\t\u2028İΣ<|>")
)
MEGABYTE = 1_000_000


def assert_lossless(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text
    encoding = tokenizer.encode_with_offsets(text)
    assert encoding.ids == tokenizer.encode(text)
    assert encoding.tokens == tokenizer.tokenize(text)
    assert "".join(text[start:end] for start, end in encoding.offsets) == text


@given(encodable | mixed_scripts)
@example("\u0301")
@example("\u0301\u0302 \u0303a")
@example("<|endoftext|>")
@example("".join(map(chr, range(32))))
@example("")
def test_lossless_round_trip(lossless, text):
    assert_lossless(lossless, text)


def test_lossless_round_trip_of_all_unicode(lossless):
    """Every character up to the Chinese ones, then every 16th, each beside another one each time."""
    code_points = [*range(0x3000), *range(0x3000, 0xD800, 16), *range(0xE000, sys.maxunicode + 1, 16)]
    for step in (1, 5):
        text = "".join(chr(c) for start in range(step) for c in code_points[start::step])
        assert len(text) == len(code_points)
        assert lossless.decode(lossless.encode(text)) == text


@pytest.mark.parametrize("text", ["a" * MEGABYTE, "ß" * MEGABYTE, "東" * MEGABYTE, " " * MEGABYTE, "-" * MEGABYTE])
def test_lossless_round_trip_of_a_megabyte_of_one_letter(lossless, text):
    assert_lossless(lossless, text)


def test_lossless_round_trip_of_running_text(lossless, sample_text):
    assert_lossless(TreeTokenizer.load("en"), sample_text)
    for text in (sample_text.upper(), sample_text[::-1]):
        assert_lossless(lossless, text)


@pytest.mark.parametrize("name", ["en", "en-uncased"])
def test_shipped_tokenizers_load_and_segment_words(name):
    tokenizer = TreeTokenizer.load(name)
    assert "".join(tokenizer.segment("windsurfing")) == "windsurfing"
    assert tokenizer.decode(tokenizer.encode("the wind")) == "the wind"
    # Known words come from the lexicon, an unseen one from the parser.
    assert tokenizer.segment("uniquenesses") == ["unique", "ness", "es"]
    assert "".join(tokenizer.segment("blorkishnesses")) == "blorkishnesses"
    assert tokenizer.segment("blorkishnesses")[-2:] == ["ness", "es"]


def test_shipped_tokenizers_are_small_and_load_quickly():
    """Loading must not build tables of all words: it should take at most 150 ms of the processor."""
    folder = ROOT / "src" / "treetok" / "shipped"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 25_000_000
    seconds = []
    for _ in range(5):
        begun = time.process_time()
        TreeTokenizer.load("en").encode("windsurfing")
        seconds.append(time.process_time() - begun)
    assert min(seconds) < 0.6


@given(encodable | mixed_scripts)
def test_uncased_offsets_point_at_what_the_tokens_come_from(uncased, text):
    encoding = uncased.encode_with_offsets(text)
    assert encoding.ids == uncased.encode(text)
    assert encoding.offsets == sorted(encoding.offsets)
    for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
        assert 0 <= start < end <= len(text)
        if token != "[UNK]":
            assert token in text[start:end].translate(NORMAL_CHARACTERS)


def test_uncased_example(uncased):
    encoding = uncased.encode_with_offsets("The WIND, café 東")
    assert encoding.tokens == ["the", "wind", ",", *uncased.segment("cafe"), "[UNK]"]
    assert encoding.offsets[:3] == [(0, 3), (4, 8), (8, 9)]
    assert encoding.offsets[-1] == (15, 16)
    assert uncased.decode(uncased.encode("Walking, she said.")) == "walking , she said ."


def test_bytes_of_one_character_share_its_offsets(lossless):
    encoding = lossless.encode_with_offsets("a東b")
    assert encoding.tokens == ["a", "<0xE6>", "<0x9D>", "<0xB1>", "b"]
    assert encoding.offsets == [(0, 1), (1, 2), (2, 2), (2, 2), (2, 3)]


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
@given(st.lists(encodable | mixed_scripts | st.just("one<|endoftext|> two[SEP]three"), max_size=4))
def test_words_of_tokens(profile, request, texts):
    """Each token has the number of its word; the tokens of a word are those of the word by itself."""
    tokenizer = request.getfixturevalue(profile)
    encodings = tokenizer.encode_batch_with_offsets(iter(texts), threads=2, allowed_special="all")
    assert encodings == [tokenizer.encode_with_offsets(text, allowed_special="all") for text in texts]
    flat = tokenizer.encode_flat_with_offsets(texts, allowed_special="all")
    assert flat.ids.tolist() == [token_id for encoding in encodings for token_id in encoding.ids]
    specials = set(tokenizer.special_tokens.values()) - {tokenizer.token_to_id("[UNK]")}
    for encoding in encodings:
        assert [word is None for word in encoding.word_ids] == [number in specials for number in encoding.ids]
    for text, encoding in zip(texts, tokenizer.encode_batch_with_offsets(texts), strict=True):
        words = tokenizer.state.text_profile.split(text)
        assert len(encoding) == len(encoding.word_ids)
        for number, word in enumerate(words):
            of_word = [
                token_id for token_id, at in zip(encoding.ids, encoding.word_ids, strict=True) if at == number
            ]
            pieces = ReferenceEncoder(tokenizer.state).pieces(word)
            assert of_word == [token_id for piece in pieces for token_id in tokenizer._table.ids_of_piece(piece)]


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
@pytest.mark.parametrize("text", ["a\ud800", "\udfff"])
def test_lone_surrogates_are_refused(profile, text, request):
    tokenizer = request.getfixturevalue(profile)
    for method in (tokenizer.encode, tokenizer.tokenize, tokenizer.encode_with_offsets, tokenizer.segment):
        with pytest.raises(TreetokError, match="lone surrogate"):
            method(text)
    with pytest.raises(TreetokError, match="lone surrogate"):
        tokenizer.encode_batch(["fine", text])
    for method in (tokenizer.encode_batch, tokenizer.encode_flat, tokenizer.encode_batch_with_offsets):
        with pytest.raises(TreetokError, match=r"texts\[1\]: the text has a lone surrogate"):
            method(["fine", text], threads=2)
        with pytest.raises(TreetokError, match=r"texts\[2\]: text must be str, not int"):
            method(["fine", "", 5])


def test_case_is_kept_and_trees_are_not_changed_by_it(lossless):
    for word in ("windsurfing", "unhappiness", "istanbul"):
        spans = lossless.tree(word).spans()
        assert lossless.tree(word.upper()).spans() == spans
        assert lossless.tree(word.title()).spans() == spans
        assert "".join(lossless.segment(word.title())) == word.title()
    # Lower-casing İ gives two characters; the tree is still one over eight.
    assert lossless.tree("İSTANBUL").spans() == lossless.tree("istanbul").spans()
    assert_lossless(lossless, "İSTANBUL İİİ ﬁ ŉ ẞ")


def test_segments_are_bare_pieces(lossless, uncased):
    for tokenizer in (lossless, uncased):
        assert tokenizer.segment("the") == ["the"]
        assert "".join(tokenizer.segment("walked")) == "walked"
        assert tokenizer.segment("o'clock's")[-1] == "'s"
        assert "-" in tokenizer.segment("chain-gang")
        assert tokenizer.segment("") == []
        assert tokenizer.segment(" ") == ([" "] if tokenizer is lossless else [])
    assert lossless.segment("東") == ["東"]


@given(st.text("abehilnorstuw'-. É東", min_size=1, max_size=15))
def test_segments_join_to_the_word(lossless, text):
    assert "".join(lossless.segment(text)) == text


def test_topmost_splits_are_word_boundaries(uncased, lossless):
    for tokenizer in (uncased, lossless):
        tree = tokenizer.tree("fielder's")
        assert tree.text == "fielder's"
        assert {(0, 9), (0, 7), (7, 9)} <= set(tree.spans())
        assert {(0, 5), (5, 10), (5, 6), (6, 10)} <= set(tokenizer.tree("chain-gang").spans())
    with pytest.raises(TreetokError, match="no word"):
        uncased.tree("  ")


@pytest.mark.parametrize("name", ["lossless", "uncased", "en", "en-uncased"])
def test_tree_is_what_segmentation_follows(name, request, monkeypatch):
    """Without post-merge, every piece is a span of the tree."""
    loaded = TreeTokenizer.load(name) if name.startswith("en") else request.getfixturevalue(name)
    monkeypatch.setenv("TREETOK_NATIVE", "0")
    tokenizer = TreeTokenizer(loaded.state)
    monkeypatch.setattr("treetok.segment.Segmenter.post_merge", lambda self, pieces: pieces)
    # Some are in the lexicon, some are not, and some are several words.
    words = ["misunderstanding", "rainforests", "carelessness", "lighthouses", "walking", "unquixotically"]
    words += ["fielder's", "chain-gang", "blorkishnesses", "windsurfingly", "a"]
    cut = 0
    for word in words:
        pieces = tokenizer.segment(word)
        ends = np.cumsum([len(piece) for piece in pieces]).tolist()
        assert set(pairwise([0, *ends])) <= set(tokenizer.tree(word).spans()), word
        cut += len(pieces) > 1
    assert cut >= 5


# ---- special tokens, ids


def test_special_tokens_are_text_unless_allowed(lossless):
    end = lossless.special_tokens["<|endoftext|>"]
    text = "one<|endoftext|>two"
    assert end not in lossless.encode(text)
    ids = lossless.encode(text, allowed_special="all")
    assert ids == [*lossless.encode("one"), end, *lossless.encode("two")]
    assert ids == lossless.encode(text, allowed_special={"<|endoftext|>"})
    assert ids == lossless.encode(text, allowed_special="<|endoftext|>")
    assert lossless.decode(ids) == text
    assert lossless.decode(ids, skip_special_tokens=True) == "onetwo"
    encoding = lossless.encode_with_offsets(text, allowed_special="all")
    assert "".join(text[start:end] for start, end in encoding.offsets) == text
    with pytest.raises(TreetokError, match="'<pad>' is not a special token"):
        lossless.encode(text, allowed_special=["<pad>"])


def test_the_longest_special_token_wins():
    tokenizer = TreeTokenizer.train(["a b"], 262, trees="counts", special_tokens=["<a", "<a>"], progress=False)
    assert tokenizer.encode("<a><a", allowed_special="all") == [1, 0]


def test_tokens_and_ids(lossless, uncased):
    for tokenizer in (lossless, uncased):
        names = [tokenizer.id_to_token(number) for number in range(tokenizer.vocab_size)]
        assert [tokenizer.token_to_id(name) for name in names] == list(range(1500))
        assert tokenizer.token_to_id("no such token") is None
    assert lossless.id_to_token(lossless.token_to_id("<0xE4>")) == "<0xE4>"
    assert lossless.special_tokens == {"<|endoftext|>": 0, "<|pad|>": 1, "<|mask|>": 2}
    assert list(uncased.special_tokens) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.mark.parametrize("bad", [-1, 1500, 10**30])
def test_ids_out_of_range(lossless, bad):
    message = f"token id {bad} is out of range: ids run from 0 to 1499"
    with pytest.raises(TreetokError, match=message):
        lossless.decode([1, bad])
    with pytest.raises(TreetokError, match=message):
        lossless.id_to_token(bad)
    with pytest.raises(TreetokError, match=message):
        lossless.decode_stream().step(bad)


def test_wrong_types(lossless):
    with pytest.raises(TreetokError, match="a token id must be an integer, not 'a'"):
        lossless.decode(["a"])
    with pytest.raises(TreetokError, match="text must be str, not bytes"):
        lossless.encode(b"a")
    for call, message in [
        (lambda: lossless.encode_batch("text"), "a batch must be a list of texts, not str"),
        (lambda: lossless.encode_flat(None), "a batch must be a list of texts, not NoneType"),
        (lambda: lossless.encode_batch(["a"], threads=-1), "threads must be a whole number of 1 or more"),
        (lambda: lossless.decode(5), "ids must be a sequence of integers, not int"),
        (lambda: lossless.decode(b"abc"), "ids must be a sequence of integers, not bytes"),
        (lambda: lossless.token_to_id([]), "a token must be a string, not list"),
        (lambda: lossless.encode("a", allowed_special=5), "allowed_special must be 'all' or a list"),
        (lambda: lossless.save(None), "it is not the name of a directory"),
        (lambda: lossless.save(""), "it is not the name of a directory"),
        (lambda: lossless.save("a\0b"), "cannot save to"),
        (lambda: TreeTokenizer.load(None), "a tokenizer must be a name or a directory"),
        (lambda: TreeTokenizer.load("x" * 5000), "no tokenizer"),
    ]:
        with pytest.raises(TreetokError, match=message):
            call()
    assert lossless.decode(np.array(lossless.encode("numpy ids"))) == "numpy ids"


# ---- batches, streams, threads, processes


@given(st.lists(encodable, max_size=5))
def test_batches_equal_single_calls(lossless, texts):
    expected = [lossless.encode(text) for text in texts]
    assert lossless.encode_batch(texts) == expected
    assert lossless.encode_batch(texts, threads=3) == expected
    ids, offsets = lossless.encode_flat(texts)
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.uint64)
    assert [ids[int(a) : int(b)].tolist() for a, b in pairwise(offsets)] == expected


class CountingCalls:
    """Splits words in the middle, and remembers what it was asked for."""

    def __init__(self):
        self.calls = []

    def split_scores(self, words):
        self.calls.append(list(words))
        return [[-abs(2 * at + 2 - len(word)) for at in range(len(word) - 1)] for word in words]


TEXTS = ["unseen words", "Unseen again", "<|endoftext|>again", "", "more unseen words"]


def counting_tokenizer():
    source = CountingCalls()
    tokenizer = TreeTokenizer.train(["some words"], 265, trees=source, progress=False)
    source.calls.clear()
    return tokenizer, source


@pytest.mark.parametrize("encode", ["encode_batch", "encode_flat"])
def test_the_unseen_words_of_a_batch_are_parsed_together_and_once(encode):
    tokenizer, source = counting_tokenizer()
    getattr(tokenizer, encode)(iter(TEXTS))
    assert [sorted(words) for words in source.calls] == [["<|", "again", "endoftext", "more", "unseen", "|>"]]


def test_threads_share_out_the_unseen_words_of_a_batch():
    tokenizer, source = counting_tokenizer()
    tokenizer.encode_batch(TEXTS, threads=2)
    assert len(source.calls) == 2 and all(source.calls)
    assert set().union(*source.calls) == {"<|", "again", "endoftext", "more", "unseen", "|>"}


def test_a_large_batch_is_encoded_in_parts(monkeypatch):
    expected = counting_tokenizer()[0].encode_batch(TEXTS, allowed_special="all")
    monkeypatch.setattr("treetok.reference_encoder.CHARACTERS_AT_ONCE", 20)
    tokenizer, source = counting_tokenizer()
    assert tokenizer.encode_batch(TEXTS, allowed_special="all") == expected
    assert [sorted(words) for words in source.calls] == [["again", "unseen"], ["again", "more", "unseen"]]
    monkeypatch.setattr("treetok.word_encoder.WORDS_PER_BATCH", 1)
    tokenizer, source = counting_tokenizer()
    assert tokenizer.encode_batch(TEXTS, allowed_special="all") == expected
    assert max(map(len, source.calls)) == 1


@given(encodable | mixed_scripts)
def test_stream_gives_the_same_text(lossless, text):
    stream = lossless.decode_stream()
    parts = [stream.step(token_id) for token_id in lossless.encode(text)]
    assert "".join(parts) == text
    assert stream.finish() == ""


def ids_in_parts(tokenizer):
    """Any ids, often special tokens, markers and bytes, which are halves of characters, in parts of any length."""
    table = tokenizer.state.table
    strange = [*table.special_tokens.values(), *table.marker_of_id, *table.id_of_byte.values()]
    # What markers change.
    words = [number for number, name in enumerate(table.names) if name.startswith(" ")]
    some = st.sampled_from(strange + words) | st.integers(0, len(table) - 1)
    of_text = encodable.map(tokenizer.encode)
    return st.lists(st.lists(some, max_size=6) | of_text, max_size=8)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("profile", ["lossless", "uncased"])
@given(st.data())
def test_any_ids_decode_and_stream_alike(profile, skip, request, data):
    tokenizer = request.getfixturevalue(profile)
    parts = data.draw(ids_in_parts(tokenizer))
    ids = [token_id for part in parts for token_id in part]
    expected = tokenizer.decode(ids, skip_special_tokens=skip)
    stream = tokenizer.decode_stream(skip_special_tokens=skip)
    # A stream that is finished begins anew.
    for _ in range(2):
        assert "".join(map(stream.step, ids)) + stream.finish() == expected
        assert "".join(map(stream.extend, parts)) + stream.finish() == expected


@given(st.data())
def test_what_is_streamed_is_never_taken_back(lossless, data):
    """What is there after each id is the beginning of all that comes later, and has no half character."""
    text = data.draw(encodable | mixed_scripts)
    stream, so_far = lossless.decode_stream(), ""
    for token_id in lossless.encode(text):
        so_far += stream.step(token_id)
        assert text.startswith(so_far)
    assert so_far == text


def test_a_stream_refuses_ids_that_are_none_and_goes_on(lossless):
    ids = lossless.encode("a東b")
    stream = lossless.decode_stream()
    first = stream.extend(ids[:2])
    with pytest.raises(TreetokError, match="token id 1500 is out of range"):
        stream.extend([ids[2], 1500])
    assert first + stream.extend(ids[2:]) == "a東b"


def test_stream_holds_back_only_what_is_unfinished(lossless):
    stream = lossless.decode_stream()
    parts = [stream.step(token_id) for token_id in lossless.encode("a東b")]
    assert parts == ["a", "", "", "東", "b"]


def test_threads_agree(sample_text):
    tokenizer = TreeTokenizer.load("en")
    lines = sample_text.split("\n")
    expected = TreeTokenizer.load("en").encode_batch(lines)
    results = {}

    def work(number):
        results[number] = [tokenizer.encode(line) for line in lines]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == expected for result in results.values())


def test_the_word_cache_is_bounded(monkeypatch):
    monkeypatch.setenv("TREETOK_NATIVE", "0")
    monkeypatch.setattr("treetok.word_encoder.MAX_CACHED_WORDS", 10)
    tokenizer = TreeTokenizer.load("en")
    text = "many different words stand in this one long sentence about nothing in particular"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not tokenizer._encoder._words._cache


def test_pickle_gives_the_same_tokenizer(lossless, uncased, sample_text):
    for tokenizer in (lossless, uncased):
        again = pickle.loads(pickle.dumps(tokenizer))
        assert again.encode(sample_text) == tokenizer.encode(sample_text)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_agree(method):
    tokenizer = TreeTokenizer.load("en")
    texts = ["windsurfing", "unhappily ever after"]
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(tokenizer.encode, texts) == [tokenizer.encode(text) for text in texts]


def test_using_a_tokenizer_imports_no_torch():
    code = "import sys, treetok; treetok.TreeTokenizer.load('en').encode('a'); print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_what_takes_long_to_import_is_imported_when_it_is_needed():
    slow = ["concurrent.futures", "logging", "tempfile", "safetensors"]
    code = "import sys, treetok; treetok.TreeTokenizer.load('en').encode('a'); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(slow).isdisjoint(result.stdout.split())

"""What people try first on a tokenizer: calling it, its length, vocabulary, counts, equality, pickling."""

import json
import os
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import TreeTokenizer, TreetokError
from treetok.cli import main

encodable = st.text(st.characters(exclude_categories=["Cs"]))


def test_calling(lossless):
    assert lossless("walking on") == lossless.encode("walking on")
    texts = ["walking", "", "on"]
    assert lossless(texts) == lossless(iter(texts)) == lossless.encode_batch(texts)
    assert lossless({"text": texts, "label": [1, 2, 3]}) == {"input_ids": lossless.encode_batch(texts)}
    assert lossless({"text": "walking"}) == {"input_ids": lossless.encode("walking")}
    for wrong, message in [
        (5, "a batch must be a list of texts, not int"),
        (b"abc", "a batch must be a list of texts, not bytes"),
        (["a", 5], r"texts\[1\]: text must be str, not int"),
        ({"body": ["a"]}, "there is no column 'text' among 'body': to encode another one, use dataset.map"),
    ]:
        with pytest.raises(TreetokError, match=message):
            lossless(wrong)


def test_vocabulary(lossless, uncased):
    for tokenizer in (lossless, uncased, TreeTokenizer.load("en")):
        vocabulary = tokenizer.get_vocab()
        assert len(tokenizer) == tokenizer.vocab_size == len(vocabulary)
        assert sorted(vocabulary.values()) == list(range(len(tokenizer)))
        assert all(tokenizer.id_to_token(number) == name for name, number in vocabulary.items())
        # A copy: nothing that is done to it changes the tokenizer.
        vocabulary.clear()
        assert len(tokenizer.get_vocab()) == len(tokenizer)


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
def test_the_vocabulary_is_exported_for_other_tools(profile, request, tmp_path, capsys):
    tokenizer = request.getfixturevalue(profile)
    tokenizer.export_vocab(tmp_path / "vocab.json")
    text = (tmp_path / "vocab.json").read_text(encoding="utf-8")
    assert json.loads(text) == tokenizer.get_vocab()
    assert list(json.loads(text).values()) == list(range(len(tokenizer)))
    tokenizer.save(tmp_path / "model")
    assert main(["vocab", str(tmp_path / "model")]) == 0
    # The same object; control characters, DEL among them, are escaped for the terminal.
    output = capsys.readouterr().out
    assert list(json.loads(output).items()) == list(json.loads(text).items())
    assert output.replace("\\u007f", "\x7f") == text
    with pytest.raises(TreetokError, match="cannot write"):
        tokenizer.export_vocab(tmp_path / "no" / "vocab.json")


def test_exporting_destroys_nothing_but_a_file(lossless, tmp_path):
    pipe, link, loop = tmp_path / "pipe", tmp_path / "link.json", tmp_path / "loop"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "target.json")
    loop.symlink_to(loop)
    for path, message in (
        (pipe, "not a regular file"),
        (tmp_path, "not a regular file"),
        (loop, "cannot write"),
        ("", "name of a file"),
        (None, "name of a file"),
    ):
        with pytest.raises(TreetokError, match=message):
            lossless.export_vocab(path)
    assert pipe.is_fifo()
    lossless.export_vocab(link)
    assert link.is_symlink() and json.loads((tmp_path / "target.json").read_bytes()) == lossless.get_vocab()


@given(st.lists(encodable, max_size=4))
def test_counts(lossless, texts):
    texts.append("one<|endoftext|>two")
    assert lossless.count_tokens(texts, threads=2) == [len(lossless.encode(text)) for text in texts]
    for text in texts:
        for allowed in ((), "all"):
            ids = lossless.encode(text, allowed_special=allowed)
            assert lossless.count_tokens(text, allowed_special=allowed) == len(ids)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint16", "uint32", np.uint64, np.int64])
def test_types_of_flat_ids(lossless, dtype):
    texts = ["walking", "", "on 東"]
    ids, offsets = lossless.encode_flat(texts, dtype=dtype)
    assert ids.dtype == np.dtype(dtype)
    assert offsets.dtype == (np.int64 if ids.dtype.kind == "i" else np.uint64)
    assert [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())] == lossless.encode_batch(texts)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32", "words", None, object])
def test_types_that_cannot_hold_ids(lossless, dtype):
    with pytest.raises(TreetokError, match="ids below 1500 need a type such as int64"):
        lossless.encode_flat(["a"], dtype=dtype)


def test_pytorch_takes_flat_ids(lossless):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
    ids, offsets = map(torch.from_numpy, lossless.encode_flat(["walking", "on"], dtype="int64"))
    first, second = torch.tensor_split(ids, offsets[1:-1])
    assert [first.tolist(), second.tolist()] == lossless.encode_batch(["walking", "on"])


def test_equality(lossless, uncased, tmp_path):
    lossless.save(tmp_path)
    again = TreeTokenizer.load(tmp_path)
    assert again == lossless and hash(again) == hash(lossless)
    assert pickle.loads(pickle.dumps(lossless)) == lossless
    assert lossless != uncased and lossless != "lossless"
    assert lossless != lossless.with_special_tokens(["<|user|>"])
    assert lossless != lossless.with_special_tokens(eos="<|pad|>")
    assert len({lossless, again, uncased}) == 2
    assert TreeTokenizer.load("en") == TreeTokenizer.load("en") != TreeTokenizer.load("en-large")


class Halves:
    def split_scores(self, words):
        return [[-abs(2 * at + 2 - len(word)) for at in range(len(word) - 1)] for word in words]


def test_equality_with_trees_of_an_object():
    source = Halves()
    one, same, other = (
        TreeTokenizer.train(["some words"], 267, trees=trees, progress=False)
        for trees in (source, source, Halves())
    )
    assert one == same and hash(one) == hash(same)
    assert one != other


# Before and after use, in processes that hash strings in another way: `datasets` finds its cache by these bytes.
PICKLE = """
import hashlib, pickle, sys
from treetok import TreeTokenizer
def digest(): return hashlib.sha256(pickle.dumps(tokenizer)).hexdigest()
tokenizer = TreeTokenizer.load(sys.argv[1])
before = digest()
text = "Unseen blorkishnesses, <|endoftext|>"
tokenizer.encode(text, allowed_special="all"), tokenizer.tokenize(text), tokenizer.decode([5, 6])
tokenizer.encode_batch_with_offsets([text] * 3, threads=2), tokenizer.segment("blorks"), tokenizer.tree("blorks")
hash(tokenizer), tokenizer.get_vocab()
assert digest() == before
tokenizer = pickle.loads(pickle.dumps(tokenizer))
assert digest() == before
print(before)
"""


@pytest.mark.parametrize("kind", ["en", "en-uncased", "lossless", "uncased"])
def test_pickles_are_the_same_bytes_everywhere(kind, request, tmp_path):
    if not kind.startswith("en"):
        request.getfixturevalue(kind).with_special_tokens(["<a>"], pad="<b>", sep="<b>").save(tmp_path)
        kind = tmp_path
    digests = {
        subprocess.run(
            [sys.executable, "-c", PICKLE, kind],
            env={**os.environ, "PYTHONHASHSEED": seed, "TREETOK_NATIVE": native},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, native in (("1", "1"), ("2", "0"))
    }
    assert len(digests) == 1


def test_a_pickle_of_a_trained_tokenizer_stays_the_same(lossless, uncased):
    for tokenizer in (lossless, uncased):
        pickled = pickle.dumps(tokenizer)
        tokenizer.encode("used in the meantime")
        assert pickle.dumps(tokenizer) == pickle.dumps(pickle.loads(pickled)) == pickled

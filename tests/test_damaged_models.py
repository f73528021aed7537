"""Files from strangers: whatever is in them, loading raises TreetokError, or the tokenizer works.

Sizes and checksums in treetok.json are those of the damaged files, so that the checks behind them are tried.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from test_parser_storage import random_parser, rounded
from test_storage import contents, rewrite
from treetok import TreeTokenizer, TreetokError
from treetok.native import SWITCH, why_not_native
from treetok.storage.vocab_tsv import escape_token

SAMPLE = "The unwalked walkers walked, JUMPING über  1234567 東京 👩‍💻s.\n\tLooks like jumpers' x" + "y" * 70
WORDS = {stem + ending: 5 for stem in (" walk", " jump", "look") for ending in ("", "s", "ed", "ing", "er")}
# Whatever numbers may mean: sizes, lengths, letters, bits of floats.
EDGES = [0, 1, 2, 63, 64, 65, 97, 122, 127, 128, 192, 237, 244, 254, 255]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """Small tokenizers of every kind on disk."""
    folder = tmp_path_factory.mktemp("models")
    made = {
        "counts": TreeTokenizer.train(WORDS, 285, "counts", "lossless", progress=False),
        "uncased": TreeTokenizer.train(WORDS, 45, "counts", "uncased", progress=False),
        "neural": TreeTokenizer.train(WORDS, 285, random_parser(), "lossless", progress=False),
        "integers": TreeTokenizer.train(WORDS, 45, rounded(random_parser()), "uncased", progress=False),
    }
    for name, tokenizer in made.items():
        tokenizer.save(folder / name)
    return {name: folder / name for name in made}


def load_and_use(directory: Path) -> None:
    try:
        tokenizer = TreeTokenizer.load(directory)
        ids = tokenizer.encode(SAMPLE, allowed_special="all")
        decoded = tokenizer.decode(ids)
        assert tokenizer.encode_batch([SAMPLE, SAMPLE], threads=2)[1] == tokenizer.encode(SAMPLE)
        assert tokenizer.encode_with_offsets(SAMPLE).ids == tokenizer.encode(SAMPLE)
        tokenizer.tree("unwalkable")
        tokenizer.tokenize("unwalkable")
    except TreetokError:
        return
    assert tokenizer.profile != "lossless" or decoded == SAMPLE


def check_damaged(source: Path, folder: Path, name: str, content: bytes) -> None:
    directory = folder / "model"
    shutil.copytree(source, directory, dirs_exist_ok=True)
    rewrite(directory, name, content)
    load_and_use(directory)


def damaged_bytes(data, content: bytes) -> bytes:
    """A few changes: bytes replaced, added, removed or repeated."""
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        size = data.draw(st.integers(0, 9))
        new = data.draw(st.binary(max_size=9) | st.sampled_from(EDGES).map(lambda byte: bytes([byte])))
        damaged[at : at + size] = data.draw(st.sampled_from([new, damaged[:at][-40:], new * 3]))
    return bytes(damaged)


def damaged_array(data, array):
    """An array with other values, another type, or another shape."""
    how = data.draw(st.sampled_from(["values"] * 5 + ["swapped"] * 3 + ["type", "length", "shape", "bits"]))
    if how == "type":
        kind = data.draw(st.sampled_from(["uint8", "int8", "int32", "uint64", "float16", "float32"]))
        with np.errstate(all="ignore"):
            return array.astype(kind)
    if how == "length":
        length = data.draw(st.integers(0, 2 * len(array) + 1))
        return np.resize(array, (length, *array.shape[1:]))
    if how == "shape":
        return array.reshape(data.draw(st.sampled_from([(-1,), (1, -1), (-1, 1), (*array.shape, 1)])))
    if how == "bits" and array.size:
        return np.frombuffer(damaged_bytes(data, array.tobytes()).ljust(array.nbytes)[: array.nbytes], array.dtype)
    flat = array.flatten()
    for _ in range(data.draw(st.integers(1, 3)) if flat.size else 0):
        at, other = data.draw(st.tuples(*[st.integers(0, len(flat) - 1)] * 2))
        if how == "swapped":
            flat[[at, other]] = flat[[other, at]]
            continue
        if flat.dtype.kind == "f":
            flat[at] = data.draw(st.sampled_from([0, -0.0, 6e-8, 65504, -65504, np.inf, np.nan, 1]))
        else:
            flat[at] = np.array(data.draw(st.sampled_from(EDGES))).astype(flat.dtype)
    return flat.reshape(array.shape)


KINDS = ["counts", "uncased", "neural", "integers"]


@pytest.mark.parametrize("kind", KINDS)
def test_they_work_when_nothing_is_damaged(models, kind):
    tokenizer = TreeTokenizer.load(models[kind])
    assert tokenizer.known_words > 0
    assert tokenizer.profile == "uncased" or tokenizer.decode(tokenizer.encode(SAMPLE)) == SAMPLE


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_arrays_that_are_valid_safetensors(models, tmp_path, kind, data):
    files = sorted(name for name in contents(models[kind]) if name.endswith(".safetensors"))
    name = data.draw(st.sampled_from(files))
    arrays = safetensors.numpy.load((models[kind] / name).read_bytes())
    # Letters and lengths decide more than any one of the many weights.
    decisive = sorted(key for key in arrays if "." not in key)
    for key in data.draw(st.lists(st.sampled_from(sorted(arrays)) | st.sampled_from(decisive), max_size=2)):
        arrays[key] = np.ascontiguousarray(damaged_array(data, arrays[key]))
    if not data.draw(st.integers(0, 19)):
        del arrays[data.draw(st.sampled_from(sorted(arrays)))]
    check_damaged(models[kind], tmp_path, name, safetensors.numpy.save(arrays))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_bytes(models, tmp_path, kind, data):
    name = data.draw(st.sampled_from(sorted(contents(models[kind]).keys() - {"treetok.json", "MODEL_CARD.md"})))
    check_damaged(models[kind], tmp_path, name, damaged_bytes(data, (models[kind] / name).read_bytes()))


GOOD_TOKENS = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=70).map(escape_token),
    st.text("abc Aßéſİσς", max_size=9).map(" ".__add__),
    st.text("walking ", min_size=1, max_size=4),
)
BAD_TOKENS = st.text(st.characters(codec=None), max_size=5) | st.sampled_from(
    [r"\x80", r"\xc0", r"\x7f", r"\join", r"\cap", r"\upper", r"\ud800", r"\U00110000", "[UNK]", "<join>", "a"]
)
GOOD_COUNTS = st.integers(0, 10**15).map(str) | st.just("0" * 18)
BAD_COUNTS = st.sampled_from(["", "-1", "1e5", "٣", "9" * 18, "9" * 19, "0" * 40])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_vocabularies(models, tmp_path, kind, data):
    lines = (models[kind] / "vocab.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(lines)))
        lines.insert(at, "\t".join([data.draw(GOOD_TOKENS), data.draw(GOOD_COUNTS)]))
    if data.draw(st.booleans()):
        lines.insert(at, "\t".join([data.draw(BAD_TOKENS | GOOD_TOKENS), data.draw(BAD_COUNTS | GOOD_COUNTS)]))
    if not data.draw(st.integers(0, 5)):
        del lines[data.draw(st.integers(0, len(lines) - 1))]
    if data.draw(st.booleans()):
        # Without repetitions, which are always refused.
        lines = list({line.partition("\t")[0]: line for line in lines}.values())
    text = "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")
    check_damaged(models[kind], tmp_path, "vocab.tsv", text)


# Also what cannot be written as UTF-8.
NAMES = st.text(st.characters(codec=None), max_size=4)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 400) | st.just(1 << 70) | st.floats() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
SPECIAL_TOKENS = st.dictionaries(
    NAMES | st.sampled_from(["<s>", "<s><s>", "\0", "<join>", "<0x80>", " walk"]),
    st.integers(0, 9) | st.integers(-1, 300) | st.booleans() | st.just(1 << 40),
    max_size=3,
)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_heads(models, tmp_path, kind, data):
    directory = tmp_path / "model"
    shutil.copytree(models[kind], directory, dirs_exist_ok=True)
    head = json.loads((directory / "treetok.json").read_text(encoding="utf-8"))
    if data.draw(st.booleans()):
        head["special_tokens"] |= data.draw(SPECIAL_TOKENS)
    else:
        head[data.draw(st.sampled_from(sorted(head)))] = data.draw(ANYTHING)
    (directory / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    load_and_use(directory)


@pytest.mark.skipif(
    why_not_native() is not None, reason="mutants are for comparing the native core with plain Python"
)
def test_mutants(tmp_path, monkeypatch):
    """A few of those that scripts/check_mutants.py makes."""
    mutants = pytest.importorskip("check_mutants", reason="there are no limits of resources")
    # It is changed to compare the two.
    monkeypatch.setenv(SWITCH, "1")
    (tmp_path / "own").mkdir()
    tried = mutants.Mutants(mutants.small_models(tmp_path), 0, tmp_path / "own")
    results = [tried.check(number) for number in range(120)]
    assert [wrong for _, wrong in results if wrong] == []
    assert {result for result, _ in results} == {"works", "refused"}

import contextlib
import errno
import hashlib
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError, TreetokWarning
from treetok.storage import files as storage_files
from treetok.storage import load
from treetok.storage.tensors import read_tensors

FILES = [
    "MODEL_CARD.md",
    "lexicon.safetensors",
    "ngrams.safetensors",
    "tokenizer_config.json",
    "treetok.json",
    "vocab.tsv",
]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.fixture
def saved(tmp_path, lossless) -> Path:
    lossless.save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(directory: Path, name: str, content: bytes) -> None:
    """Replace a file and update its checksum, as an attacker would."""
    (directory / name).write_bytes(content)
    head = json.loads((directory / "treetok.json").read_text(encoding="utf-8"))
    head["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (directory / "treetok.json").write_text(json.dumps(head), encoding="utf-8")


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
def test_loaded_equals_saved(tmp_path, profile, request, sample_text):
    tokenizer = request.getfixturevalue(profile)
    tokenizer.save(tmp_path / "deep" / "model")
    again = TreeTokenizer.load(tmp_path / "deep" / "model")
    assert list(contents(tmp_path / "deep" / "model")) == FILES
    text = sample_text + " Untrained zyzzyvas quixotically jabberwocked."
    assert again.encode(text) == tokenizer.encode(text)
    assert again.tree("jabberwocking") == tokenizer.tree("jabberwocking")
    assert (again.vocab_size, again.special_tokens) == (tokenizer.vocab_size, tokenizer.special_tokens)
    again.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "deep" / "model")


def test_how_pieces_are_merged_is_kept(tmp_path):
    for vocab, fewest_tokens in (("compact", True), ("paper", False)):
        TreeTokenizer.train(SAMPLE_FILES, 1200, "counts", vocab=vocab, progress=False).save(tmp_path / vocab)
        assert TreeTokenizer.load(tmp_path / vocab).state.fewest_tokens is fewest_tokens


def test_a_tokenizer_of_the_first_format(saved):
    """It merges by entropies, and some of its settings had other names."""
    head = json.loads((saved / "treetok.json").read_text(encoding="utf-8"))
    del head["fewest_tokens"]
    head["format"] = 1
    head["settings"] = {"cut_as_the_model_would_of_unseen_words": 0.9, "seed": 4}
    (saved / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    loaded = TreeTokenizer.load(saved)
    assert loaded.state.fewest_tokens is False
    assert loaded.settings == {"parser_agreement_unseen": 0.9, "seed": 4}


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
def test_same_input_gives_the_same_bytes(tmp_path, profile):
    for name, files in (("one", SAMPLE_FILES), ("two", SAMPLE_FILES[::-1])):
        TreeTokenizer.train(files, 1200, trees="counts", profile=profile, progress=False).save(tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_vocabulary_is_human_readable(saved):
    lines = (saved / "vocab.tsv").read_text(encoding="utf-8").split("\n")
    assert "\\x80\t0" in lines
    assert any(line.startswith(" the\t") for line in lines)
    assert any(line.startswith("\\u000a\t") for line in lines)


# ---- overwriting


def test_unrelated_files_are_not_overwritten(tmp_path, lossless):
    (tmp_path / "vocab.tsv").write_text("mine", encoding="utf-8")
    with pytest.raises(TreetokError, match=r"it has a file vocab\.tsv that treetok did not write"):
        lossless.save(tmp_path)
    assert contents(tmp_path) == {"vocab.tsv": b"mine"}


def test_a_directory_with_the_name_of_a_shipped_tokenizer(tmp_path, monkeypatch, lossless):
    monkeypatch.chdir(tmp_path)
    lossless.save("en")
    with pytest.warns(TreetokWarning, match=r"for the local directory use '\./en'"):
        assert TreeTokenizer.load("en").vocab_size == 32_002
    assert TreeTokenizer.load("./en").vocab_size == 1500


def test_concurrent_readers_and_writers(tmp_path, lossless, uncased):
    lossless.save(tmp_path)
    failures = []

    def save(tokenizer):
        try:
            for _ in range(15):
                tokenizer.save(tmp_path)
        except Exception as error:
            failures.append(error)

    writers = [threading.Thread(target=save, args=(tokenizer,)) for tokenizer in (lossless, uncased)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        loaded = TreeTokenizer.load(tmp_path)
        assert f"| profile | {loaded.profile} |" in loaded.state.card
    assert not failures


def test_saving_replaces_a_tokenizer_and_nothing_else(tmp_path, lossless, uncased):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    lossless.save(tmp_path)
    uncased.save(tmp_path)
    assert list(contents(tmp_path)) == sorted([*FILES, "notes.txt"])
    assert TreeTokenizer.load(tmp_path).profile == "uncased"


def test_obsolete_files_are_removed(tmp_path, lossless):
    lossless.save(tmp_path)
    TreeTokenizer.train(["a b c"], 263, trees="counts", lexicon_size=0, progress=False).save(tmp_path)
    assert "lexicon.safetensors" not in contents(tmp_path)
    assert TreeTokenizer.load(tmp_path).known_words == 0


@pytest.mark.parametrize("failing_call", range(5))
def test_a_full_disk_leaves_the_old_tokenizer(saved, uncased, monkeypatch, failing_call):
    before = contents(saved)
    calls = []

    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) > failing_call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(TreetokError, match=r"cannot save to .*model: No space left on device"):
        uncased.save(saved)
    assert contents(saved) == before


class Crash(BaseException):
    """The process was killed: no cleanup code runs."""


def crash_at(monkeypatch, call: int, method: str) -> None:
    original = getattr(Path, method)
    calls = []

    def crashing(self, *arguments):
        calls.append(self)
        if len(calls) > call:
            raise Crash
        return original(self, *arguments)

    monkeypatch.setattr(Path, method, crashing)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)


@pytest.mark.parametrize(("method", "call"), [("rename", 0), *[("replace", call) for call in range(6)]])
def test_a_crash_leaves_one_whole_tokenizer(saved, uncased, lossless, monkeypatch, sample_text, method, call):
    with monkeypatch.context() as patched:
        crash_at(patched, call, method)
        with pytest.raises(Crash):
            uncased.save(saved)
    survivor = TreeTokenizer.load(saved)
    # The first file that is put in its place is the head.
    assert survivor.profile == ("lossless" if (method, call) in [("rename", 0), ("replace", 0)] else "uncased")
    assert f"| profile | {survivor.profile} |" in survivor.state.card
    assert survivor.encode(sample_text) == {"lossless": lossless, "uncased": uncased}[survivor.profile].encode(
        sample_text
    )
    # The next save cleans up.
    lossless.save(saved)
    assert TreeTokenizer.load(saved).profile == "lossless"
    assert list(contents(saved)) == FILES


def test_saving_over_a_file(tmp_path, lossless):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(TreetokError, match="it is a file, not a directory"):
        lossless.save(tmp_path / "file")
    with pytest.raises(TreetokError, match="cannot save to"):
        lossless.save(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


# ---- loading what is missing, damaged or hostile


def test_loading_what_does_not_exist(tmp_path):
    with pytest.raises(
        TreetokError, match="no tokenizer 'klingon': neither a directory nor one of en, en-large, en-uncased"
    ):
        TreeTokenizer.load("klingon")
    with pytest.raises(TreetokError, match=r"is not a tokenizer: treetok\.json is missing"):
        TreeTokenizer.load(tmp_path)


def test_a_path_is_never_a_shipped_name():
    with pytest.raises(TreetokError, match=r"no directory en, .* the shipped tokenizer is the string 'en'"):
        TreeTokenizer.load(Path("en"))


@pytest.mark.parametrize("name", ["lexicon.safetensors", "ngrams.safetensors", "vocab.tsv"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [("missing", "missing"), ("shorter", "damaged: it has"), ("flipped", "damaged: its checksum")],
)
def test_a_damaged_file_is_named(saved, name, damage, message):
    path = saved / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "shorter":
        path.write_bytes(content[:-1])
    else:
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    found = (
        "missing" if damage == "missing" else "damaged: it has" if damage == "shorter" else "damaged: its checksum"
    )
    with pytest.raises(TreetokError, match=f"{name} is {found}"):
        TreeTokenizer.load(saved)


def test_the_model_card_may_be_edited(saved, tmp_path):
    (saved / "MODEL_CARD.md").write_text("# Mine", encoding="utf-8")
    TreeTokenizer.load(saved).save(tmp_path / "copy")
    assert (tmp_path / "copy" / "MODEL_CARD.md").read_text(encoding="utf-8") == "# Mine"
    (saved / "MODEL_CARD.md").unlink()
    assert TreeTokenizer.load(saved).vocab_size == 1500


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[]", "it has no format version"),
        (b'{"format": "1"}', "it has no format version"),
        (b'{"format": 4}', "format version 4, this treetok reads up to 3: upgrade treetok"),
        (b'{"format": 1}', "treetok.json is damaged: KeyError"),
    ],
)
def test_a_damaged_head_is_named(saved, content, message):
    (saved / "treetok.json").write_bytes(content)
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.load(saved)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("profile", "cased", "unknown profile 'cased'"),
        ("trees", "oracle", "unknown trees 'oracle'"),
        ("special_tokens", {"<a>": 5000}, "ids of special tokens must be distinct and between 0 and"),
        ("special_tokens", {"<a>": "0"}, "special_tokens must map non-empty names to ids"),
        ("special_tokens", None, "is damaged"),
        ("files", {}, r"vocab\.tsv is missing"),
        ("special_tokens", {"": 0}, "special_tokens must map non-empty names to ids"),
        ("special_tokens", {"\ud800": 0}, "is damaged"),
        ("special_tokens", {"<\ud800>": 0}, "is damaged"),
        ("roles", None, "roles map bos, eos"),
        ("normalizer", "nfd", "unknown normalizer 'nfd'"),
        ("normalizer", ["nfc"], "unknown normalizer"),
        ("roles", {"eos": "<a>"}, "the role 'eos' must name a special token, not '<a>'"),
        ("roles", {"eos": "the"}, "the role 'eos' must name a special token, not 'the'"),
        ("roles", {"eos": 0}, "a special token must be a string"),
        ("roles", {"eos": None}, "the role 'eos' must name a special token, not None"),
        ("roles", {"end": "<|endoftext|>"}, "unknown role 'end'"),
        ("special_tokens", {"<a>": True}, "special_tokens must map non-empty names to ids"),
        ("files", 3, "is damaged"),
        ("settings", 3, "is damaged"),
        ("fewest_tokens", 1, "fewest_tokens must be true or false, not 1"),
    ],
)
def test_an_invalid_head(saved, key, value, message):
    head = json.loads((saved / "treetok.json").read_text(encoding="utf-8"))
    head[key] = value
    (saved / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [*lines[:5], "no tab", *lines[5:]], r"vocab\.tsv, line 6: expected a token and a count"),
        (lambda lines: [*lines[:5], "x\t-1", *lines[5:]], r"vocab\.tsv, line 6: expected a token and a count"),
        (
            lambda lines: [*lines[:5], "x\t" + "9" * 5000, *lines[5:]],
            r"vocab\.tsv, line 6: expected a token and a count",
        ),
        (lambda lines: [*lines[:5], "\\z\t1", *lines[5:]], r"vocab\.tsv, line 6: bad escape"),
        (lambda lines: [line.split("\t")[0] + "\t" + "9" * 18 for line in lines], "its counts are too large"),
        (lambda lines: [*lines, lines[300]], "appears twice in the vocabulary"),
        (lambda lines: lines[1:], "the vocabulary is missing the character"),
        (lambda lines: [*lines[:5], lines[0], *lines[5:]], r"the token .* appears twice in the vocabulary"),
        (lambda lines: lines[:200] + lines[201:], "the vocabulary is missing the byte"),
    ],
)
def test_an_invalid_vocabulary(saved, change, message):
    lines = (saved / "vocab.tsv").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    rewrite(saved, "vocab.tsv", ("\n".join(change(lines)) + "\n").encode())
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.load(saved)


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("lexicon.safetensors", {"text": [97, 98], "lengths": [200], "depths": [0]}),
        ("lexicon.safetensors", {"text": [97, 98], "lengths": [2], "depths": [0, 0]}),
        ("lexicon.safetensors", {"text": [97, 255], "lengths": [2], "depths": [0]}),
        ("lexicon.safetensors", {"text": [97, 98], "lengths": [2]}),
        ("ngrams.safetensors", {"hashes": [3, 2], "counts": [1, 1]}),
        ("ngrams.safetensors", {"hashes": [2, 3], "counts": [1]}),
    ],
)
def test_invalid_arrays(saved, name, arrays):
    kind = np.uint8 if name.startswith("lexicon") else np.uint64
    rewrite(saved, name, safetensors.numpy.save({key: np.array(value, kind) for key, value in arrays.items()}))
    with pytest.raises(TreetokError, match=rf"{name} is damaged"):
        TreeTokenizer.load(saved)
    rewrite(saved, name, b"\xff" * 100)
    with pytest.raises(TreetokError, match=rf"{name} is damaged"):
        TreeTokenizer.load(saved)


def test_a_huge_head_is_not_read(saved, monkeypatch):
    monkeypatch.setattr(load, "LONGEST_HEAD", 100)
    with pytest.raises(TreetokError, match="larger than 100 bytes"):
        TreeTokenizer.load(saved)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["treetok.json", "vocab.tsv", "lexicon.safetensors", "MODEL_CARD.md"])
def test_a_pipe_is_not_waited_for(saved, name):
    (saved / name).unlink()
    os.mkfifo(saved / name)
    if name == "MODEL_CARD.md":
        assert TreeTokenizer.load(saved).state.card is None
    else:
        with pytest.raises(TreetokError, match=f"{name} is damaged: it is not a regular file"):
            TreeTokenizer.load(saved)


def test_a_huge_model_card_is_left_out(saved, monkeypatch):
    (saved / "MODEL_CARD.md").write_text("x" * 1000, encoding="utf-8")
    monkeypatch.setattr(load, "LONGEST_CARD", 1000)
    assert TreeTokenizer.load(saved).state.card == "x" * 1000
    monkeypatch.setattr(load, "LONGEST_CARD", 999)
    assert TreeTokenizer.load(saved).state.card is None


def test_a_directory_that_cannot_be_searched_is_named(saved, monkeypatch):
    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(load, "version_of", refused)
    with pytest.raises(TreetokError, match=f"^cannot read {saved}: Permission denied$"):
        TreeTokenizer.load(saved)


@pytest.mark.parametrize("is_shipped", [False, True])
def test_files_outside_the_directory_are_not_read(saved, monkeypatch, is_shipped):
    """Only shipped tokenizers share files, and these lie right beside them."""
    if is_shipped:
        for module in (load, storage_files):
            monkeypatch.setattr(module, "shipped_directory", lambda: saved.parent)
    elsewhere = "../elsewhere.tsv" if is_shipped else "elsewhere.tsv"
    (saved / "vocab.tsv").rename(saved.parent / elsewhere)
    head = json.loads((saved / "treetok.json").read_text(encoding="utf-8"))
    head["files"]["vocab.tsv"]["shared"] = elsewhere
    (saved / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(TreetokError, match=r"vocab\.tsv is missing"):
        TreeTokenizer.load(saved)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5).filter(lambda name: name != "__metadata__"),
        arrays(
            st.sampled_from([np.uint8, np.int8, np.float16, np.float32, np.int32, np.uint64, np.int64]),
            array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
        ),
        max_size=4,
    )
)
def test_arrays_are_read_as_by_the_library(tensors):
    content = safetensors.numpy.save(tensors)
    found, expected = read_tensors(memoryview(content)), safetensors.numpy.load(content)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype and np.array_equal(
            found[name], array, equal_nan=array.dtype.kind == "f"
        )


@given(st.binary(max_size=40) | st.integers(0, 200), st.integers(0, 255))
def test_other_bytes_are_no_arrays(content, byte):
    """Anything but a ValueError would reach the user as a traceback."""
    if isinstance(content, int):
        saved = bytearray(
            safetensors.numpy.save({"a": np.arange(6, dtype=np.uint8), "b": np.ones((2, 2), np.float32)})
        )
        saved[content % len(saved)] = byte
        content = bytes(saved)
    with contextlib.suppress(ValueError):
        read_tensors(memoryview(content))


@pytest.mark.parametrize("spaces", range(9))
def test_numbers_lie_at_addresses_of_their_size(spaces):
    """The library fills headers with spaces to a multiple of 8 bytes, others may not."""
    header = json.dumps({"x": {"dtype": "U64", "shape": [2], "data_offsets": [0, 16]}}).encode() + b" " * spaces
    content = len(header).to_bytes(8, "little") + header + np.arange(2, dtype="<u8").tobytes()
    array = read_tensors(memoryview(content))["x"]
    assert array.flags.aligned and array.tolist() == [0, 1]


def test_files_are_checked_where_there_are_no_threads(lossless, tmp_path, monkeypatch):
    def no_threads(thread):
        raise RuntimeError("can't start new thread")

    lossless.save(tmp_path / "saved")
    monkeypatch.setattr("threading.Thread.start", no_threads)
    assert TreeTokenizer.load(tmp_path / "saved") == lossless
    vocabulary = tmp_path / "saved" / "vocab.tsv"
    vocabulary.write_bytes(vocabulary.read_bytes().replace(b"e", b"f", 1))
    with pytest.raises(TreetokError, match=r"vocab.tsv is damaged: its checksum does not match"):
        TreeTokenizer.load(tmp_path / "saved")


def test_a_checksum_that_was_not_computed_does_not_pass(lossless, tmp_path, monkeypatch):
    lossless.save(tmp_path / "saved")
    monkeypatch.setattr("treetok.storage.load.Checksums._compute", lambda self, name: None)
    with pytest.raises(TreetokError, match="its checksum does not match"):
        TreeTokenizer.load(tmp_path / "saved")

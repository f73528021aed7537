"""Model directories are untrusted input: what is refused is refused before any work, nothing outside of them is
read, and loading takes memory in proportion to the files."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from test_parser_storage import random_parser
from test_storage import contents, rewrite
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.sources.parser_features import LetterFeatures
from treetok.storage.files import real_path
from treetok.storage.format import LONGEST_HEAD
from treetok.storage.strict_json import DEEPEST, parse_json
from treetok.storage.tensors import LONGEST_HEADER, MOST_ARRAYS, read_tensors
from treetok.storage.vocab_tsv import LONGEST_VOCABULARY

WORDS = {stem + ending: 5 for stem in (" walk", " jump", "look") for ending in ("", "s", "ed", "ing", "er")}
resource = pytest.importorskip("resource", reason="there are no limits of resources")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("made") / "model"
    TreeTokenizer.train(WORDS, 285, "counts", "lossless", progress=False).save(directory)
    return directory


@pytest.fixture
def saved(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "model")
    return tmp_path / "model"


def change_head(directory: Path, **changes) -> None:
    head = json.loads((directory / "treetok.json").read_text(encoding="utf-8"))
    (directory / "treetok.json").write_text(json.dumps(head | changes), encoding="utf-8")


# ---- headers of arrays


def file_of(header: bytes, data: bytes = b"") -> memoryview:
    return memoryview(len(header).to_bytes(8, "little") + header + data)


def one_array(shape="[1]", kind='"U8"', places="[0, 1]", data=b"x") -> memoryview:
    return file_of(f'{{"a": {{"dtype": {kind}, "shape": {shape}, "data_offsets": {places}}}}}'.encode(), data)


def test_one_array_is_read():
    assert read_tensors(one_array())["a"].tolist() == [ord("x")]


HUGE = "[" + ", ".join(["9999999999999999999"] * 10_000) + "]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (one_array(shape=HUGE), "at most 2 dimensions"),
        (one_array(shape="[9999999999999999999, 0]", places="[0, 0]"), "not whole numbers up to that of the file"),
        (one_array(shape=f"[{'9' * 4000}, 0]", places="[0, 0]"), "a number has more than 40 digits"),
        (one_array(shape="[1, 1, 1]"), "at most 2 dimensions"),
        (one_array(shape="[true]"), "not whole numbers"),
        (one_array(shape="[1.0]"), "not whole numbers"),
        (one_array(shape="[-1, -1]"), "not whole numbers"),
        (one_array(shape="[NaN]"), "not whole numbers"),
        (one_array(shape='"1"'), "at most 2 dimensions"),
        (one_array(shape="[2]"), "has another size than its shape"),
        (one_array(places="[1, 0]"), "has another size than its shape"),
        (one_array(places="[0, 2]"), "has another size than its shape"),
        (one_array(places="[false, 1]"), "not whole numbers"),
        (one_array(kind='"U64"'), "has another size"),
        (one_array(kind='["U8"]'), "no known type"),
        (one_array(data=b"xy"), "something behind its arrays"),
        (one_array(places="[1, 2]", data=b"xy"), "something between them"),
        (file_of(b'{"a": 1, "a": 1}'), "the key 'a' appears twice"),
        (file_of(b'{"__metadata__": {"a": 1}}'), "does not map names to strings"),
        (file_of(b'{"__metadata__": []}'), "does not map names to strings"),
        (file_of(b'{"a": ' + b"[" * 100_000), "nested too deeply"),
        (file_of(b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}"), "nested too deeply"),
        (file_of(b" " * (LONGEST_HEADER - 1) + b"{}"), "has 262145 bytes, more than 262144"),
        (file_of(json.dumps({f"{n}": {} for n in range(MOST_ARRAYS + 1)}).encode()), "has 1025 arrays"),
        (file_of(b"[]"), "not an object"),
        (memoryview(b"\xff" * 8), "longer than the file"),
    ],
)
def test_headers_that_are_refused(content, message):
    with pytest.raises(ValueError, match=message):
        read_tensors(content)


def test_the_largest_parser_has_a_header_within_the_limits():
    parser = random_parser(layers=64)
    content = safetensors.numpy.save(parser.arrays())
    assert int.from_bytes(content[:8], "little") < LONGEST_HEADER / 2
    assert len(read_tensors(memoryview(content))) < MOST_ARRAYS


def test_a_hostile_header_is_refused_before_any_work(saved):
    """Before its checksum is known, and however many numbers there are."""
    header = one_array(shape="[" + ", ".join(["9999999999999999999"] * 200_000) + "]")
    rewrite(saved, "lexicon.safetensors", bytes(header))
    before = os.times().user
    with pytest.raises(TreetokError, match=r"lexicon\.safetensors is damaged: its header has"):
        TreeTokenizer.load(saved)
    # The product of these numbers takes minutes.
    assert os.times().user - before < 5


# ---- treetok.json


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_json_is_read_to_a_depth():
    assert parse_json(nested(DEEPEST)) is not None
    for depth in (DEEPEST + 1, 900, 990, 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            parse_json(nested(depth))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**38), 10**38) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=5,
    )
)
def test_what_is_within_the_limits_is_read_as_by_python(value):
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("{", '{"format": 3, ', 1), "the key 'format' appears twice"),
        (
            lambda text: text.replace('"settings": {', '"settings": {"x": ' + "9" * 50 + ", "),
            "more than 40 digits",
        ),
        (
            lambda text: text.replace('"settings": {', '"settings": {"x": ' + "[" * 80 + "]" * 80 + ", "),
            "too deeply",
        ),
        (lambda text: text + " " * LONGEST_HEAD, "is larger than 2097152 bytes"),
    ],
)
def test_heads_that_are_refused(saved, change, message):
    path = saved / "treetok.json"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(TreetokError, match=rf"treetok\.json is damaged: .*{message}"):
        TreeTokenizer.load(saved)


def test_what_could_not_be_loaded_is_not_saved(made, tmp_path):
    state = TreeTokenizer.load(made).state
    object.__setattr__(state, "settings", {"x": "y" * LONGEST_HEAD})
    with pytest.raises(TreetokError, match=r"cannot be saved: treetok\.json would be larger than 2097152 bytes"):
        TreeTokenizer(state).save(tmp_path / "new")
    object.__setattr__(state, "settings", {"x": json.loads(nested(100))})
    with pytest.raises(TreetokError, match=r"cannot be saved: .* nested too deeply"):
        TreeTokenizer(state).save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_large_vocabulary_is_refused_before_it_is_read(saved):
    size = LONGEST_VOCABULARY + 1
    # A file with a hole takes no place on the disk.
    os.truncate(saved / "vocab.tsv", size)
    head = json.loads((saved / "treetok.json").read_text(encoding="utf-8"))
    head["files"]["vocab.tsv"]["bytes"] = size
    (saved / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(TreetokError, match=r"vocab\.tsv is damaged: it is larger than 67108864 bytes"):
        TreeTokenizer.load(saved)


# ---- links


def test_links_to_outside_are_refused(saved, tmp_path):
    for name in contents(saved):
        content = (saved / name).read_bytes()
        (tmp_path / "elsewhere").write_bytes(content)
        (saved / name).unlink()
        for target in (tmp_path / "elsewhere", "../elsewhere", "../model/../elsewhere"):
            (saved / name).symlink_to(target)
            if name in ("MODEL_CARD.md", "tokenizer_config.json"):
                assert TreeTokenizer.load(saved).state.card != "elsewhere"
            else:
                with pytest.raises(TreetokError, match=f"{name} is damaged: it is a link to a file outside"):
                    TreeTokenizer.load(saved)
            (saved / name).unlink()
        (saved / name).write_bytes(content)
    assert TreeTokenizer.load(saved)


def test_a_card_never_comes_from_elsewhere(saved, tmp_path):
    (tmp_path / "elsewhere").write_text("secret", encoding="utf-8")
    (saved / "MODEL_CARD.md").unlink()
    (saved / "MODEL_CARD.md").symlink_to(tmp_path / "elsewhere")
    tokenizer = TreeTokenizer.load(saved)
    assert tokenizer.state.card is None
    tokenizer.save(tmp_path / "again")
    assert "secret" not in (tmp_path / "again" / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["treetok.json", "missing", ".", "/dev/zero", "/proc/self/mem"])
def test_links_to_what_is_no_file(saved, target):
    (saved / "vocab.tsv").unlink()
    (saved / "vocab.tsv").symlink_to(target)
    with pytest.raises(TreetokError, match=r"vocab\.tsv is (damaged|missing)"):
        TreeTokenizer.load(saved)


def test_a_link_to_itself(saved):
    (saved / "treetok.json").unlink()
    (saved / "treetok.json").symlink_to("treetok.json")
    with pytest.raises(TreetokError, match="Too many levels of symbolic links"):
        TreeTokenizer.load(saved)


def test_a_link_to_a_file_beside_it(saved):
    (saved / "vocab.tsv").rename(saved / "other.tsv")
    (saved / "vocab.tsv").symlink_to("other.tsv")
    assert TreeTokenizer.load(saved).vocab_size == 285


def test_a_directory_may_be_a_link(saved, tmp_path):
    (tmp_path / "link").symlink_to(saved)
    assert TreeTokenizer.load(tmp_path / "link").vocab_size == 285


@pytest.mark.parametrize("subfolder", ["", "tokenizer"])
def test_the_cache_of_the_hub(saved, tmp_path, subfolder):
    """Files of a snapshot are links to blobs of the same repository, and of no other."""
    blobs = tmp_path / "hub" / "models--me--english" / "blobs"
    snapshot = blobs.parent / "snapshots" / "0a1b" / subfolder
    others = tmp_path / "hub" / "models--me--other" / "blobs"
    for folder in (blobs, snapshot, others):
        folder.mkdir(parents=True)
    for number, (name, content) in enumerate(contents(saved).items()):
        (blobs / f"{number:040x}").write_bytes(content)
        (snapshot / name).symlink_to(os.path.relpath(blobs / f"{number:040x}", snapshot))
    tokenizer = TreeTokenizer.load(snapshot)
    assert tokenizer == TreeTokenizer.load(saved) and tokenizer.state.card is not None
    for elsewhere in (others / "0", blobs.parent / "refs", blobs / "deeper" / "0"):
        elsewhere.parent.mkdir(exist_ok=True)
        shutil.copy(saved / "vocab.tsv", elsewhere)
        (snapshot / "vocab.tsv").unlink()
        (snapshot / "vocab.tsv").symlink_to(elsewhere)
        with pytest.raises(TreetokError, match=r"vocab\.tsv is damaged: it is a link to a file outside"):
            TreeTokenizer.load(snapshot)
    # The blobs themselves may not be elsewhere.
    blobs.rename(tmp_path / "blobs")
    blobs.symlink_to(tmp_path / "blobs")
    with pytest.raises(TreetokError, match="is a link to a file outside"):
        TreeTokenizer.load(snapshot)


def test_a_folder_in_a_directory_is_no_way_out(saved, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("secret", encoding="utf-8")
    (saved / "folder").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TreetokError, match="is a link to a file outside"):
        real_path(saved / "folder" / "file", saved)


# ---- memory

MEASURE = """
import sys, threading
from treetok import TreeTokenizer, TreetokError

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

for directory in sys.argv[1:]:
    before = peak()
    try:
        TreeTokenizer.load(directory)
    except TreetokError:
        pass
    print(peak() - before)
"""


def vocabulary_of_many(directory: Path) -> None:
    lines = (directory / "vocab.tsv").read_text(encoding="utf-8")
    rewrite(directory, "vocab.tsv", (lines + "".join(f"{n:04x}\t0\n" for n in range(65_000))).encode())


def settings_of_many(directory: Path) -> None:
    change_head(directory, settings={"x": [{"": {}}] * 90_000})


def header_of_many(directory: Path) -> None:
    rewrite(directory, "ngrams.safetensors", bytes(file_of(b'{"__metadata__": [' + b"[]," * 300_000 + b"[]]}")))


def special_tokens_of_many(directory: Path) -> None:
    change_head(directory, special_tokens={f"<|{n}|>": 285 + n for n in range(60_000)})


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("native", ["1", "0"])
def test_loading_takes_memory_in_proportion_to_the_files(made, tmp_path, native):
    directories = [tmp_path / "plain"]
    shutil.copytree(made, directories[0])
    for make in (vocabulary_of_many, settings_of_many, header_of_many, special_tokens_of_many):
        directories.append(tmp_path / make.__name__)
        shutil.copytree(made, directories[-1])
        make(directories[-1])
    command = [sys.executable, "-c", MEASURE, *map(str, directories)]
    environment = {**os.environ, "TREETOK_NATIVE": native}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    most = 64 if native == "1" else 100
    for directory, peak in zip(directories, map(int, run.stdout.split()), strict=True):
        assert peak < 8e6 + most * sum(map(len, contents(directory).values())), directory.name


LITTLE = """
import resource, sys
from treetok import TreeTokenizer, TreetokError
TreeTokenizer.load(sys.argv[1])
size = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize"))) << 10
resource.setrlimit(resource.RLIMIT_AS, (size + (8 << 20), -1))
try:
    TreeTokenizer.load(sys.argv[2])
except TreetokError as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the size is read from /proc")
def test_too_little_memory_is_one_line(made, saved):
    lines = (saved / "vocab.tsv").read_text(encoding="utf-8")
    rewrite(saved, "vocab.tsv", (lines + "".join(f"{n:06x}\t0\n" for n in range(300_000))).encode())
    command = [sys.executable, "-c", LITTLE, str(made), str(saved)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == f"there is not enough memory to load {saved}\n"


# ---- parsers


def test_morphemes_of_equal_hashes_are_told_apart(monkeypatch):
    """Whoever makes a file can choose strings whose hashes are equal; here those that end alike."""
    words = ["abcab", "bcabc", "cccc"]
    expected = [
        (width, at.tolist(), rows.tolist())
        for width, at, rows in LetterFeatures("abc", ["ab", "abc", "bc", "ca"], 3).morphemes_in(words)
    ]
    monkeypatch.setattr("treetok.span_table.HASH_BASE", np.uint64(0))
    monkeypatch.setattr("treetok.span_table.mix", lambda values: values)
    monkeypatch.setattr(
        "treetok.sources.parser_features.hashes_of", lambda strings: np.full(len(strings), ord("c") + 1, np.uint64)
    )
    found = LetterFeatures("abc", ["ab", "abc", "bc", "ca"], 3).morphemes_in(words)
    of_c = [(width, at.tolist(), rows.tolist()) for width, at, rows in found]
    letters = "".join(words)
    for (width, at, rows), (_, all_at, all_rows) in zip(of_c, expected, strict=True):
        ending_in_c = [(i, row) for i, row in zip(all_at, all_rows, strict=True) if letters[i + width - 1] == "c"]
        assert list(zip(at, rows, strict=True)) == ending_in_c


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("morpheme_lengths", np.zeros(1000, np.uint8), "fewer than two"),
        ("characters", np.zeros(5_000_000, np.uint8), "more characters than there are"),
    ],
)
def test_parsers_that_are_refused_before_strings_are_made(name, array, message):
    arrays = random_parser().arrays() | {name: array}
    with pytest.raises(TreetokError, match=message):
        type(random_parser()).from_arrays(arrays)


# ---- what is shown

CONTROLS = "\x1b]0;title\x07\x1b[2J\r\n\x7f\x9b\u202e\u2066\u2028\x85"


def has_controls(text: str) -> bool:
    return any(character in text for character in CONTROLS if not character.isprintable() and character != "\n")


def test_info_shows_no_control_characters(saved, capsys):
    settings = {
        CONTROLS: CONTROLS,
        "stages": {CONTROLS: {CONTROLS: CONTROLS}},
        "members": [{CONTROLS: [CONTROLS]}],
    }
    change_head(saved, settings=settings, special_tokens={f"<{CONTROLS}>": 0}, roles={"eos": f"<{CONTROLS}>"})
    assert main(["info", str(saved)]) == 0
    output = capsys.readouterr().out
    assert not has_controls(output) and r"\u001b]0;title\u0007" in output
    assert output.count("\n") == 11


def test_other_commands_show_no_control_characters(saved, capsys):
    change_head(saved, special_tokens={f"<{CONTROLS}>": 0, "<a>": 1, "<b>": 2}, roles={})
    assert main(["vocab", str(saved)]) == 0
    output = capsys.readouterr().out
    assert not has_controls(output) and f"<{CONTROLS}>" in json.loads(output)
    assert main(["tree", "walk" + CONTROLS + "ing", "a" + CONTROLS * 20, "--model", str(saved)]) == 0
    assert not has_controls(capsys.readouterr().out)


@pytest.mark.parametrize("key", ["trees", "profile", "roles", "special_tokens", "normalizer", "fewest_tokens"])
def test_errors_are_one_line_without_control_characters(saved, capsys, key):
    change_head(saved, **{key: {CONTROLS: CONTROLS} if key in ("roles", "special_tokens") else CONTROLS})
    with pytest.raises(TreetokError) as caught:
        TreeTokenizer.load(saved)
    assert not has_controls(str(caught.value)) and "\n" not in str(caught.value)
    assert main(["vocab", str(saved)]) == 1
    assert not has_controls(capsys.readouterr().err[:-1])


def test_names_of_arrays_and_directories_in_errors(saved, tmp_path):
    header = json.dumps({CONTROLS: {"dtype": "U8", "shape": [5], "data_offsets": [0, 1]}}).encode()
    rewrite(saved, "lexicon.safetensors", bytes(file_of(header, b"x")))
    for directory in (saved, saved.rename(tmp_path / "a\x1b[2J\nb")):
        with pytest.raises(TreetokError, match=r"lexicon\.safetensors is damaged: the array '\\x1b\]0;") as caught:
            TreeTokenizer.load(directory if directory.exists() else tmp_path / "a\x1b[2J\nb")
        assert not has_controls(str(caught.value)) and str(caught.value).count("is damaged") == 1


def test_long_errors_are_shortened(saved):
    change_head(saved, trees="x" * 1_000_000)
    with pytest.raises(TreetokError) as caught:
        TreeTokenizer.load(saved)
    assert len(str(caught.value)) < 5000
    assert str(caught.value).endswith("it may need a newer treetok")

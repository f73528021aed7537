import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from collections import Counter
from itertools import islice
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from treetok import TreetokError
from treetok.corpus import blocks, compression, lines, reading, rows
from treetok.corpus.counting import WordCounter, count_words
from treetok.progress import Progress
from treetok.text import PROFILES, VERSIONS, profile_named

TEXT = "It's a windy day, said the surfer's friend.\n\nSurfers surf — naïvely.\n"
lossless, uncased = profile_named("lossless"), profile_named("uncased")


def counted(corpus, profile=uncased, **options):
    return count_words(corpus, profile, **options).counts()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(texts=st.lists(st.text("ab's .\n1É"), max_size=5))
def test_counts_are_those_of_splitting(profile, texts):
    expected = Counter(word for text in texts for word in profile.split(text))
    assert counted((text for text in texts), profile) == expected


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.xz", ".txt.bz2", ".txt.zst", ".raw", ""])
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_plain_text_compressed_or_not(tmp_path, suffix, profile):
    pack = {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".bz2": bz2.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }.get(suffix[4:], bytes)
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(pack(TEXT.encode()))
    expected = Counter(profile.split(TEXT))
    for corpus in (path, [path], (path,), tmp_path.glob("corpus*")):
        assert counted(corpus, profile) == expected


@pytest.mark.parametrize("block_bytes", [1, 7, 64])
@pytest.mark.parametrize("longest", [12, 1000])
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_block_boundaries_do_not_split_words(tmp_path, monkeypatch, block_bytes, longest, profile):
    monkeypatch.setattr(reading, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(blocks, "LONGEST_UNBROKEN", longest)
    text = "\ufeffein  Weg\n\n\nda ß 東京 über\r\n  x\n"
    path = tmp_path / "corpus.txt"
    path.write_text(text, encoding="utf-8", newline="")
    assert counted(path, profile) == Counter(profile.split(text.removeprefix("\ufeff")))


@given(text=st.text("ab.1'é \n\t\r\v\x1f\x85\u00a0\u2003\u3000"), block_bytes=st.integers(1, 6))
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_no_kind_of_whitespace_lets_block_boundaries_change_words(text, block_bytes, profile):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BLOCK_BYTES", block_bytes)
        pieces = list(reading.read_plain(io.BytesIO(text.encode()), "x"))
    assert [word for piece in pieces for word in profile.split(piece)] == profile.split(text)


def test_text_without_breaks_is_read_in_bounded_pieces(monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 8)
    monkeypatch.setattr(blocks, "LONGEST_UNBROKEN", 32)
    pieces = list(reading.read_plain(io.BytesIO("東".encode() * 100), Path("x")))
    assert "".join(pieces) == "東" * 100
    assert max(map(len, pieces)) <= 16


def test_multiple_zstd_frames_are_one_text(tmp_path):
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.compress(b"walk ") + zstandard.compress(b"talk " * 100_000))
    assert counted(path) == {"talk": 100_000, "walk": 1}


def test_pipes_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("walk talk walk",))
    writer.start()
    assert counted(pipe) == {"talk": 1, "walk": 2}
    writer.join()


def test_nothing_but_spaces_is_read_in_bounded_pieces(monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_UNBROKEN", 1000)
    monkeypatch.setattr(reading, "BLOCK_BYTES", 100)
    pieces = list(reading.read_plain(io.BytesIO(b" " * 20_000), Path("x")))
    assert "".join(pieces) == " " * 20_000
    assert max(map(len, pieces)) <= 1100


def test_json_lines_and_parquet(tmp_path):
    texts = TEXT.split("\n")
    rows = tmp_path / "corpus.jsonl.gz"
    rows.write_bytes(gzip.compress("\n".join(json.dumps({"body": text}) for text in [*texts, None]).encode()))
    table = tmp_path / "corpus.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2, 3, 4, 5], "body": [*texts, None]}), table)
    expected = Counter(word for text in texts for word in uncased.split(text))
    assert counted(rows, text_column="body") == expected
    assert counted(table, text_column="body") == expected
    assert counted([rows, table], text_column="body") == expected + expected


def test_word_counts_are_taken_as_running_text():
    assert counted({"Walks": 3, "walks": 2, "don't": 4, "never": 0}, uncased) == {"walks": 5, "don": 4, "'t": 4}
    assert counted({"Walks": 3, "don't": 4}, lossless) == {" Walks": 3, " don": 4, "'t": 4}


def test_strings_are_texts_and_paths_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("walkers").write_text("from the file", encoding="utf-8")
    names = ["walkers", "GIT-INFO.md", "news.txt.xz"]
    assert counted(names) == Counter(word for name in names for word in uncased.split(name))
    assert counted(name for name in ["walkers"]) == {"walkers": 1}
    assert counted(["walkers", Path("walkers")]) == {"file": 1, "from": 1, "the": 1, "walkers": 1}
    assert counted({Path("walkers")}) == {"file": 1, "from": 1, "the": 1}
    with pytest.raises(TreetokError, match=r"no such file: missing\.txt"):
        counted([Path("missing.txt")])


@pytest.mark.parametrize("text", ["walkers", "news.txt.xz", "the walkers walked " * 1000])
def test_a_lone_string_is_refused_in_a_short_line(text):
    hint = r"pass pathlib\.Path\(\.\.\.\) for a file, \[text\] for a text"
    with pytest.raises(TreetokError, match=hint) as refused:
        counted(text)
    assert repr(text[:40])[:-1] in str(refused.value)
    assert len(str(refused.value)) < 160


def test_rare_words_are_dropped_when_memory_is_short():
    counter = WordCounter(uncased, memory_limit=200_000)
    for number in range(5_000):
        counter.add(f"common often rare{number} w{number % 50}")
    counts = counter.counts()
    assert counts["common"] == counts["often"] == 5_000
    assert all(counts[f"w{number}"] == 100 for number in range(50))
    assert len(counts) <= counter.max_words
    assert counter.dropped + len(counts) >= 5_000
    with pytest.raises(TreetokError, match="memory limit of 1000 bytes is too small"):
        WordCounter(uncased, memory_limit=1000)


def test_progress_reaches_the_end(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8")
    seen = []
    count_words([path, path], uncased, progress=Progress(lambda *report: seen.append(report)))
    size = 2 * path.stat().st_size
    assert seen[-1] == ("counting words", size, size)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"fine\nfine\nb\xffd\n", r"a\.txt, line 3: byte 0xff is not UTF-8"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', r"a\.jsonl, line 2: not JSON"),
        ("a.jsonl", b'{"body": "x"}\n', r"a\.jsonl, line 1: no text under the key 'text'"),
        ("a.jsonl", b'["x"]\n', r"a\.jsonl, line 1: no text under the key 'text'"),
        ("a.txt.gz", b"plain", r"a\.txt\.gz is damaged or does not match its file extension"),
        # Without the time of day in it: the bytes name the test, and every worker must name it alike.
        (
            "a.txt.gz",
            gzip.compress(b"x" * 999, mtime=0)[:-9],
            r"a\.txt\.gz is damaged or does not match its file extension",
        ),
        ("a.txt.xz", b"plain", r"a\.txt\.xz is damaged or does not match its file extension"),
        ("a.txt.bz2", b"plain", r"cannot read .*a\.txt\.bz2|a\.txt\.bz2 is damaged"),
        (
            "a.txt.zst",
            zstandard.compress(b"walk " * 999)[:-5],
            r"a\.txt\.zst is damaged or does not match its file extension",
        ),
        ("a.json", b"[]", r"a\.json: JSON is read line by line"),
        ("a.jsonl", b"[" * 100_000, r"a\.jsonl, line 1: JSON is nested too deeply"),
        ("a.jsonl", b'{"text": "\\ud800"}', r"a\.jsonl, line 1: the text has a lone surrogate"),
        ("a.txt.zst", b"plain", r"a\.txt\.zst is damaged or does not match its file extension"),
        ("a.parquet", b"plain", r"a\.parquet is damaged or does not match its file extension"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TreetokError, match=message):
        counted(tmp_path / name)


def test_other_bad_input(tmp_path):
    table = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"n": [1]}), table)
    with pytest.raises(TreetokError, match="has no column 'text'; it has: n"):
        counted(table)
    with pytest.raises(TreetokError, match="holds int64, not text"):
        counted(table, text_column="n")
    with pytest.raises(TreetokError, match="no such file"):
        counted(tmp_path / "missing")
    with pytest.raises(TreetokError, match="is a directory"):
        counted(tmp_path)
    with pytest.raises(TreetokError, match="count of 'a' must be a whole number"):
        counted({"a": 1.5})
    with pytest.raises(TreetokError, match="counts add up to more than"):
        counted({"a": 10**15, "b": 1})
    with pytest.raises(TreetokError, match="text must be str, not int"):
        counted([1, 2])
    with pytest.raises(TreetokError, match="not bytes"):
        counted(b"text")
    with pytest.raises(TreetokError, match="lone surrogate"):
        counted(["\ud800"])


@pytest.mark.parametrize("profile", VERSIONS.values(), ids=lambda profile: f"{profile.name} {profile.version}")
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from([TEXT, TEXT.upper()])
    )
)
def test_the_native_counter_counts_like_plain_python(profile, texts):
    counters = []
    for switch in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TREETOK_NATIVE", switch)
            counters.append(count_words(texts, profile).counts())
    native, plain = counters
    assert native == plain and list(native) == list(plain)
    assert native == dict(sorted(Counter(word for text in texts for word in profile.split(text)).items()))


@given(st.text("a東 .\t\n\0\u0301", max_size=80), st.integers(1, 9), st.integers(1, 30), st.integers(4, 40))
def test_blocks_are_cut_where_words_end_or_at_places_of_the_text_alone(text, size, at_once, longest):
    """Text that has no end of a word for `longest` bytes is cut at the same places, however it is read."""
    encoded = text.encode()
    cuts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LONGEST_UNBROKEN", longest)
        for step, many in ((size, at_once), (7, longest)):
            parts = [encoded[at : at + step] for at in range(0, len(encoded), step)]
            found = [block for _, block in blocks.blocks_of_words(parts, min(many, longest))]
            assert b"".join(found) == encoded and max(map(len, found)) <= longest
            ends = {sum(map(len, found[:count])) for count in range(1, len(found))}
            words = {match.end() for match in blocks.END_OF_WORD.finditer(encoded)}
            cuts.append(ends - words)
            for block in found:
                block.decode()
    assert cuts[0] == cuts[1]


def test_lines_have_numbers_whatever_the_blocks():
    text = b"one\ntwo\n\nthree four\n" * 20
    for size in (1, 5, 50):
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        at = 0
        for line, block in blocks.blocks_of_words(parts, 10):
            assert line == 1 + text.count(b"\n", 0, at)
            at += len(block)


class Watched:
    """A decompressor that remembers how much text it made at once."""

    largest = 0

    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def decompress(self, data, max_length):
        text = self.stream.decompress(data, max_length)
        Watched.largest = max(Watched.largest, len(text))
        return text


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".zst"])
def test_little_is_decompressed_at_once(tmp_path, monkeypatch, suffix):
    """However well it was compressed; .gz is read by the library, which does the same."""
    packed = {".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}[suffix](bytes(1 << 25))
    monkeypatch.setattr(Watched, "largest", 0)
    plain = compression.buffered
    monkeypatch.setattr(compression, "buffered", lambda raw, new: plain(raw, lambda: Watched(new())))
    with compression.decompress(io.BytesIO(packed), suffix, "x") as stream:
        size = 0
        while block := stream.read(1 << 20):
            assert not any(block[::4096])
            size += len(block)
    assert size == 1 << 25 and 0 < Watched.largest <= 9 << 20


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".zst"])
@given(
    texts=st.lists(st.binary(max_size=20), max_size=4),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    at_once=st.integers(1, 40),
)
def test_compressed_streams_in_any_pieces(suffix, texts, sizes, at_once):
    pack = {".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}[suffix]
    packed = b"".join(map(pack, texts or [b""]))
    found = bytearray()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COMPRESSED_AT_ONCE", "TEXT_AT_ONCE", "ZSTD_AT_ONCE"):
            patch.setattr(compression, name, at_once)
        with compression.decompress(io.BytesIO(packed), suffix, "x") as stream:
            while block := stream.read(sizes[len(found) % len(sizes)]):
                found += block
    assert found == b"".join(texts)


def test_what_follows_a_compressed_stream(tmp_path):
    path = tmp_path / "a.txt.xz"
    path.write_bytes(lzma.compress(b"walk ") + bytes(100_000) + lzma.compress(b"talk") + bytes(8))
    assert counted(path) == {"talk": 1, "walk": 1}
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0talk"
    (tmp_path / "a.txt.zst").write_bytes(skippable + zstandard.compress(b"walk") + skippable)
    assert counted(tmp_path / "a.txt.zst") == {"walk": 1}
    for suffix, content in (
        (".xz", lzma.compress(b"walk") + b"junk"),
        (".bz2", bz2.compress(b"walk") + b"junk"),
        (".zst", zstandard.compress(b"walk") + b"junk"),
        (".xz", b""),
        (".zst", b""),
        (".xz", lzma.compress(b"walk") + lzma.compress(b"talk " * 99)[:-9]),
    ):
        damaged = tmp_path / f"damaged.txt{suffix}"
        damaged.write_bytes(content)
        with pytest.raises(TreetokError, match=r"damaged\.txt"):
            counted(damaged)


def test_files_that_need_much_memory_to_be_decompressed_are_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28}]
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(b"walk", filters=filters))
    parameters = zstandard.ZstdCompressionParameters(window_log=28)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    (tmp_path / "a.txt.zst").write_bytes(compressor.compress(b"walk") + compressor.flush())
    for name in ("a.txt.xz", "a.txt.zst"):
        with pytest.raises(TreetokError, match=rf"{name} needs more than 128 MiB of memory to be decompressed"):
            counted(tmp_path / name)


def test_long_lines_and_texts_are_refused_with_their_number(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    monkeypatch.setattr(rows, "LONGEST_LINE", 100)
    row = json.dumps({"text": "a" * 80})
    (tmp_path / "a.jsonl").write_text(f"{row}\n{row}\n" + json.dumps({"text": "a" * 100}))
    with pytest.raises(TreetokError, match=r"a\.jsonl, line 3: the line has more than"):
        counted(tmp_path / "a.jsonl")
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a" * 100, None, "a" * 101]}), tmp_path / "a.parquet")
    with pytest.raises(TreetokError, match=r"a\.parquet, row 2: the text has more than"):
        counted(tmp_path / "a.parquet")


def test_a_text_that_a_parquet_file_has_in_every_row_is_kept_once(tmp_path):
    """All rows at once would be 8 GB."""
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 4000, pyarrow.int32()), ["walk " * 400_000])
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(
        pyarrow.table({"text": texts}), path, dictionary_pagesize_limit=1 << 22, store_schema=False
    )
    assert path.stat().st_size < 1 << 20
    assert [len(text) for text in islice(reading.read_texts(path), 3)] == [2_000_000] * 3


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.binary(),
        pyarrow.large_binary(),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string()),
    ],
    ids=str,
)
def test_kinds_of_columns_with_text(tmp_path, kind):
    texts = ["walk", None, "talk 東", "walk"]
    is_bytes = "binary" in str(kind)
    column = pyarrow.array([text.encode() if text and is_bytes else text for text in texts], kind)
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), tmp_path / "a.parquet")
    assert list(reading.read_texts(tmp_path / "a.parquet")) == ["walk", "talk 東", "walk"]


def test_columns_that_are_not_text(tmp_path):
    path = tmp_path / "a.parquet"
    parts = [None, pyarrow.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"), pyarrow.py_buffer(b"a\xff\xfe")]
    invalid = pyarrow.Array.from_buffers(pyarrow.string(), 2, parts)
    for column, message in (
        (invalid, r"a\.parquet, row 1: byte 0xff is not UTF-8"),
        (invalid.dictionary_encode(), r"a\.parquet, row 1: byte 0xff is not UTF-8"),
        ([["walk"]], "holds list<.*, not text"),
        ([{"walk": 1}], "holds struct<.*, not text"),
        (pyarrow.array([None, None]), "holds null, not text"),
    ):
        pyarrow.parquet.write_table(pyarrow.table({"text": column}), path)
        with pytest.raises(TreetokError, match=message):
            counted(path)
    twice = pyarrow.table([["walk"], ["talk"]], names=["text", "text"])
    pyarrow.parquet.write_table(twice, path)
    with pytest.raises(TreetokError, match="more than one column 'text'"):
        counted(path)


def test_json_lines_of_all_kinds(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "walk", "n": ' + b"9" * 5000 + b"}\r\n\r\n"
        b'{"text": 1, "text": "talk", "n": [NaN, -Infinity, 1e999]}\r\n{"text": null}\n{"text": "a\\u0000b"}'
    )
    assert list(reading.read_texts(path)) == ["walk", "talk", "a\0b"]


def test_text_in_little_memory(tmp_path):
    """Whatever it is: 66 MiB without a place where a word surely ends, in files that are very small."""
    size = 66 << 20
    (tmp_path / "a.txt.zst").write_bytes(zstandard.compress(bytes(size)))
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(b'{"text": "' + b"a" * size + b'"}'))
    # The library of numpy takes memory for each thread.
    script = """
import resource, sys
from pathlib import Path
from treetok import TreeTokenizer, TreetokError
tokenizer = TreeTokenizer.load("en")
here = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(tokenizer.encode_files(here / "a.txt.zst", here / "ids.bin", progress=False))
print(tokenizer.count_files(here / "a.txt.zst", progress=False)[0].characters)
try:
    tokenizer.count_files(here / "b.jsonl.zst", progress=False)
except TreetokError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    ids, characters, error, kilobytes = subprocess.run(
        command, capture_output=True, check=True, text=True
    ).stdout.splitlines()
    assert int(ids) == int(characters) == size and "line 1: the line has more than 64 MiB" in error
    assert int(kilobytes) < 400_000

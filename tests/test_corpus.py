import bz2
import gzip
import io
import json
import lzma
import os
import threading
from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from treetok import TreetokError
from treetok.corpus import WordCounter, blocks, count_words, reading
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

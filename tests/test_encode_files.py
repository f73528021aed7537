"""Files in, one file of ids out."""

import gzip
import io
import itertools
import json
import lzma
import os
import threading

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.corpus.blocks import blocks_of_words
from treetok.text import profile_named

END = "<|endoftext|>"


@pytest.fixture(params=["native", "reference"])
def tokenizer(lossless, request, monkeypatch):
    if request.param == "reference":
        monkeypatch.setenv("TREETOK_NATIVE", "0")
    return TreeTokenizer(lossless.state)


def test_ids_of_a_file_are_those_of_its_text(tokenizer, tmp_path, sample_text):
    text = "\ufeff" + sample_text + "\r\n  \t x\u3000y " * 3
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    expected = tokenizer.encode(text)
    assert tokenizer.encode_files(path, tmp_path / "ids.bin", progress=False) == len(expected)
    assert np.memmap(tmp_path / "ids.bin", dtype="<u2", mode="r").tolist() == expected
    tokenizer.encode_files([path], tmp_path / "ids.npy", dtype="uint32", threads=2, progress=False)
    ids = np.load(tmp_path / "ids.npy", mmap_mode="r")
    assert ids.dtype == np.uint32 and ids.tolist() == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ids.bin", "ids.npy", "text.txt"]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_a_file_as_an_array(tokenizer, tmp_path, sample_text, threads, suffix):
    # Longer than a block of one thread; words across its end; a part without a place to cut.
    text = sample_text + "東京" * 5_000 + "\n\n x" + sample_text
    if tokenizer._encoder.__class__.__name__ != "ReferenceEncoder":
        text = text * 30
    compress = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}[suffix]
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(compress(text.encode()))
    ids = tokenizer.encode_file(path, threads=threads)
    assert ids.dtype == np.uint32 and ids.tolist() == tokenizer.encode(text)
    ended = tokenizer.encode_file(path, threads=threads, end=END, dtype="int64")
    assert ended.dtype == np.int64 and ended.tolist() == [*ids.tolist(), tokenizer.special_tokens[END]]


class Dribble(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, content, sizes):
        self.content, self.sizes, self.at = content, itertools.cycle(sizes), 0

    def readable(self):
        return True

    def readinto(self, buffer):
        part = self.content[self.at : self.at + min(next(self.sizes), len(buffer))]
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.lists(st.integers(1, 9), min_size=1), st.integers(1, 3))
def test_a_stream_is_encoded_as_its_text(lossless, text, sizes, threads):
    text = text + " and a word"
    assert lossless._encoder.encode_stream(Dribble(text.encode(), sizes), threads).tolist() == lossless.encode(
        text
    )


def test_streams_that_misbehave(lossless):
    class Greedy(Dribble):
        def readinto(self, buffer):
            super().readinto(buffer)
            return len(buffer) + 1

    class Broken(Dribble):
        def readinto(self, buffer):
            raise OSError("broken")

    with pytest.raises((ValueError, OSError)):
        lossless._encoder.encode_stream(Greedy(b"some text", [3]), 1)
    with pytest.raises(OSError, match="broken"):
        lossless._encoder.encode_stream(Broken(b"some text", [3]), 1)


def test_errors_of_a_file_as_an_array(tokenizer, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"one\ntwo \xff\n" + b"word " * 100_000)
    with pytest.raises(TreetokError, match=r"bad.txt, line 2: byte 0xff is not UTF-8"):
        tokenizer.encode_file(bad)
    cut = tmp_path / "cut.txt"
    cut.write_bytes("東".encode()[:2])
    with pytest.raises(TreetokError, match=r"cut.txt, line 1: byte 0xe6 is not UTF-8"):
        tokenizer.encode_file(cut)
    for file, message in (
        (tmp_path / "none.txt", "no such file"),
        (tmp_path, "is a directory"),
        (str(tmp_path / "none.txt"), "no such file"),
        (bytes(bad), "a file must be given by its path, not as b'"),
        ("", "a file must be given by its path, not as ''"),
        ("a\0b", "a file must be given by its path"),
        ([bad], "a file must be given by its path"),
        (None, "a file must be given by its path, not as None"),
    ):
        with pytest.raises(TreetokError, match=message):
            tokenizer.encode_file(file)
    (tmp_path / "text.txt.gz").write_bytes(b"not compressed")
    with pytest.raises(TreetokError, match="damaged"):
        tokenizer.encode_file(tmp_path / "text.txt.gz")
    (tmp_path / "empty.txt").write_bytes(b"")
    assert len(tokenizer.encode_file(tmp_path / "empty.txt")) == 0
    with pytest.raises(TreetokError, match="not a special token"):
        tokenizer.encode_file(tmp_path / "empty.txt", end="<none>")
    with pytest.raises(TreetokError, match="need a type such as"):
        tokenizer.encode_file(tmp_path / "empty.txt", dtype="uint8")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_as_an_array(tokenizer, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"some text",))
    writer.start()
    assert tokenizer.encode_file(tmp_path / "pipe").tolist() == tokenizer.encode("some text")
    writer.join()


@pytest.mark.parametrize("size", [7, 100, 5000])
def test_blocks_do_not_change_ids(tokenizer, tmp_path, monkeypatch, sample_text, size):
    text = sample_text[:20_000] + "x" * 300 + "\n\n  y" + "東京 " * 50
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    monkeypatch.setattr("treetok.corpus.reading.BLOCK_BYTES", size)
    monkeypatch.setattr("treetok.encode_files.ENCODED_AT_ONCE", 3 * size)
    blocks = [text.encode()[at : at + size] for at in range(0, len(text.encode()), size)]
    assert b"".join(block for _, block in blocks_of_words(iter(blocks), 3 * size)) == text.encode()
    tokenizer.encode_files(path, tmp_path / "ids.bin", progress=False)
    assert np.fromfile(tmp_path / "ids.bin", dtype="<u2").tolist() == tokenizer.encode(text)


def test_documents_of_all_kinds_of_files(tokenizer, tmp_path):
    import pyarrow
    import pyarrow.parquet

    texts = ["First text.\n", "", "Ünd 東京 noch einer"]
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(rows))
    pyarrow.parquet.write_table(pyarrow.table({"body": texts}), tmp_path / "b.parquet")
    (tmp_path / "c.txt.xz").write_bytes(lzma.compress(texts[0].encode()))
    (tmp_path / "d.txt.zst").write_bytes(zstandard.compress(texts[2].encode()))
    end = [tokenizer.special_tokens[END]]
    of_rows = [token_id for text in texts for token_id in tokenizer.encode(text) + end]
    for name, column, expected in (
        ("a.jsonl.gz", "text", of_rows),
        ("b.parquet", "body", of_rows),
        ("c.txt.xz", "text", tokenizer.encode(texts[0]) + end),
        ("d.txt.zst", "text", tokenizer.encode(texts[2]) + end),
    ):
        count = tokenizer.encode_files(
            tmp_path / name, tmp_path / "ids.bin", end=END, text_column=column, progress=False
        )
        assert np.fromfile(tmp_path / "ids.bin", dtype="<u2").tolist() == expected and count == len(expected)
        assert tokenizer.encode_file(tmp_path / name, end=END, text_column=column).tolist() == expected
    files = [tmp_path / "c.txt.xz", tmp_path / "d.txt.zst"]
    tokenizer.encode_files(files, tmp_path / "ids.bin", progress=False)
    both = tokenizer.encode(texts[0]) + tokenizer.encode(texts[2])
    assert np.fromfile(tmp_path / "ids.bin", dtype="<u2").tolist() == both


def test_what_is_wrong_is_said_and_nothing_is_written(tokenizer, tmp_path):
    good, bad, out = tmp_path / "good.txt", tmp_path / "bad.txt", tmp_path / "out.bin"
    good.write_text("fine")
    bad.write_bytes(b"one\ntwo \xff")
    out.write_bytes(b"before")
    linked = tmp_path / "linked.bin"
    linked.symlink_to(good)
    for files, options, message in (
        (bad, {}, r"bad.txt, line 2: byte 0xff is not UTF-8"),
        ([good, tmp_path / "none.txt"], {}, "no such file"),
        (tmp_path, {}, "is a directory"),
        ("none.txt", {}, "no such file: none.txt"),
        ("", {}, "a file must be given by its path, not as ''"),
        (good, {"dtype": "int8"}, "are written as uint16 or uint32, not int8"),
        (good, {"end": "<eos>"}, "is not a special token"),
        (good, {"threads": 0}, "threads must be"),
    ):
        with pytest.raises(TreetokError, match=message):
            tokenizer.encode_files(files, out, progress=False, **options)
    for output, message in (
        (tmp_path / "no" / "where.bin", "cannot write"),
        (good, "one of the files to read"),
        (linked, "one of the files to read"),
        (tmp_path, "not a regular file"),
        ("", "name of a file"),
        (None, "name of a file"),
        ("a\0b", "cannot write"),
    ):
        with pytest.raises(TreetokError, match=message):
            tokenizer.encode_files(good, output, progress=False)
    for files in ([None], b"good.txt", [b"good.txt"], [good, ""], None, 5):
        with pytest.raises(TreetokError, match=r"files must be paths|a file must be given by its path"):
            tokenizer.encode_files(files, out, progress=False)
        with pytest.raises(TreetokError, match=r"files must be paths|a file must be given by its path"):
            tokenizer.count_files(files, progress=False)
    assert out.read_bytes() == b"before" and good.read_text() == "fine" and len(list(tmp_path.iterdir())) == 4


def test_files_may_be_strings(tokenizer, tmp_path):
    """There is no other reading of a string here; `train` refuses a lone one, which could be a text."""
    first, second, out = tmp_path / "first.txt", tmp_path / "second.txt", tmp_path / "out.bin"
    first.write_text("the first")
    second.write_text("the second")
    both = tokenizer.encode("the first") + tokenizer.encode("the second")
    assert tokenizer.encode_file(str(first)).tolist() == tokenizer.encode("the first")
    assert tokenizer.encode_files([str(first), second], str(out), progress=False) == len(both)
    assert np.fromfile(out, dtype="<u2").tolist() == both
    assert tokenizer.encode_files(str(second), out, progress=False) == len(tokenizer.encode("the second"))
    assert tokenizer.count_files([str(first)], progress=False) == tokenizer.count_files(first, progress=False)
    with pytest.raises(TreetokError, match="one of the files to read"):
        tokenizer.encode_files(str(first), str(first), progress=False)


def test_links_are_followed(tokenizer, tmp_path):
    (tmp_path / "text.txt").write_text("fine")
    (tmp_path / "real.NPY").write_bytes(b"")
    (tmp_path / "link.npy").symlink_to(tmp_path / "real.NPY")
    tokenizer.encode_files(tmp_path / "text.txt", tmp_path / "link.npy", threads=10**30, progress=False)
    assert (tmp_path / "link.npy").is_symlink()
    assert np.load(tmp_path / "real.NPY").tolist() == tokenizer.encode("fine")


def test_text_without_ascii_is_cut_too():
    """At line feeds, never inside a run of whitespace, whatever the blocks are."""
    text = "東京は一つである。\n" * 30 + "x\u3000\n\u3000 \u2003\n y\x85\n" * 20
    for size in (5, 7, 16):
        encoded = text.encode()
        given = (encoded[at : at + size] for at in range(0, len(encoded), size))
        blocks = [block for _, block in blocks_of_words(given, 40)]
        assert b"".join(blocks) == encoded and len(blocks) > 3
        split = profile_named("lossless").split
        assert [word for block in blocks for word in split(block.decode())] == split(text)


def test_the_command(lossless, tmp_path, capsysbinary):
    lossless.save(tmp_path / "model")
    text = "One line.\nAnother\n\nno feed"
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(text.encode()))
    model = ["--model", str(tmp_path / "model")]
    assert main(["encode", str(tmp_path / "text.txt.gz"), *model, "--threads", "2"]) == 0
    lines = capsysbinary.readouterr().out.decode()
    assert [list(map(int, line.split())) for line in lines.split("\n")] == [
        lossless.encode(line) for line in text.split("\n")
    ]
    out = tmp_path / "ids.npy"
    assert main(["encode", str(tmp_path / "text.txt.gz"), *model, "-o", str(out), "--end", END]) == 0
    assert np.load(out).tolist() == [*lossless.encode(text), lossless.special_tokens[END]]
    for options, message in (
        (["-o", str(out)], b"needs files"),
        (["--end", END], b"give -o FILE"),
        (["--threads", "0"], b"--threads must be a whole number of 1 or more"),
    ):
        assert main(["encode", *model, *options]) == 1
        assert message in capsysbinary.readouterr().err


def append(path):
    with path.open("ab") as file:
        file.write(b" and more")


def shorten(path):
    os.truncate(path, path.stat().st_size // 2)


def replace_by_another(path):
    other = path.with_suffix(".other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def overwrite(path):
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [append, shorten, replace_by_another, overwrite, os.remove])
@pytest.mark.parametrize("suffix", [".txt", ".jsonl"])
def test_files_that_change_while_they_are_read(lossless, tmp_path, monkeypatch, change, suffix):
    monkeypatch.setattr("treetok.corpus.reading.BLOCK_BYTES", 100)
    path, out = tmp_path / f"text{suffix}", tmp_path / "out.bin"
    content = "some words\n" * 50 if suffix == ".txt" else '{"text": "some words"}\n' * 50
    for use in (
        lambda: lossless.encode_files(path, out, progress=False),
        lambda: lossless.count_files(path, progress=False),
        lambda: TreeTokenizer.train([path], 300, "counts", progress=False),
    ):
        path.write_text(content)
        changed = []

        def changing(raw, changed=changed):
            if not changed:
                changed.append(change(path))
            return raw.tell()

        monkeypatch.setattr("treetok.corpus.reading.position_in", changing)
        with pytest.raises(TreetokError, match=rf"text\{suffix} changed while it was read: read a copy"):
            use()
        assert changed
    assert not out.exists()


def test_words_are_counted_without_a_list_of_all(monkeypatch):
    from treetok.count_files import number_of_words

    for at_once in (1, 2, 3, 100):
        monkeypatch.setattr("treetok.count_files.SPLIT_AT_ONCE", at_once)
        for text in ("", " ", "a", "one two\u3000 three\n", "東 \x1f x", " a  b "):
            assert number_of_words(text) == len(text.split())


def test_words_across_cuts_are_counted_once(lossless, tmp_path, monkeypatch):
    monkeypatch.setattr("treetok.corpus.blocks.LONGEST_UNBROKEN", 10)
    monkeypatch.setattr("treetok.count_files.COUNTED_AT_ONCE", 10)
    (tmp_path / "a.txt").write_text("東" * 50 + "\t" + "a" * 50, encoding="utf-8")
    (counts,) = lossless.count_files(tmp_path / "a.txt", progress=False)
    assert (counts.words, counts.characters) == (2, 101)

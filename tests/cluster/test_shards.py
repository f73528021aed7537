"""Which files are meant, where they are cut, and that cuts change neither words nor ids."""

import http.server
import io
import threading
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_corpus import write_corpus

from treetok import TreetokError
from treetok.cluster.count_shards import CountWords
from treetok.cluster.encode_shards import EncodeShard
from treetok.cluster.read_shard import next_cut, open_source, sha256_of
from treetok.cluster.shard_folder import ShardFolder
from treetok.cluster.shards import Shard, cut_into_shards
from treetok.cluster.sources import Source, list_sources
from treetok.text import PROFILES

TRICKY_TEXT = st.text("ab.1'é東 \n\t\r\x1f\u00a0\u2003\u3000", max_size=60)


@pytest.fixture
def corpus(tmp_path):
    write_corpus(tmp_path / "corpus")
    return tmp_path / "corpus"


def names(inputs):
    return [source.name.rsplit("/", 1)[-1] for source in list_sources(inputs)]


def test_folders_and_patterns_are_expanded_in_order(corpus, monkeypatch):
    assert names(corpus) == ["a.jsonl", "b.jsonl.gz", "c.parquet", "d.txt", "e.txt.xz", "empty.txt", "f.txt.zst"]
    assert names([corpus / "more", f"{corpus}/*.jsonl*"])[4:] == ["a.jsonl", "b.jsonl.gz"]
    assert names(f"file://{corpus}/**/*.txt") == ["d.txt", "empty.txt"]
    monkeypatch.chdir(corpus)
    assert list_sources("a.jsonl") == [Source(f"{corpus}/a.jsonl", (corpus / "a.jsonl").stat().st_size)]
    (corpus / "odd[1].txt").write_text("x")
    assert names("odd[1].txt") == ["odd[1].txt"]


@pytest.mark.parametrize("given", ["none.txt", "none/*.txt", "/dev/null", []])
def test_nothing_to_read_is_an_error(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TreetokError, match=r"none|/dev/null|nothing to read"):
        list_sources(given)


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves files, and parts of files, as object stores do."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.exists():
            self.send_error(404)
            return
        content = path.read_bytes()
        first, last = 0, len(content) - 1
        if "Range" in self.headers:
            first, end = self.headers["Range"].removeprefix("bytes=").split("-")
            first, last = int(first), min(int(end or last), last)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        self.wfile.write(content[first : last + 1])

    def log_message(self, *arguments):
        pass


def test_urls_are_read_like_files(tmp_path):
    corpus = tmp_path / "corpus"
    files = write_corpus(corpus)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=str(corpus)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for path in files:
            if not path.stat().st_size:
                continue
            url = f"http://127.0.0.1:{server.server_port}/{path.relative_to(corpus)}"
            assert list_sources(url) == [Source(url, path.stat().st_size)]
            assert sha256_of(url, None) == sha256_of(str(path), None)
            with open_source(url, None) as file, path.open("rb") as expected:
                for position in (5, 0, 100):
                    assert file.seek(position) == expected.seek(position)
                    assert file.read(7) == expected.read(7)
        with pytest.raises(TreetokError, match="nothing to read at http"):
            list_sources(f"http://127.0.0.1:{server.server_port}/none.txt")
    finally:
        server.shutdown()


@given(sizes=st.lists(st.integers(0, 20_000), max_size=5), shard_bytes=st.integers(1024, 5000))
def test_shards_cover_every_file_once(sizes, shard_bytes):
    sources = [Source(f"{number}.txt", size) for number, size in enumerate(sizes)]
    shards = cut_into_shards(sources, shard_bytes)
    for source in sources:
        parts = [shard for shard in shards if shard.source == source.name]
        assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
        assert parts[-1].stop == source.size
        assert max(part.stop - part.start for part in parts) <= shard_bytes
    assert len({shard.name for shard in shards}) == len(shards)


def test_only_plain_text_is_cut():
    for name in ("a.txt.gz", "a.jsonl", "a.parquet", "s3://bucket/a.parquet"):
        assert cut_into_shards([Source(name, 10_000)], 1024) == [Shard(name, 0, 10_000, 10_000)]
    with pytest.raises(TreetokError, match="at least 1024 bytes"):
        cut_into_shards([], 10)


@given(text=TRICKY_TEXT, data=st.data())
def test_a_cut_is_the_first_end_of_a_word(text, data, monkeypatch):
    monkeypatch.setattr("treetok.cluster.read_shard.SEARCHED_AT_ONCE", data.draw(st.integers(1, 8)))
    content = text.encode()
    position = data.draw(st.integers(0, len(content)))
    ends = [
        at
        for at in range(1, len(content))
        if content[at : at + 1] in (b" ", b"\n") and not content[:at].decode()[-1].isspace()
    ]
    expected = next((at for at in ends if at >= position), len(content)) if position else 0
    assert next_cut(io.BytesIO(content), position, len(content)) == expected


@given(text=TRICKY_TEXT, data=st.data())
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_cuts_change_no_word_count(profile, text, data, tmp_path):
    path, folder = tmp_path / "text.txt", ShardFolder(tmp_path)
    content = text.encode()
    path.write_bytes(content)
    cuts = sorted({0, len(content), *data.draw(st.lists(st.integers(0, len(content)), max_size=3))})
    work = CountWords(folder, profile.name, profile.version, "text", 10**9, None)
    found = Counter()
    for start, stop in pairwise(cuts):
        shard = Shard(str(path), start, stop, len(content))
        work(shard)
        table = pyarrow.parquet.read_table(tmp_path / shard.name)
        found.update(dict(zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True)))
    assert found == Counter(profile.split(text))


@given(text=TRICKY_TEXT, data=st.data())
def test_cuts_change_no_id(lossless, text, data, tmp_path):
    path, folder = tmp_path / "text.txt", ShardFolder(tmp_path)
    content = text.encode()
    path.write_bytes(content)
    cuts = sorted({0, len(content), *data.draw(st.lists(st.integers(0, len(content)), max_size=3))})
    work = EncodeShard(folder, b"", "uint16", 1, "text", None)
    work.__dict__["tokenizer"] = lossless
    found, offsets = [], []
    for start, stop in pairwise(cuts):
        shard = Shard(str(path), start, stop, len(content))
        work(shard)
        for row in pyarrow.parquet.read_table(tmp_path / shard.name).to_pylist():
            found += row["ids"]
            offsets.append(row["offset"])
    expected = [*lossless.encode(text), 1] if text else []
    assert (found, offsets) == (expected, sorted(offsets))


def test_an_error_in_a_part_of_a_file_says_where_it_begins(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"one two\n" * 4 + b"\xff\n")
    work = CountWords(ShardFolder(tmp_path), "lossless", 2, "text", 10**9, None)
    with pytest.raises(TreetokError, match=r"text.txt, from byte 19, line 3: byte 0xff is not UTF-8"):
        work(Shard(str(path), 17, 34, 34))
    assert not list(tmp_path.glob("*.parquet")) and not list(tmp_path.glob(".*"))


def test_long_texts_are_written_in_pieces(lossless, tmp_path, monkeypatch, sample_text):
    monkeypatch.setattr("treetok.cluster.encode_shards.BLOCK_BYTES", 1000)
    monkeypatch.setattr("treetok.cluster.encode_shards.ENCODED_AT_ONCE", 5000)
    path = tmp_path / "text.txt"
    path.write_text(sample_text, encoding="utf-8", newline="")
    size = path.stat().st_size
    work = EncodeShard(ShardFolder(tmp_path), b"", "uint32", None, "text", None)
    work.__dict__["tokenizer"] = lossless
    work(Shard(str(path), 0, size, size))
    (file,) = tmp_path.glob("*.parquet")
    rows = pyarrow.parquet.read_table(file).to_pylist()
    assert len(rows) > 5 and {row["row"] for row in rows} == {0}
    assert np.concatenate([row["ids"] for row in rows]).tolist() == lossless.encode(sample_text)
    content = sample_text.encode()
    ends = [row["offset"] for row in rows[1:]] + [size]
    for row, end in zip(rows, ends, strict=True):
        assert lossless.decode(row["ids"]).encode() == content[row["offset"] : end]

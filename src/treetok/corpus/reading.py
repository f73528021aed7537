"""Read text files piece by piece: plain text, JSON Lines and Parquet, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import IO

from treetok.corpus.blocks import blocks_of_words
from treetok.corpus.compression import COMPRESSIONS, decompress
from treetok.corpus.lines import decode
from treetok.corpus.opening import opened
from treetok.corpus.rows import Report, read_json_lines, read_parquet
from treetok.errors import TreetokError

JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet",)

BLOCK_BYTES = 1 << 20

# A file by its path, or the URL of one in an object store.
FileName = Path | str


def suffixes_of(name: FileName) -> list[str]:
    """
    >>> suffixes_of(Path("news.txt.XZ")), suffixes_of("https://host/news.parquet?download=true")
    (['.txt', '.xz'], ['.parquet'])
    """
    path = PurePath(name.partition("?")[0] if isinstance(name, str) and "://" in name else name)
    return [suffix.lower() for suffix in path.suffixes]


def compression_of(name: FileName) -> str:
    """
    >>> compression_of(Path("news.txt.XZ")), compression_of(Path("news.txt"))
    ('.xz', '')
    """
    suffix = (suffixes_of(name) or [""])[-1]
    return suffix if suffix in COMPRESSIONS else ""


def has_rows(name: FileName) -> bool:
    """Whether each row of a file is a text of its own, as in JSON Lines and Parquet.

    >>> has_rows(Path("news.jsonl.gz")), has_rows(Path("news.txt"))
    (True, False)
    """
    suffixes = suffixes_of(name)
    if compression_of(name):
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in (*JSON_LINES, *PARQUET)


def read_blocks(path: Path, report: Report = lambda position: None) -> Iterator[bytes]:
    """Yield the bytes of a plain text file, decompressed, in blocks of bounded size."""
    with opened(path) as raw, decompress(raw, compression_of(path), path) as stream:
        while block := stream.read(BLOCK_BYTES):
            report(position_in(raw))
            yield block


def read_texts(path: Path, text_column: str = "text", report: Report = lambda position: None) -> Iterator[str]:
    """Yield the text of a file in pieces of bounded size, never splitting inside a word.

    The file name determines the format: `.jsonl` or `.ndjson` (one object per line) and `.parquet` are read from
    the column `text_column`, anything else is plain text; `.gz`, `.xz`, `.bz2` and `.zst` are decompressed.
    """
    check_format(path)
    with opened(path) as raw:
        yield from texts_in(raw, path, text_column, report)


def check_format(name: FileName) -> None:
    if ".json" in suffixes_of(name)[-2:]:
        raise TreetokError(
            f"{name}: JSON is read line by line; name the file .jsonl if it has one object per line"
        )


def texts_in(
    raw: IO[bytes], name: FileName, text_column: str, report: Report = lambda position: None
) -> Iterator[str]:
    """Like `read_texts`, for a file that is open already; `name` says what format it has."""
    if has_rows(name):
        for _, text in rows_in(raw, name, text_column, report):
            yield text
        return
    with decompress(raw, compression_of(name), name) as stream:
        for piece in read_plain(stream, name):
            report(position_in(raw))
            yield piece


def rows_in(
    raw: IO[bytes], name: FileName, text_column: str, report: Report = lambda position: None
) -> Iterator[tuple[int, str]]:
    """The rows of an open JSON Lines or Parquet file that have a text, each with its number, from 0."""
    if suffixes_of(name)[-1] in PARQUET:
        yield from read_parquet(raw, name, text_column, report)
        return
    with decompress(raw, compression_of(name), name) as stream:
        for row in read_json_lines(stream, name, text_column):
            report(position_in(raw))
            yield row


def position_in(raw: IO[bytes]) -> int:
    """Number of bytes read from a file; 0 for a pipe, where the position is unknown."""
    try:
        return raw.tell()
    except OSError:
        return 0


def read_plain(stream: IO[bytes], name: FileName) -> Iterator[str]:
    blocks = iter(lambda: stream.read(BLOCK_BYTES), b"")
    for number, (line, block) in enumerate(blocks_of_words(blocks, BLOCK_BYTES)):
        text = decode(block, name, line)
        yield text if number else text.removeprefix("\ufeff")

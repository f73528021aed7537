"""Read text files piece by piece: plain text, JSON Lines and Parquet, compressed or not."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import IO, Any, cast

from treetok.errors import TreetokError
from treetok.text import check_encodable

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet",)

BLOCK_BYTES = 1 << 20
# Text without whitespace (or with nothing else) is split after this many bytes, to bound memory.
LONGEST_UNBROKEN = 16 << 20

# What `\s` matches; `str.rstrip` alone would strip U+001C to U+001F, too.
WHITESPACE = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)

# Called with the number of bytes read from the file so far.
Report = Callable[[int], object]
# A file by its path, or the URL of one in an object store.
FileName = Path | str


class NoTextColumn(TreetokError):
    """A row or file has no text under the name that was asked for, which may be wrong."""


@contextlib.contextmanager
def reading_errors(path: FileName) -> Iterator[None]:
    """Turn errors of files into errors that name the file."""
    try:
        yield
    except IsADirectoryError:
        raise TreetokError(f"{path} is a directory, not a text file") from None
    except FileNotFoundError:
        raise TreetokError(f"no such file: {path}") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise TreetokError(f"{path} is damaged or does not match its file extension: {error}") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None


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
    with reading_errors(path), path.open("rb") as raw, decompress(raw, compression_of(path), path) as stream:
        while block := stream.read(BLOCK_BYTES):
            report(position_in(raw))
            yield block


def read_texts(path: Path, text_column: str = "text", report: Report = lambda position: None) -> Iterator[str]:
    """Yield the text of a file in pieces of bounded size, never splitting inside a word.

    The file name determines the format: `.jsonl` or `.ndjson` (one object per line) and `.parquet` are read from
    the column `text_column`, anything else is plain text; `.gz`, `.xz`, `.bz2` and `.zst` are decompressed.
    """
    with reading_errors(path):
        check_format(path)
        with path.open("rb") as raw:
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


@contextlib.contextmanager
def decompress(raw: IO[bytes], compression: str, path: FileName) -> Iterator[IO[bytes]]:
    """Open a stream of the decompressed bytes of a file."""
    if compression == ".gz":
        yield cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    elif compression == ".xz":
        yield cast(IO[bytes], lzma.LZMAFile(raw))
    elif compression == ".bz2":
        yield cast(IO[bytes], bz2.BZ2File(raw))
    elif compression == ".zst":
        try:
            import zstandard
        except ImportError:
            raise TreetokError(f"reading {path} needs zstandard: pip install zstandard") from None
        try:
            yield io.BufferedReader(ZstdFrames(raw, zstandard.ZstdDecompressor().decompressobj))
        except zstandard.ZstdError as error:
            raise TreetokError(f"{path} is damaged or does not match its file extension: {error}") from None
    else:
        yield raw


class ZstdFrames(io.RawIOBase):
    """Decompresses frame by frame. Unlike the library's own reader, it detects a truncated last frame."""

    def __init__(self, raw: IO[bytes], new_frame: Callable[[], Any]) -> None:
        self._raw, self._new_frame = raw, new_frame
        self._frame: Any = None
        self._compressed = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._compressed = self._compressed or self._raw.read(BLOCK_BYTES)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("unexpected end of file")
                return 0
            self._frame = self._frame or self._new_frame()
            self._ready = self._frame.decompress(self._compressed)
            self._compressed = b""
            if self._frame.eof:
                self._compressed, self._frame = self._frame.unused_data, None
        taken = min(len(buffer), len(self._ready))
        buffer[:taken], self._ready = self._ready[:taken], self._ready[taken:]
        return taken


def position_in(raw: IO[bytes]) -> int:
    """Number of bytes read from a file; 0 for a pipe, where the position is unknown."""
    try:
        return raw.tell()
    except OSError:
        return 0


def decode(block: bytes, path: FileName, line: int) -> str:
    """Decode UTF-8; the error for invalid bytes names the file and line."""
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line += block.count(b"\n", 0, error.start)
        raise TreetokError(f"{path}, line {line}: byte 0x{block[error.start]:02x} is not UTF-8") from None


def last_break(block: bytes) -> int:
    """Where a block of bytes can be split: after its last line break, otherwise after its last space, otherwise
    (only if it is very long) before its last character. 0 if it cannot be split."""
    end = block.rfind(b"\n") + 1 or block.rfind(b" ") + 1
    if not end and len(block) >= LONGEST_UNBROKEN:
        end = len(block) - 1
        while end and block[end] & 0xC0 == 0x80:
            end -= 1
    return end


def read_plain(stream: IO[bytes], path: FileName) -> Iterator[str]:
    line, rest, held_back = 1, b"", ""
    first = True
    while block := stream.read(BLOCK_BYTES):
        rest += block
        end = last_break(rest)
        if not end:
            continue
        text = held_back + decode(rest[:end], path, line)
        line += rest.count(b"\n", 0, end)
        rest = rest[end:]
        if first:
            text, first = text.removeprefix("\ufeff"), False
        # Whitespace is kept for the next piece, so that a run of it is never split.
        piece = text.rstrip(WHITESPACE)
        held_back = text[len(piece) :]
        if len(held_back) >= LONGEST_UNBROKEN:
            piece, held_back = text, ""
        yield piece
    text = held_back + decode(rest, path, line)
    yield text.removeprefix("\ufeff") if first else text


def read_json_lines(stream: IO[bytes], path: FileName, text_column: str) -> Iterator[tuple[int, str]]:
    for line, row in enumerate(stream, start=1):
        if not row.strip():
            continue
        try:
            value = json.loads(decode(row, path, line).removeprefix("\ufeff"))
        except ValueError as error:
            raise TreetokError(f"{path}, line {line}: not JSON ({error})") from None
        except RecursionError:
            raise TreetokError(f"{path}, line {line}: JSON is nested too deeply") from None
        if not isinstance(value, dict) or text_column not in value:
            raise NoTextColumn(f"{path}, line {line}: no text under the key {text_column!r}")
        text = value[text_column]
        if text is None:
            continue
        if not isinstance(text, str):
            raise NoTextColumn(f"{path}, line {line}: no text under the key {text_column!r}")
        try:
            check_encodable(text)
        except TreetokError as error:
            raise TreetokError(f"{path}, line {line}: {error}") from None
        yield line - 1, text


def read_parquet(raw: IO[bytes], path: FileName, text_column: str, report: Report) -> Iterator[tuple[int, str]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TreetokError(f"reading {path} needs pyarrow: pip install pyarrow") from None
    try:
        size = raw.seek(0, io.SEEK_END)
        with pyarrow.parquet.ParquetFile(raw) as file:
            if text_column not in file.schema_arrow.names:
                names = ", ".join(file.schema_arrow.names)
                raise NoTextColumn(f"{path} has no column {text_column!r}; it has: {names}")
            kind = file.schema_arrow.field(text_column).type
            if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
                raise NoTextColumn(f"{path}: the column {text_column!r} holds {kind}, not text")
            rows_read = 0
            for batch in file.iter_batches(batch_size=4096, columns=[text_column]):
                rows: list[Any] = batch.column(0).to_pylist()
                yield from ((row, text) for row, text in enumerate(rows, rows_read) if text is not None)
                rows_read += len(rows)
                report(size * rows_read // max(1, file.metadata.num_rows))
    except pyarrow.ArrowInvalid as error:
        raise TreetokError(f"{path} is damaged or does not match its file extension: {error}") from None

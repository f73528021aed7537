"""Reading text files piece by piece: plain text, JSON lines and Parquet, as they are or compressed."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from treetok.errors import TreetokError
from treetok.text import check_encodable

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet",)
PLAIN = (".txt", ".text", ".md", ".tokens", ".raw")
# What a corpus file is usually called: a string that ends so is taken for a path, not for text.
KNOWN_SUFFIXES = COMPRESSIONS + JSON_LINES + PARQUET + PLAIN

BLOCK_BYTES = 1 << 20
# Text without a break (or nothing but breaks) is cut after so many bytes, so that memory stays bounded.
LONGEST_UNBROKEN = 16 << 20

# Called with the number of bytes of the file that have been read so far.
Report = Callable[[int], object]


def read_texts(path: Path, text_column: str = "text", report: Report = lambda position: None) -> Iterator[str]:
    """The text of a file in pieces of bounded size, cut where no word crosses.

    The kind of file is told from its name: `.jsonl` or `.ndjson` (one object a line) and `.parquet` have a
    column `text_column`, anything else is plain text; `.gz`, `.xz`, `.bz2` and `.zst` are unpacked on the way.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    try:
        if suffixes and suffixes[-1] in PARQUET:
            yield from read_parquet(path, text_column, report)
            return
        if ".json" in suffixes[-2:]:
            raise TreetokError(f"{path}: JSON is read line by line; name the file .jsonl if it has a text a line")
        with path.open("rb") as raw:
            packed = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
            with unpack(raw, packed, path) as stream:
                if suffixes and suffixes[-1] in JSON_LINES:
                    pieces = read_json_lines(stream, path, text_column)
                else:
                    pieces = read_plain(stream, path)
                for piece in pieces:
                    report(position_in(raw))
                    yield piece
    except IsADirectoryError:
        raise TreetokError(f"{path} is a directory, not a text file") from None
    except FileNotFoundError:
        raise TreetokError(f"no such file: {path}") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise TreetokError(f"{path} is damaged or not what its name says: {error}") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None


@contextlib.contextmanager
def unpack(raw: IO[bytes], packed: str, path: Path) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file."""
    if packed == ".gz":
        yield cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    elif packed == ".xz":
        yield cast(IO[bytes], lzma.LZMAFile(raw))
    elif packed == ".bz2":
        yield cast(IO[bytes], bz2.BZ2File(raw))
    elif packed == ".zst":
        try:
            import zstandard
        except ImportError:
            raise TreetokError(f"reading {path} needs zstandard: pip install zstandard") from None
        try:
            yield io.BufferedReader(ZstdFrames(raw, zstandard.ZstdDecompressor().decompressobj))
        except zstandard.ZstdError as error:
            raise TreetokError(f"{path} is damaged or not what its name says: {error}") from None
    else:
        yield raw


class ZstdFrames(io.RawIOBase):
    """Unpacks one frame after the other. Unlike the library's own reader it notices when the last is cut off."""

    def __init__(self, raw: IO[bytes], new_frame: Callable[[], Any]) -> None:
        self._raw, self._new_frame = raw, new_frame
        self._frame: Any = None
        self._packed = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._raw.read(BLOCK_BYTES)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("it ends before its end was reached")
                return 0
            self._frame = self._frame or self._new_frame()
            self._ready = self._frame.decompress(self._packed)
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        taken = min(len(buffer), len(self._ready))
        buffer[:taken], self._ready = self._ready[:taken], self._ready[taken:]
        return taken


def position_in(raw: IO[bytes]) -> int:
    """How much of a file has been read; 0 for a pipe, of which nobody knows."""
    try:
        return raw.tell()
    except OSError:
        return 0


def decode(block: bytes, path: Path | str, line: int) -> str:
    """Bytes to text; bytes that are no UTF-8 are refused with the file and the line they stand in."""
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line += block.count(b"\n", 0, error.start)
        raise TreetokError(f"{path}, line {line}: byte 0x{block[error.start]:02x} is not UTF-8") from None


def last_cut(block: bytes) -> int:
    """Where a block of bytes can be cut: behind its last line break, else behind its last space, else (only
    when it has grown very long) before its last character. 0 where it cannot."""
    cut = block.rfind(b"\n") + 1 or block.rfind(b" ") + 1
    if not cut and len(block) >= LONGEST_UNBROKEN:
        cut = len(block) - 1
        while cut and block[cut] & 0xC0 == 0x80:
            cut -= 1
    return cut


def read_plain(stream: IO[bytes], path: Path) -> Iterator[str]:
    line, rest, held_back = 1, b"", ""
    first = True
    while block := stream.read(BLOCK_BYTES):
        rest += block
        cut = last_cut(rest)
        if not cut:
            continue
        text = held_back + decode(rest[:cut], path, line)
        line += rest.count(b"\n", 0, cut)
        rest = rest[cut:]
        if first:
            text, first = text.removeprefix("\ufeff"), False
        # Line breaks and spaces stay with what follows them: a blank line must not be torn apart.
        piece = text.rstrip("\n\r\t ")
        held_back = text[len(piece) :]
        if len(held_back) >= LONGEST_UNBROKEN:
            piece, held_back = text, ""
        yield piece
    text = held_back + decode(rest, path, line)
    yield text.removeprefix("\ufeff") if first else text


def read_json_lines(stream: IO[bytes], path: Path, text_column: str) -> Iterator[str]:
    for line, row in enumerate(stream, start=1):
        if not row.strip():
            continue
        try:
            value = json.loads(decode(row, path, line).removeprefix("\ufeff"))
        except ValueError as error:
            raise TreetokError(f"{path}, line {line}: not JSON ({error})") from None
        except RecursionError:
            raise TreetokError(f"{path}, line {line}: JSON that is nested too deeply") from None
        if not isinstance(value, dict) or text_column not in value:
            raise TreetokError(f"{path}, line {line}: no text under the key {text_column!r}")
        text = value[text_column]
        if text is None:
            continue
        if not isinstance(text, str):
            raise TreetokError(f"{path}, line {line}: no text under the key {text_column!r}")
        try:
            check_encodable(text)
        except TreetokError as error:
            raise TreetokError(f"{path}, line {line}: {error}") from None
        yield text


def read_parquet(path: Path, text_column: str, report: Report) -> Iterator[str]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TreetokError(f"reading {path} needs pyarrow: pip install pyarrow") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if text_column not in file.schema_arrow.names:
                names = ", ".join(file.schema_arrow.names)
                raise TreetokError(f"{path} has no column {text_column!r}; it has: {names}")
            kind = file.schema_arrow.field(text_column).type
            if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
                raise TreetokError(f"{path}: the column {text_column!r} holds {kind}, not text")
            rows_read = 0
            for batch in file.iter_batches(batch_size=4096, columns=[text_column]):
                rows: list[Any] = batch.column(0).to_pylist()
                rows_read += len(rows)
                yield from (text for text in rows if text is not None)
                report(path.stat().st_size * rows_read // max(1, file.metadata.num_rows))
    except pyarrow.ArrowInvalid as error:
        raise TreetokError(f"{path} is damaged or not what its name says: {error}") from None

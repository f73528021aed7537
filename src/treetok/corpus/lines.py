"""Lines of UTF-8 of bounded length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from treetok.errors import TreetokError

# A line that is read as a whole, and a text in a Parquet file, may have so many bytes.
LONGEST_LINE = 64 << 20


def read_lines(stream: IO[bytes], name: object) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream, with their line feeds, each with its number, from 1."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TreetokError(f"{name}, line {number}: the line has more than {LONGEST_LINE >> 20} MiB")
        yield number, line


def decode(block: bytes, name: object, line: int) -> str:
    """Decode UTF-8; the error for invalid bytes names the file and line."""
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line += block.count(b"\n", 0, error.start)
        raise TreetokError(f"{name}, line {line}: byte 0x{block[error.start]:02x} is not UTF-8") from None

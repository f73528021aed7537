"""Read one shard, wherever it is: local files as usual, URLs through Daft. No file is read into memory whole."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, cast

import daft

from treetok.cluster.shards import Shard
from treetok.cluster.sources import is_url
from treetok.corpus.blocks import END_OF_WORD, LONGEST_CHARACTER
from treetok.corpus.compression import decompress
from treetok.corpus.opening import opened
from treetok.corpus.reading import (
    BLOCK_BYTES,
    check_format,
    compression_of,
    has_rows,
    read_plain,
    rows_in,
    texts_in,
)
from treetok.corpus.rows import NoTextColumn
from treetok.errors import TreetokError

# A cut is looked for in steps of this many bytes.
SEARCHED_AT_ONCE = 1 << 16


def open_source(name: str, io_config: Any) -> AbstractContextManager[IO[bytes]]:
    if is_url(name):
        return cast(IO[bytes], daft.open_file(name, "rb", buffering=BLOCK_BYTES, io_config=io_config))
    return opened(Path(name))


@contextlib.contextmanager
def open_shard(shard: Shard, io_config: Any) -> Iterator[IO[bytes]]:
    """The whole file of a shard, which must be what it was when it was cut."""
    with open_source(shard.source, io_config) as raw:
        if not is_url(shard.source) and os.fstat(raw.fileno()).st_size != shard.size:
            raise TreetokError(f"{shard.source} has changed since this run began: run it again")
        yield raw


def sha256_of(name: str, io_config: Any) -> str:
    with open_source(name, io_config) as file:
        return hashlib.file_digest(cast(Any, file), "sha256").hexdigest()


def check_text_column(shards: Iterable[Shard], text_column: str, io_config: Any) -> None:
    """Raise TreetokError if the first text that has a column is not in this one: that is a wrong option, not
    damage in every file."""
    first = next((shard for shard in shards if has_rows(shard.source)), None)
    if first is None:
        return
    try:
        with open_source(first.source, io_config) as raw:
            next(rows_in(raw, first.source, text_column), None)
    except NoTextColumn as error:
        raise TreetokError(f"{error} (text_column={text_column!r})") from None
    except Exception:
        # A damaged file is reported when its turn comes, and the others are done.
        return


def label_of(shard: Shard, start: int) -> str:
    """What errors call a shard: the numbers of lines are counted from its start."""
    return shard.source if shard.is_whole else f"{shard.source}, from byte {start}"


def texts_of(raw: IO[bytes], shard: Shard, text_column: str) -> Iterator[str]:
    """The texts of a shard; of one that is a part of a file, the words are exactly those between its two cuts."""
    check_format(shard.source)
    if has_rows(shard.source):
        yield from texts_in(raw, shard.source, text_column)
    else:
        with plain_text(raw, shard) as (start, stream):
            yield from read_plain(stream, label_of(shard, start))


@contextlib.contextmanager
def plain_text(raw: IO[bytes], shard: Shard) -> Iterator[tuple[int, IO[bytes]]]:
    """Where a shard of plain text begins, and its bytes, decompressed."""
    if shard.is_whole:
        with decompress(raw, compression_of(shard.source), shard.source) as stream:
            yield 0, stream
    else:
        section = Section(raw, shard)
        yield section.start, cast(IO[bytes], section)


class Section(io.RawIOBase):
    """The bytes of a file between the cuts of a shard."""

    def __init__(self, raw: IO[bytes], shard: Shard) -> None:
        self.start = next_cut(raw, shard.start, shard.size)
        self._left = next_cut(raw, shard.stop, shard.size) - self.start
        self._raw = raw
        raw.seek(self.start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._raw.read(min(len(buffer), self._left))
        if not block and self._left:
            raise EOFError("unexpected end of file")
        self._left -= len(block)
        buffer[: len(block)] = block
        return len(block)


def next_cut(raw: IO[bytes], position: int, size: int) -> int:
    """The first place at or after `position` where a word ends, so that the text before it and the text after it
    have the same words as the whole; the end of the file if there is none.

    >>> text = io.BytesIO(b"one two  three")
    >>> [next_cut(text, position, 14) for position in (0, 2, 3, 4, 8, 14)]
    [0, 3, 3, 7, 14, 14]
    """
    if position in (0, size):
        return position
    before = min(position, LONGEST_CHARACTER)
    raw.seek(position - before, os.SEEK_SET)
    window, offset = raw.read(before), position - before
    while block := raw.read(SEARCHED_AT_ONCE):
        window += block
        found = END_OF_WORD.search(window, before - 1)
        if found:
            return offset + found.end()
        # The character at the end of this window may be the last of a word: the next window has it, too.
        kept = window[-LONGEST_CHARACTER:]
        offset += len(window) - len(kept)
        window, before = kept, len(kept)
    return size

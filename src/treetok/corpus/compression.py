"""Decompress files in pieces of bounded size, whatever they contain and whatever they claim."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import IO, Any, Protocol, cast

from treetok.errors import TreetokError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
# Files say how much of their text has to be kept in memory while they are decompressed. `zstd` needs an option for
# more than this, too, and `xz -9` writes half of it.
LARGEST_WINDOW = 128 << 20
# What the decoder of xz needs beside its window.
BESIDE_WINDOW = 1 << 20
COMPRESSED_AT_ONCE = 1 << 16
TEXT_AT_ONCE = 1 << 18
# A block of zstd has up to 128 kB of text and at least 4 bytes, so this is no more than 8 MB of text.
ZSTD_AT_ONCE = 256


@contextlib.contextmanager
def decompress(raw: IO[bytes], compression: str, name: object) -> Iterator[IO[bytes]]:
    """Open a stream of the decompressed bytes of a file."""
    # Libraries are imported where they are needed: together, they would take longer than a small text.
    if compression == ".gz":
        import gzip
        import zlib

        try:
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw))
        except (zlib.error, gzip.BadGzipFile) as error:
            raise damaged(name, error) from None
    elif compression == ".xz":
        import lzma

        memory = LARGEST_WINDOW + BESIDE_WINDOW
        try:
            yield buffered(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_AUTO, memory))
        except lzma.LZMAError as error:
            raise damaged(name, error, "usage limit") from None
    elif compression == ".bz2":
        import bz2

        yield buffered(raw, bz2.BZ2Decompressor)
    elif compression == ".zst":
        try:
            import zstandard
        except ImportError:
            raise TreetokError(f"reading {name} needs zstandard: pip install zstandard") from None
        decompressor = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        try:
            yield buffered(raw, lambda: ZstdFrame(decompressor.decompressobj()))
        except zstandard.ZstdError as error:
            raise damaged(name, error, "too much memory") from None
    else:
        yield raw


def damaged(name: object, error: Exception, says_too_large: str | None = None) -> TreetokError:
    if says_too_large and says_too_large in str(error):
        return TreetokError(f"{name} needs more than {LARGEST_WINDOW >> 20} MiB of memory to be decompressed")
    return TreetokError(f"{name} is damaged or does not match its file extension: {error}")


class Decompressor(Protocol):
    """What Python has for xz and bzip2: decompresses one stream, and stops at its end."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes:
        """More of the text; of data that is left over for now, the next call has the rest."""


class ZstdFrame:
    """The same for zstd. Its library has no limit on the text of what it is given, so it gets little at once."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._given = memoryview(b"")
        self.eof, self.needs_input, self.unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._given = self._given or memoryview(data)
        text = bytearray()
        while self._given and len(text) < max_length and not self._frame.eof:
            text += self._frame.decompress(self._given[:ZSTD_AT_ONCE])
            self._given = self._given[ZSTD_AT_ONCE:]
        self.needs_input = not self._given
        self.eof = self._frame.eof
        if self.eof:
            self.unused_data = self._frame.unused_data + self._given
        return bytes(text)


def buffered(raw: IO[bytes], new_stream: Callable[[], Decompressor]) -> IO[bytes]:
    return io.BufferedReader(Decompressed(raw, new_stream))


class Decompressed(io.RawIOBase):
    """The text of compressed streams, one behind the other. Unlike the readers of the libraries, it notices if the
    last of several is cut off or damaged."""

    def __init__(self, raw: IO[bytes], new_stream: Callable[[], Decompressor]) -> None:
        self._raw, self._new_stream = raw, new_stream
        self._stream: Decompressor | None = None
        self._compressed = b""
        self._text = memoryview(b"")
        self._is_first = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            if not self._read_on():
                return 0
        taken = min(len(buffer), len(self._text))
        buffer[:taken] = self._text[:taken]
        self._text = self._text[taken:]
        return taken

    def _read_on(self) -> bool:
        """Decompress more of the file, possibly to no text yet; false at its end."""
        if self._stream is None and not self._is_first:
            # Streams may be padded with these.
            self._compressed = self._compressed.lstrip(b"\0")
        if not self._compressed and (self._stream is None or self._stream.needs_input):
            self._compressed = self._raw.read(COMPRESSED_AT_ONCE)
            if self._compressed:
                return True
            if self._is_first or self._stream is not None:
                raise EOFError("unexpected end of file")
            return False
        self._stream = self._stream or self._new_stream()
        self._text = memoryview(self._stream.decompress(self._compressed, TEXT_AT_ONCE))
        self._compressed = b""
        if self._stream.eof:
            self._compressed, self._stream, self._is_first = self._stream.unused_data, None, False
        return True

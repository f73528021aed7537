"""Files to files of ids: text, an array of numpy, or plain numbers that loaders map into memory.

A plain text file is one document; so is each row of JSON Lines and Parquet. Text is read, encoded and written in
blocks, so memory does not grow with the size of a file.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from treetok.corpus.reading import has_rows, read_blocks, read_texts
from treetok.errors import TreetokError
from treetok.progress import Progress

# Long enough that threads have something to share, short enough to bound memory.
ENCODED_AT_ONCE = 16 << 20
# Text without a space is cut after this many bytes.
LONGEST_UNBROKEN = 256 << 20
# Where a block may end: words end between a visible ASCII character and a space or line feed.
END_OF_WORD = re.compile(rb"[!-~](?=[ \n])")
BACK = 1 << 12

Array = npt.NDArray[np.uint32]
# Number of bytes read from the file so far.
Report = Callable[[int], object]


def encode_files(
    encoder: Any,
    files: Sequence[Path],
    output: Path,
    dtype: npt.DTypeLike,
    end_id: int | None,
    text_column: str,
    threads: int,
    progress: Progress,
) -> int:
    """Write the ids of files to one file: `.npy`, or plain numbers. Returns how many there are. The file appears
    when it is complete; if anything fails, what was there before stays."""
    kind = np.dtype(dtype).newbyteorder("<")
    total = sum(size_of(path) for path in files)
    count = 0
    with written_beside(output) as file, progress.stage("encoding", total, "B") as stage:
        if output.suffix == ".npy":
            write_header(file, kind, 0)
        before = 0
        for path in files:
            report = partial(stage.at_offset, before)
            for ids in ids_of_file(encoder, path, end_id, text_column, threads, report):
                file.write(ids.astype(kind, copy=False).tobytes())
                count += len(ids)
            before += size_of(path)
            stage.at(before)
        if output.suffix == ".npy":
            file.seek(0)
            write_header(file, kind, count)
    return count


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise TreetokError(f"no such file: {path}") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None


def write_header(file: IO[bytes], kind: np.dtype[Any], count: int) -> None:
    """The header of an `.npy` file. numpy leaves room for the number to grow: its size is always the same."""
    head = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, head)


def ids_of_file(
    encoder: Any, path: Path, end_id: int | None, text_column: str, threads: int, report: Report
) -> Iterator[Array]:
    """The ids of a file, in pieces; `end_id` ends every document."""
    end = np.array([] if end_id is None else [end_id], dtype=np.uint32)
    if has_rows(path):
        for texts in together(read_texts(path, text_column, report)):
            ids, offsets = encoder.encode_flat(texts, threads)
            yield ids if end_id is None else np.insert(ids, offsets[1:].astype(np.int64), np.uint32(end_id))
    else:
        for block in blocks_of_words(read_blocks(path, report), path):
            yield encoder.encode_utf8(block, threads)
        yield end


def together(texts: Iterator[str]) -> Iterator[list[str]]:
    """Texts in groups of bounded size."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= ENCODED_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def blocks_of_words(blocks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """Blocks of UTF-8 that end where a word does."""
    lines, parts, size = 1, [], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= ENCODED_AT_ONCE:
            joined = b"".join(parts)
            end = last_end_of_word(joined)
            if end:
                yield checked(joined[:end], path, lines)
                lines += joined.count(b"\n", 0, end)
            parts, size = [joined[end:]], len(joined) - end
    yield checked(b"".join(parts), path, lines)


def last_end_of_word(text: bytes) -> int:
    """Where a text can be cut so that its words stay the same; 0 if that is nowhere and it may still grow.

    >>> last_end_of_word(b"one two  thr"), last_end_of_word(b"one")
    (7, 0)
    """
    for start in range(len(text) - BACK, -BACK, -BACK):
        # One more, since the space after the last character is looked at.
        found = list(END_OF_WORD.finditer(text, max(start, 0), min(start + BACK + 1, len(text))))
        if found:
            return found[-1].end()
    if len(text) < LONGEST_UNBROKEN:
        return 0
    end = len(text) - 1
    while end and text[end] & 0xC0 == 0x80:
        end -= 1
    return end


def checked(text: bytes, path: Path | str, line: int) -> bytes:
    """Text that is UTF-8; the error names the file and the line."""
    try:
        str(text, "utf-8")
    except UnicodeDecodeError as error:
        line += text.count(b"\n", 0, error.start)
        raise TreetokError(f"{path}, line {line}: byte 0x{text[error.start]:02x} is not UTF-8") from None
    return text


@contextlib.contextmanager
def written_beside(output: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces `output` when it is complete."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    except OSError as error:
        raise TreetokError(f"cannot write {output}: {error.strerror or error}") from None
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        beside.chmod(0o666 & ~current_umask())
        beside.replace(output)
    except OSError as error:
        raise TreetokError(f"cannot write {output}: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

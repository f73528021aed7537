"""Files to ids: as an array in memory, or as files of numpy arrays or plain numbers that loaders map into memory.

A plain text file is one document; so is each row of JSON Lines and Parquet. Text is read, encoded and written in
blocks, so memory does not grow with the size of a file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from treetok.corpus.blocks import blocks_of_words
from treetok.corpus.compression import decompress
from treetok.corpus.lines import decode
from treetok.corpus.opening import opened
from treetok.corpus.reading import compression_of, has_rows, read_blocks, read_texts
from treetok.corpus.rows import Report
from treetok.errors import TreetokError
from treetok.progress import Progress
from treetok.storage.replace_file import replaced_when_complete

# Long enough that threads have something to share, short enough to bound memory.
ENCODED_AT_ONCE = 16 << 20

Array = npt.NDArray[np.uint32]


def encode_files(
    encoder: Any,
    files: Sequence[Path],
    output: Path,
    dtype: np.dtype[Any],
    end_id: int | None,
    text_column: str,
    threads: int,
    progress: Progress,
) -> int:
    """Write the ids of files to one file: `.npy`, or plain numbers. Returns how many there are. The file appears
    when it is complete; if anything fails, what was there before stays."""
    kind = dtype.newbyteorder("<")
    output = target_of(output, files)
    total = sum(size_of(path) for path in files)
    count = 0
    with written_beside(output) as file, progress.stage("encoding", total, "B") as stage:
        if output.suffix.lower() == ".npy":
            write_header(file, kind, 0)
        before = 0
        for path in files:
            report = partial(stage.at_offset, before)
            for ids in ids_of_file(encoder, path, end_id, text_column, threads, report):
                file.write(ids.astype(kind, copy=False).tobytes())
                count += len(ids)
            before += size_of(path)
            stage.at(before)
        if output.suffix.lower() == ".npy":
            file.seek(0)
            write_header(file, kind, count)
    return count


def checked_files(files: Any) -> list[Path]:
    """
    >>> [path.name for path in checked_files("a.txt") + checked_files(["b.txt", Path("c.txt")])]
    ['a.txt', 'b.txt', 'c.txt']
    """
    if isinstance(files, str | os.PathLike):
        return [checked_file(files)]
    if isinstance(files, bytes) or not isinstance(files, Iterable):
        raise TreetokError(f"files must be paths, not {files!r}")
    return [checked_file(file) for file in files]


def checked_file(file: Any) -> Path:
    name = os.fspath(file) if isinstance(file, str | os.PathLike) else None
    # An empty string would be the current directory.
    if not isinstance(name, str) or not name or "\0" in name:
        raise TreetokError(f"a file must be given by its path, not as {file!r}")
    return Path(name)


def checked_output(output: Any) -> Path:
    if not isinstance(output, str | os.PathLike) or not str(output):
        raise TreetokError(f"the output must be the name of a file, not {output!r}")
    return Path(output)


def checked_dtype(dtype: Any, vocab_size: int) -> np.dtype[Any]:
    """
    >>> checked_dtype(None, 32_000), checked_dtype(None, 100_000)
    (dtype('uint16'), dtype('uint32'))
    """
    smallest = np.dtype(np.uint16 if vocab_size <= 1 << 16 else np.uint32)
    try:
        kind = smallest if dtype is None else np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (smallest, np.dtype(np.uint32)):
        raise TreetokError(f"ids below {vocab_size} are written as {smallest} or uint32, not {dtype}")
    return kind


def target_of(output: Path, files: Sequence[Path] = ()) -> Path:
    """Where links lead; raises TreetokError if that is no regular file, or one of the files to read."""
    try:
        if output.exists() and not output.is_file():
            raise TreetokError(f"cannot write {output}: it is not a regular file")
        for path in files:
            if output.exists() and path.exists() and output.samefile(path):
                raise TreetokError(f"cannot write {output}: it is one of the files to read")
        return output.resolve()
    # A RuntimeError is a loop of links.
    except (OSError, ValueError, RuntimeError) as error:
        raise TreetokError(f"cannot write {str(output)!r}: {error}") from None


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
        for texts in together(read_texts(path, text_column, report), ENCODED_AT_ONCE):
            ids, offsets = encoder.encode_flat(texts, threads)
            yield ids if end_id is None else np.insert(ids, offsets[1:].astype(np.int64), np.uint32(end_id))
    else:
        for line, block in blocks_of_words(read_blocks(path, report), ENCODED_AT_ONCE):
            try:
                yield encoder.encode_utf8(block, threads)
            except UnicodeDecodeError:
                # Raises an error that names the file and the line.
                decode(block, path, line)
                raise
        yield end


def ids_in_memory(encoder: Any, path: Path, end_id: int | None, text_column: str, threads: int) -> Array:
    """All ids of a file in one array; `end_id` ends every document."""
    if has_rows(path):
        pieces = ids_of_file(encoder, path, end_id, text_column, threads, lambda position: None)
        return np.concatenate([np.zeros(0, dtype=np.uint32), *pieces])
    compression = compression_of(path)
    try:
        with opened(path) as raw, decompress(raw, compression, path) as stream:
            size = 0 if compression else os.fstat(raw.fileno()).st_size
            ids: Array = encoder.encode_stream(stream, threads, size)
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    return ids if end_id is None else np.append(ids, np.uint32(end_id))


def not_utf8(path: Path) -> TreetokError:
    """The error that names the line at fault. It is found by reading again, which cannot be done with a pipe."""
    try:
        for line, block in blocks_of_words(read_blocks(path), ENCODED_AT_ONCE):
            decode(block, path, line)
    except TreetokError as error:
        return error
    return TreetokError(f"{path} is not UTF-8")


# What a text takes beside its characters, so that empty ones are no endless group.
BESIDE_TEXT = 64


def together(texts: Iterable[str], at_once: int) -> Iterator[list[str]]:
    """Texts in groups of bounded size."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text) + BESIDE_TEXT
        if size >= at_once:
            yield group
            group, size = [], 0
    if group:
        yield group


@contextlib.contextmanager
def written_beside(output: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces `output` when it is complete."""
    try:
        with replaced_when_complete(output) as file:
            yield file
    except OSError as error:
        raise TreetokError(f"cannot write {output}: {error.strerror or error}") from None

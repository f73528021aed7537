"""Open files to read. Errors name the file, also that it has changed in the meantime."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from treetok.errors import TreetokError


@contextlib.contextmanager
def reading_errors(name: object) -> Iterator[None]:
    """Turn errors of files into errors that name the file."""
    try:
        yield
    except IsADirectoryError:
        raise TreetokError(f"{name} is a directory, not a text file") from None
    except FileNotFoundError:
        raise TreetokError(f"no such file: {name}") from None
    except EOFError as error:
        raise TreetokError(f"{name} is damaged or does not match its file extension: {error}") from None
    except OSError as error:
        raise TreetokError(f"cannot read {name}: {error.strerror or error}") from None


@contextlib.contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """A file to read to its end. What is written meanwhile, as to a log, would be read in part."""
    if "\0" in str(path):
        raise TreetokError(f"no such file: {path}")
    with reading_errors(path), path.open("rb") as file:
        before = os.fstat(file.fileno())
        try:
            yield file
        except Exception:
            # That it changed may be the reason.
            check_unchanged(path, before)
            raise
        check_unchanged(path, before)


def check_unchanged(path: Path, before: os.stat_result) -> None:
    """Raise TreetokError if a regular file is not what it was before."""
    try:
        after = path.stat()
    except FileNotFoundError:
        after = None
    if stat.S_ISREG(before.st_mode) and (after is None or identity_of(after) != identity_of(before)):
        raise TreetokError(f"{path} changed while it was read: read a copy of a file that is still written to")


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

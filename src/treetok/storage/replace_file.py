"""A file that is replaced when the new one is complete.

The new one is written beside it, as `.NAME.MACHINE-RANDOM.unfinished`, and locked meanwhile. A process that is
killed leaves it; the next one that writes a file of the same name removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from treetok.errors import TreetokWarning
from treetok.storage.locks import NoLocks, is_stale, is_still_at, take_lock, this_machine

UNFINISHED = ".unfinished"
# Of file systems that cannot sync a directory, and of directories that we may not open.
NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM, errno.ENOSYS)


@contextlib.contextmanager
def replaced_when_complete(path: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces another one. If anything fails, what was there before stays, and nothing else."""
    remove_abandoned(path.parent, path.name)
    beside = name_beside(path)
    try:
        while (file := new_locked_file(beside)) is None:
            beside = name_beside(path)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()
            # While it is locked: nobody may take it for abandoned.
            beside.replace(path)
        finally:
            # What has been synced cannot be lost now.
            with contextlib.suppress(OSError):
                file.close()
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    try:
        sync_directory(path.parent)
    except OSError as error:
        warnings.warn(
            f"{path} is written, but a power cut may undo it: {error.strerror or error}", TreetokWarning, 4
        )


def name_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{this_machine()}-{os.urandom(8).hex()}{UNFINISHED}")


def new_locked_file(path: Path) -> IO[bytes] | None:
    """None if another process has found the file before it was locked, and is about to remove it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags, 0o666), "wb")
    try:
        if take_lock(file.fileno()) and is_still_at(path, file.fileno()):
            return file
    except NoLocks:
        return file
    except BaseException:
        file.close()
        raise
    file.close()
    path.unlink(missing_ok=True)
    return None


def remove_abandoned(directory: Path, name: str | None = None) -> None:
    """Remove what processes that were killed have left of a file, or of any."""
    of_name = ".+" if name is None else re.escape(name)
    unfinished = re.compile(rf"\.{of_name}\.([0-9a-f]+)(-[0-9a-f]+)?{re.escape(UNFINISHED)}")
    # A directory that cannot be listed can still be written to.
    with contextlib.suppress(OSError):
        for beside in list(directory.iterdir()):
            if found := unfinished.fullmatch(beside.name):
                with contextlib.suppress(OSError):
                    if is_abandoned(beside, found[1]):
                        beside.unlink()


def is_abandoned(path: Path, machine: str) -> bool:
    """Whether the writer of a file is gone: it has no lock or, if that cannot be told, wrote nothing for long."""
    if machine == this_machine():
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            return take_lock(descriptor)
        except NoLocks:
            pass
        finally:
            os.close(descriptor)
    return is_stale(path)


def sync_directory(directory: Path) -> None:
    """Have the names in a directory written to disk: after a power cut, files still have the names they got."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise

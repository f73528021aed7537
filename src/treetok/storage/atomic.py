"""Atomic replacement of a set of files in a directory: all of them or none, whenever the program is killed.

One of the files is the head: it lists the others, and stands for the set. While a set is saved, there are

.treetok-lock           locked by the process that saves; others wait
.treetok-writing-*/     the new files, before all are on disk
HEAD.1f3a.../           the files that belong to the head with this SHA-256, before they are moved beside it

The new head replaces the old one when the folder of its files is there, and then they are moved. So the head that
one sees always has all its files: in its folder, or else beside it. A folder of any other name is never read. What
a process that was killed has left is finished or removed by the next one that saves there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import IO

from treetok.errors import TreetokError, TreetokWarning
from treetok.storage.locks import NoLocks, is_stale, is_still_at, release_lock, take_lock, this_machine
from treetok.storage.replace_file import sync_directory

LOCK = ".treetok-lock"
WRITING = ".treetok-writing-"
# Of version 0.1.0.
ARRIVING = ".treetok-arriving"
SECONDS_TO_WAIT = 60
DIGITS = 16


def folder_of(directory: Path, head: str, content: bytes) -> Path:
    """Where the files that belong to a head are, until each has been moved beside it."""
    return directory / f"{head}.{hashlib.sha256(content).hexdigest()[:DIGITS]}"


def folder_of_files(directory: Path, head: str) -> Path:
    """The folder of the head that is there."""
    # Opening a pipe would wait for someone to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(directory / head, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise TreetokError(f"{directory / head} is not a regular file")
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return directory / f"{head}.{digest[:DIGITS]}"


def open_file(directory: Path, head: str, name: str) -> BufferedReader:
    """Open a file that belongs to the head that is there: it is looked for where it comes from first."""
    with contextlib.suppress(FileNotFoundError):
        return (folder_of_files(directory, head) / name).open("rb")
    return (directory / name).open("rb")


def checked_target(directory: str | os.PathLike[str], names: Iterable[str], head: str) -> Path:
    """Check that files can be saved to a directory, and return it as a path. Raises TreetokError if it is a file,
    is not writable, or contains unrelated files with any of these names."""
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory):
        raise TreetokError(f"cannot save to {directory!r}: it is not the name of a directory")
    target = Path(directory)
    if "\0" in str(target):
        raise TreetokError(f"cannot save to {str(target)!r}: a path cannot contain a null character")
    try:
        if target.exists() and not target.is_dir():
            raise TreetokError(f"cannot save to {target}: it is a file, not a directory")
        if target.is_dir() and not (target / head).exists():
            for name in names:
                # Check again: another process may have started saving in the meantime.
                if (target / name).exists() and not (target / head).exists():
                    raise TreetokError(f"cannot save to {target}: it has a file {name} that treetok did not write")
        place = target
        while not place.exists():
            place = place.parent
        if not place.is_dir() or not os.access(place, os.W_OK):
            raise TreetokError(f"cannot save to {target}: {place} is not writable")
    except (OSError, ValueError) as error:
        raise TreetokError(f"cannot save to {str(target)!r}: {error}") from None
    return target


def save_atomically(
    directory: str | os.PathLike[str],
    contents: Mapping[str, bytes],
    head: str,
    obsolete: Iterable[str] = (),
    known: Collection[str] | None = None,
) -> None:
    """Write files to a directory. `head` is the file that lists the others; files named in `obsolete` are removed,
    all other files are left alone. `known`: the names that files of such a set can have; if an earlier save was
    interrupted, others are not its files. None if they can have any name."""
    target = checked_target(directory, list(contents), head)
    try:
        with made_directory(target), only_writer(target) as is_only:
            finish_earlier_saves(target, head, is_only, known)
            put_files(target, contents, head, obsolete)
    except OSError as error:
        raise TreetokError(f"cannot save to {target}: {error.strerror or error}") from None
    except ValueError as error:
        raise TreetokError(f"cannot save to {str(target)!r}: {error}") from None


def finish_saves(directory: Path, head: str) -> None:
    """Finish or remove what processes that were killed have left, without saving anything."""
    try:
        with only_writer(directory) as is_only:
            finish_earlier_saves(directory, head, is_only)
    except OSError as error:
        raise TreetokError(f"cannot save to {directory}: {error.strerror or error}") from None


@contextlib.contextmanager
def made_directory(directory: Path) -> Iterator[None]:
    """A directory that is there. If an error leaves it empty, it is removed again, unless it was there before."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync_directory(folder.parent)
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def only_writer(directory: Path) -> Iterator[bool]:
    """Wait until nobody else saves to a directory. False if the file system has no locks."""
    path = directory / LOCK
    until = time.monotonic() + SECONDS_TO_WAIT
    try:
        while (file := locked_file(path)) is None:
            if time.monotonic() > until:
                raise TreetokError(f"cannot save to {directory}: another process has been saving there for long")
            time.sleep(0.005)
    except NoLocks:
        yield False
        return
    try:
        yield True
    finally:
        # Nothing is written to it: no error matters.
        with contextlib.suppress(OSError):
            # Windows removes no file that is open. Elsewhere, it may be another one as soon as it is not locked.
            if os.name == "nt":
                file.close()
            path.unlink()
        with contextlib.suppress(OSError):
            if not file.closed:
                release_lock(file.fileno())
                file.close()


def locked_file(path: Path) -> IO[bytes] | None:
    """This file, made if there is none, and locked; None if another process has locked it."""
    flags = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, os.O_RDWR | flags, 0o666)
    except PermissionError:
        # One that another user has left. Network file systems want to write.
        descriptor = os.open(path, os.O_RDONLY | flags, 0o666)
    file = os.fdopen(descriptor, "rb")
    try:
        if take_lock(descriptor) and is_still_at(path, descriptor):
            return file
    except NoLocks:
        path.unlink(missing_ok=True)
        file.close()
        raise
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def finish_earlier_saves(target: Path, head: str, is_only: bool, known: Collection[str] | None = None) -> None:
    """Finish or remove what processes that were killed have left. `is_only`: none of them is still alive, unless
    it is on another machine."""
    current = folder_of_files(target, head) if (target / head).exists() else None
    of_head = re.compile(rf"{re.escape(head)}\.[0-9a-f]{{{DIGITS}}}")
    for path in list(target.iterdir()):
        if path.is_symlink():
            # No save makes links: whoever has put it there may want files from elsewhere to be moved.
            continue
        if path == current:
            move_files(path, target, known)
        elif of_head.fullmatch(path.name) or path.name == ARRIVING:
            remove_folder(path)
        elif path.name.startswith(WRITING):
            is_of_this_machine = path.name.startswith(f"{WRITING}{this_machine()}-")
            with contextlib.suppress(FileNotFoundError):
                if (is_only and is_of_this_machine) or is_stale(path):
                    remove_folder(path)


def put_files(target: Path, contents: Mapping[str, bytes], head: str, obsolete: Iterable[str]) -> None:
    writing = target / f"{WRITING}{this_machine()}-{os.urandom(8).hex()}"
    folder = folder_of(target, head, contents[head])
    try:
        writing.mkdir()
        for name, content in contents.items():
            with (writing / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        sync_directory(writing)
        writing.rename(folder)
        sync_directory(target)
        (folder / head).replace(target / head)
    except BaseException:
        remove_folder(writing)
        if (folder / head).exists():
            remove_folder(folder)
        raise
    # From here, the new files are saved, and no error may say that they are not.
    try:
        sync_directory(target)
        move_files(folder, target)
        for name in obsolete:
            with contextlib.suppress(FileNotFoundError):
                (target / name).unlink()
    except OSError as error:
        warnings.warn(
            f"{target} has the new files, but some may still be in {folder.name}, or lost in a power cut: save"
            f" again to be certain ({error.strerror or error})",
            TreetokWarning,
            5,
        )


def move_files(folder: Path, target: Path, known: Collection[str] | None = None) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.is_symlink() and (known is None or path.name in known):
            path.replace(target / path.name)
    remove_folder(folder)


def remove_folder(folder: Path) -> None:
    # Here, since every use of a tokenizer would import it.
    import shutil

    shutil.rmtree(folder, ignore_errors=True)

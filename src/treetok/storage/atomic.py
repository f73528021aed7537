"""Atomic replacement of a set of files in a directory: all of them or none.

The new files are written to a temporary folder inside the directory. Once all of them are on disk, the folder is
renamed to ARRIVING: from then on its files take precedence, whether or not they have been moved yet. Until then
the old files are untouched, so an error, a full disk or a crash leaves one complete set or the other.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from treetok.errors import TreetokError

ARRIVING = ".treetok-arriving"
SECONDS_UNTIL_STALE = 3600
TRIES = 50


def find_file(directory: Path, name: str) -> Path:
    """The path of the current version of a file."""
    arriving = directory / ARRIVING / name
    return arriving if arriving.exists() else directory / name


def has_file(directory: Path, name: str) -> bool:
    """Whether a file exists, even while it is being moved: its origin is checked before its destination."""
    return (directory / ARRIVING / name).exists() or (directory / name).exists()


def finish_arrival(directory: Path, head: str) -> None:
    """Move a complete set of files into the directory, `head` last; also finishes an interrupted move."""
    arriving = directory / ARRIVING
    if not arriving.is_dir():
        return
    # Another process may be doing the same: skip what it has already moved.
    with contextlib.suppress(FileNotFoundError):
        for name in sorted((path.name for path in arriving.iterdir()), key=lambda name: (name == head, name)):
            with contextlib.suppress(FileNotFoundError):
                (arriving / name).replace(directory / name)
    # Not empty if another process has just put its own files there; it will move them.
    with contextlib.suppress(OSError):
        arriving.rmdir()


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
        if target.is_dir() and not has_file(target, head):
            for name in names:
                # Check again: another process may have started saving in the meantime.
                if (target / name).exists() and not has_file(target, head):
                    raise TreetokError(f"cannot save to {target}: it has a file {name} that treetok did not write")
        place = target
        while not place.exists():
            place = place.parent
        if not place.is_dir() or not os.access(place, os.W_OK):
            raise TreetokError(f"cannot save to {target}: {place} is not writable")
    except (OSError, ValueError) as error:
        raise TreetokError(f"cannot save to {str(target)!r}: {error}") from None
    return target


def remove_stale_folders(directory: Path) -> None:
    """Remove temporary folders of saves that were killed long ago."""
    for folder in directory.glob(".treetok-writing-*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > SECONDS_UNTIL_STALE:
                shutil.rmtree(folder, ignore_errors=True)


def save_atomically(
    directory: str | os.PathLike[str], contents: Mapping[str, bytes], head: str, obsolete: Iterable[str] = ()
) -> None:
    """Write files to a directory. `head` is the file that lists the others; files named in `obsolete` are removed,
    all other files are left alone."""
    target = checked_target(directory, list(contents), head)
    try:
        with made_directory(target):
            put_files(target, contents, head, obsolete)
    except OSError as error:
        raise TreetokError(f"cannot save to {target}: {error.strerror or error}") from None
    except ValueError as error:
        raise TreetokError(f"cannot save to {str(target)!r}: {error}") from None


@contextlib.contextmanager
def made_directory(directory: Path) -> Iterator[None]:
    """A directory that is there. If an error leaves it empty, it is removed again, unless it was there before."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def put_files(target: Path, contents: Mapping[str, bytes], head: str, obsolete: Iterable[str]) -> None:
    finish_arrival(target, head)
    remove_stale_folders(target)
    # Here, since it takes a few milliseconds to import.
    import tempfile

    writing = Path(tempfile.mkdtemp(prefix=".treetok-writing-", dir=target))
    try:
        for name, content in contents.items():
            with (writing / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for tries_left in range(TRIES, -1, -1):
            try:
                writing.rename(target / ARRIVING)
                break
            except OSError as error:
                # Another process is saving here: finish its save, then try again.
                if not tries_left or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                finish_arrival(target, head)
    except BaseException:
        shutil.rmtree(writing, ignore_errors=True)
        raise
    finish_arrival(target, head)
    for name in obsolete:
        with contextlib.suppress(FileNotFoundError):
            (target / name).unlink()

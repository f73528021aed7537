"""Files that belong together, replaced in a directory all at once or not at all.

The new files are written into a folder beside the old ones. When all of them are on the disk, the folder gets the
name ARRIVING: from that moment its files count as the directory's own, whether they have been moved yet or not.
Until then the old files are untouched, so that an error, a full disk or a crash leaves one whole set or the other.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from treetok.errors import TreetokError

ARRIVING = ".treetok-arriving"
SECONDS_UNTIL_DEAD = 3600
TRIES = 50


def find_file(directory: Path, name: str) -> Path:
    """Where the current version of a file stands."""
    arriving = directory / ARRIVING / name
    return arriving if arriving.exists() else directory / name


def has_file(directory: Path, name: str) -> bool:
    """Whether a file is there, also while it is being moved: looked for first where it comes from."""
    return (directory / ARRIVING / name).exists() or (directory / name).exists()


def finish_arrival(directory: Path, head: str) -> None:
    """Move the files of a complete set into the directory, `head` last; also a set whose move was interrupted."""
    arriving = directory / ARRIVING
    if not arriving.is_dir():
        return
    # Another process may be doing the same: what it has moved already needs no moving.
    with contextlib.suppress(FileNotFoundError):
        for name in sorted((path.name for path in arriving.iterdir()), key=lambda name: (name == head, name)):
            with contextlib.suppress(FileNotFoundError):
                (arriving / name).replace(directory / name)
    # Not empty: another process has just put its own files there, and will move them.
    with contextlib.suppress(OSError):
        arriving.rmdir()


def checked_target(directory: str | os.PathLike[str], names: Iterable[str], head: str) -> Path:
    """The directory as a path, if files may be put there: refused are files, places that cannot be written to,
    and directories with files of these names that are somebody else's."""
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory):
        raise TreetokError(f"cannot save to {directory!r}: it is not the name of a directory")
    target = Path(directory)
    if "\0" in str(target):
        raise TreetokError(f"cannot save to {str(target)!r}: no name has such a character")
    try:
        if target.exists() and not target.is_dir():
            raise TreetokError(f"cannot save to {target}: it is a file, not a directory")
        if target.is_dir() and not has_file(target, head):
            for name in names:
                # Looked for once more: another process may have begun to save in the meantime.
                if (target / name).exists() and not has_file(target, head):
                    raise TreetokError(f"cannot save to {target}: it has a file {name} that is not ours")
        place = target
        while not place.exists():
            place = place.parent
        if not place.is_dir() or not os.access(place, os.W_OK):
            raise TreetokError(f"cannot save to {target}: {place} cannot be written to")
    except (OSError, ValueError) as error:
        raise TreetokError(f"cannot save to {str(target)!r}: {error}") from None
    return target


def remove_what_was_left(directory: Path) -> None:
    """Remove folders of saves that were killed long ago."""
    for folder in directory.glob(".treetok-writing-*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > SECONDS_UNTIL_DEAD:
                shutil.rmtree(folder, ignore_errors=True)


def save_atomically(
    directory: str | os.PathLike[str], contents: Mapping[str, bytes], head: str, obsolete: Iterable[str] = ()
) -> None:
    """Put files into a directory. `head` names the file that says which others there are; files named in
    `obsolete` are removed, all others are left alone."""
    target = checked_target(directory, list(contents), head)
    try:
        target.mkdir(parents=True, exist_ok=True)
        finish_arrival(target, head)
        remove_what_was_left(target)
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
                    # Another process is just saving here: its files first, then ours.
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
    except OSError as error:
        raise TreetokError(f"cannot save to {target}: {error.strerror or error}") from None
    except ValueError as error:
        raise TreetokError(f"cannot save to {str(target)!r}: {error}") from None

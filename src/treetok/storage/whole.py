"""Files that belong together, replaced in a directory all at once or not at all.

The new files are written into a folder beside the old ones. When all of them are on the disk, the folder gets the
name ARRIVING: from that moment its files count as the directory's own, whether they have been moved yet or not.
Until then the old files are untouched, so that an error, a full disk or a crash leaves one whole set or the other.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from treetok.errors import TreetokError

ARRIVING = ".treetok-arriving"


def find_file(directory: Path, name: str) -> Path:
    """Where the current version of a file stands."""
    arriving = directory / ARRIVING / name
    return arriving if arriving.exists() else directory / name


def finish_arrival(directory: Path, head: str) -> None:
    """Move the files of a complete set into the directory, `head` last; also a set whose move was interrupted."""
    arriving = directory / ARRIVING
    if not arriving.is_dir():
        return
    for name in sorted((path.name for path in arriving.iterdir()), key=lambda name: (name == head, name)):
        (arriving / name).replace(directory / name)
    arriving.rmdir()


def write_whole(
    directory: str | os.PathLike[str], contents: Mapping[str, bytes], head: str, obsolete: Iterable[str] = ()
) -> None:
    """Put files into a directory. `head` names the file that says which others there are; files named in
    `obsolete` are removed, all others are left alone."""
    target = Path(directory)
    try:
        if target.exists() and not target.is_dir():
            raise TreetokError(f"cannot save to {target}: it is a file, not a directory")
        target.mkdir(parents=True, exist_ok=True)
        finish_arrival(target, head)
        writing = Path(tempfile.mkdtemp(prefix=".treetok-writing-", dir=target))
        try:
            for name, content in contents.items():
                with (writing / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            writing.rename(target / ARRIVING)
        except BaseException:
            shutil.rmtree(writing, ignore_errors=True)
            raise
        finish_arrival(target, head)
        for name in obsolete:
            with contextlib.suppress(FileNotFoundError):
                (target / name).unlink()
    except OSError as error:
        raise TreetokError(f"cannot save to {target}: {error.strerror or error}") from None

"""Open the files of a tokenizer, which may come from strangers: regular files of the directory, and nothing else.

A link may lead to a file beside it, or to one that the cache of the Hugging Face Hub keeps for the same
repository: models--*/snapshots/REVISION/FILE is a link to models--*/blobs/DIGEST. Any other link could make the
content of a file from elsewhere a part of what is saved or shown.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treetok.errors import TreetokError

SNAPSHOTS, BLOBS = "snapshots", "blobs"
HUB_REPOSITORIES = ("models--", "datasets--", "spaces--")
# Not all systems have all of them. Without NONBLOCK, opening a pipe waits for someone to write to it.
OPEN_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))


def shipped_directory() -> Path:
    # They are mapped into memory, so they are never in an archive, as importlib.resources would allow.
    return Path(__file__).parent.parent / "shipped"


def is_shipped(directory: Path) -> bool:
    return directory.resolve().parent == shipped_directory().resolve()


def read_file(path: Path, directory: Path, most: int) -> bytes:
    """The content of a small file in a directory."""
    with opened(path, directory) as (descriptor, size):
        if size <= most:
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(most + 1)
        # It may have grown meanwhile.
        if size > most or len(content) > most:
            raise TreetokError(f"{path} is damaged: it is larger than {most} bytes")
        return content


def map_file(path: Path, directory: Path, expected: object) -> memoryview:
    """A file in memory, if it has the expected size: what is never used takes no memory, and processes share the
    rest. Windows would not let a mapped file be replaced, so it is read there."""
    try:
        with opened(path, directory) as (descriptor, size):
            if size != expected:
                raise TreetokError(f"{path} is damaged: it has {size} bytes instead of {expected!r}")
            if not size:
                return memoryview(b"")
            if os.name == "nt":
                with open(descriptor, "rb", closefd=False) as file:
                    return memoryview(file.read(size))
            return memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ))
    except FileNotFoundError:
        raise TreetokError(f"{path} is missing") from None
    except (OSError, ValueError) as error:
        raise TreetokError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def opened(path: Path, directory: Path) -> Iterator[tuple[int, int]]:
    """The descriptor and the size of a file in a directory."""
    real = real_path(path, directory)
    # A look before it is opened, which is enough to make some devices do something; and one at what was opened.
    if not stat.S_ISREG(real.lstat().st_mode):
        raise TreetokError(f"{path} is damaged: it is not a regular file")
    descriptor = os.open(real, OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise TreetokError(f"{path} is damaged: it is not a regular file")
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def real_path(path: Path, directory: Path) -> Path:
    """Where a file in a directory is, without links. Raises TreetokError if they lead to where they may not."""
    real = Path(os.path.realpath(path, strict=True))
    here = Path(os.path.realpath(directory, strict=True))
    # Those who install the package may link what is shipped from where they keep all packages. Other files may be
    # in a folder of the directory, too, which may be no link.
    if (
        real.parent == here
        or is_shipped(directory)
        or real.parent in (here / path.parent.relative_to(directory), hub_blobs(here))
    ):
        return real
    raise TreetokError(
        f"{path} is damaged: it is a link to a file outside of its directory; put a copy of that file there"
    )


def hub_blobs(here: Path) -> Path | None:
    """Where the files are whose links are in this directory, if it is one of the cache of the Hugging Face Hub.

    >>> hub_blobs(Path("/cache/models--me--english/snapshots/0a1b")).as_posix()
    '/cache/models--me--english/blobs'
    """
    for folder in here.parents:
        if folder.name == SNAPSHOTS and folder.parent.name.startswith(HUB_REPOSITORIES):
            return folder.parent / BLOBS
    return None

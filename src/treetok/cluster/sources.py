"""The files behind paths, folders, patterns and object-store URLs."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import daft
from daft.exceptions import DaftCoreException

from treetok.errors import TreetokError

# Folders are listed without what writers of data leave behind in them, as _SUCCESS and .crc files.
HIDDEN = (".", "_")


@dataclass(frozen=True)
class Source:
    """A file: its absolute path or its URL, and its size in bytes."""

    name: str
    size: int


def is_url(name: str) -> bool:
    return "://" in name


def list_sources(inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Source]:
    """All files that are meant, in the order of the inputs; those of a folder or pattern sorted by name."""
    listed = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    sources = [source for item in listed for source in expand(os.fspath(item))]
    if not sources:
        raise TreetokError("there is nothing to read: give files, folders, patterns or URLs")
    return sources


def expand(given: str) -> Iterator[Source]:
    given = given.removeprefix("file://")
    if is_url(given):
        found = expand_url(given)
    elif Path(given).is_dir():
        found = list(files_below(Path(given)))
    elif Path(given).exists() or not glob.has_magic(given):
        found = [local_source(Path(given))]
    else:
        matches = map(Path, glob.iglob(given, recursive=True))  # noqa: PTH207 (it may be absolute)
        found = [local_source(path) for path in sorted(matches) if path.is_file()]
    if not found:
        raise TreetokError(f"nothing to read at {given}")
    yield from found


def local_source(path: Path) -> Source:
    if not path.exists():
        raise TreetokError(f"no such file: {path}")
    if not path.is_file():
        raise TreetokError(f"{path} is not a regular file, and cannot be read in parts")
    return Source(str(path.absolute()), path.stat().st_size)


def files_below(folder: Path) -> Iterator[Source]:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(HIDDEN) for part in below):
            yield local_source(path)


def expand_url(url: str) -> list[Source]:
    """A URL that names no file itself is a folder."""
    found = matches_of(url)
    if glob.has_magic(url.partition("?")[0]) or [source.name for source in found] == [url]:
        return found
    folder = url.rstrip("/") + "/"
    return [
        source
        for source in matches_of(folder + "**")
        if not any(part.startswith(HIDDEN) for part in source.name.removeprefix(folder).split("/"))
    ]


def matches_of(url: str) -> list[Source]:
    try:
        rows: dict[str, list[Any]] = daft.from_glob_path(url).to_pydict()
    except DaftCoreException as error:
        # What Daft 0.7 says when nothing matches.
        if "at least 1 MicroPartition" in str(error):
            return []
        raise TreetokError(f"cannot list {url}: {str(error).partition(chr(10))[0]}") from None
    except OSError as error:
        raise TreetokError(f"cannot list {url}: {error}") from None
    return [Source(path, size or 0) for path, size in sorted(zip(rows["path"], rows["size"], strict=True))]

"""Files that are there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

from treetok.storage.replace_file import replaced_when_complete


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file; folders are made. If that fails, the old one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replaced_when_complete(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        # A full disk does not say which file it had no room for.
        raise OSError(error.errno, error.strerror, str(path)) from None

"""Files that are there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place, and put it there once it is complete; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        if isinstance(content, str):
            beside.write_text(content, encoding="utf-8")
        else:
            beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        # A full disk does not say which file it had no room for.
        raise OSError(error.errno, error.strerror, str(path)) from None

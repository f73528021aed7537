"""The lines of a text as a plain file, which processes read without what they do not measure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treetok.corpus.reading import read_texts
from treetok.errors import TreetokError


def write_lines(source: Path, target: Path, megabytes: float) -> tuple[int, float]:
    """Write the lines of a text that are not blank, up to a size; returns their number and their size. No line
    break at the end: every line is a text."""
    left = round(megabytes * 1e6)
    kept = []
    for line in lines_of(source):
        size = len(line.encode()) + 1
        if size > left:
            break
        if line.strip():
            kept.append(line)
            left -= size
    if not kept:
        raise TreetokError(f"{source} has no line of up to {megabytes:g} MB")
    content = "\n".join(kept).encode()
    target.write_bytes(content)
    return len(kept), len(content) / 1e6


def lines_of(source: Path) -> Iterator[str]:
    rest = ""
    for piece in read_texts(source):
        *lines, rest = (rest + piece).split("\n")
        yield from lines
    yield rest

"""Text as documents, and as parts of documents in random order.

A blank line ends a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from treetok.evaluate.texts import lines_of

# About as much as a model sees at once. Parts of different documents stand beside each other in a batch.
BYTES_PER_PART = 4096


def documents(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each document; blank ones are left out.

    >>> list(documents(["a", "b", " ", "", "c"]))
    [['a', 'b'], ['c']]
    """
    document: list[str] = []
    for line in lines:
        if line.strip():
            document.append(line)
        elif document:
            yield document
            document = []
    if document:
        yield document


def parts(document: Sequence[str], size: int = BYTES_PER_PART) -> Iterator[str]:
    """The document cut between lines, after about `size` bytes each time. A long line stays whole.

    >>> list(parts(["one", "two", "three"], size=6))
    ['one\\ntwo\\n', 'three\\n']
    """
    part, length = "", 0
    for line in document:
        part += line + "\n"
        length += len(line.encode()) + 1
        if length >= size:
            yield part
            part, length = "", 0
    if part:
        yield part


def documents_of(path: Path) -> list[str]:
    """The documents of a file, each as one string."""
    return ["".join(parts(document, size=1 << 62)) for document in documents(lines_of(path))]


def training_parts(paths: Sequence[Path], most_bytes: int) -> list[str]:
    """Parts of all documents of some files in random order, the same each time, up to a number of bytes."""
    found = [part for path in paths for document in documents(lines_of(path)) for part in parts(document)]
    order = np.random.default_rng(0).permutation(len(found)).tolist()
    return first_bytes((found[number] for number in order), most_bytes)


def first_bytes(texts: Iterable[str], most: int) -> list[str]:
    """The first texts, up to the one with which they have so many bytes.

    >>> first_bytes(["one", "two", "six"], 4)
    ['one', 'two']
    """
    taken, room = [], most
    for text in texts:
        if room <= 0:
            break
        taken.append(text)
        room -= len(text.encode())
    return taken


def hash_of(texts: Iterable[str]) -> str:
    """What identifies texts, or words, in their order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]

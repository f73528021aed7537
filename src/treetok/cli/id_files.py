"""Reading the files of ids that `treetok encode -o` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from treetok import TreetokError
from treetok.corpus.opening import opened
from treetok.encode_files import checked_dtype
from treetok.errors import shown

IDS_AT_ONCE = 1 << 16
# As many as the largest number of 64 bits has.
MOST_DIGITS = 20


def has_numbers(name: str) -> bool:
    """Whether a file has ids as numbers, by its name: .npy or .bin."""
    return Path(name).suffix.lower() in (".npy", ".bin")


def id_of(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise TreetokError(f"a number of {len(digits)} digits is not the id of a token")
    return int(digits)


def read_ids(name: str, dtype: str | None, vocab_size: int) -> Iterator[list[int]]:
    """The ids of a file in parts; memory does not grow with the file. It is not mapped into memory: the process
    would end if somebody made it shorter.

    dtype: of a .bin file; None is what `treetok encode` chooses.
    """
    path = Path(name)
    with opened(path) as file:
        if path.suffix.lower() == ".npy":
            kind, expected = read_head(file, path)
        else:
            kind, expected = checked_dtype(dtype, vocab_size).newbyteorder("<"), None
        read = 0
        while block := file.read(IDS_AT_ONCE * kind.itemsize):
            read += len(block)
            if len(block) % kind.itemsize:
                raise TreetokError(f"{path} has {read} bytes, which are no whole {kind.name} numbers: see --dtype")
            yield np.frombuffer(block, dtype=kind).tolist()
        if expected is not None and read != expected * kind.itemsize:
            raise TreetokError(f"{path} has {read // kind.itemsize} ids, not {shown(expected)}, as its head says")


def read_head(file: BinaryIO, path: Path) -> tuple[np.dtype[Any], int]:
    """The type and number of the ids in a .npy file. Not by numpy.load, which also reads other formats, and whose
    errors recommend unsafe options."""
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, kind = read(file)
    except Exception as error:
        # The head is an expression of Python, so reading it can fail in many ways.
        reason = str(error).partition("\n")[0]
        raise TreetokError(f"{path} is not a .npy file of ids: {reason}") from None
    if len(shape) != 1 or kind.kind not in "iu":
        raise TreetokError(
            f"{path} is not a .npy file of ids: it has values of type {kind} and shape {shown(shape)}"
        )
    return kind, shape[0]

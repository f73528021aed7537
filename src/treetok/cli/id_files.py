"""Reading the files of ids that `treetok encode -o` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok import TreetokError
from treetok.encode_files import checked_dtype

IDS_AT_ONCE = 1 << 16


def has_numbers(name: str) -> bool:
    """Whether a file has ids as numbers, by its name: .npy or .bin."""
    return Path(name).suffix.lower() in (".npy", ".bin")


def read_ids(name: str, dtype: str | None, vocab_size: int) -> Iterator[list[int]]:
    """The ids of a file in parts; memory does not grow with the file.

    dtype: of a .bin file; None is what `treetok encode` chooses.
    """
    path = Path(name)
    try:
        # Not numpy.load, which also reads other formats, and whose errors recommend unsafe options.
        is_array = path.suffix.lower() == ".npy"
        ids = np.lib.format.open_memmap(path, mode="r") if is_array else plain_ids(path, dtype, vocab_size)
    except FileNotFoundError:
        raise TreetokError(f"no such file: {path}") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise TreetokError(f"{path} is not a .npy file of ids: {error}") from None
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TreetokError(f"{path} is not a .npy file of ids: it has {ids.dtype} numbers of shape {ids.shape}")
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield ids[start : start + IDS_AT_ONCE].tolist()


def plain_ids(path: Path, dtype: str | None, vocab_size: int) -> npt.NDArray[Any]:
    kind = checked_dtype(dtype, vocab_size).newbyteorder("<")
    size = path.stat().st_size
    if size % kind.itemsize:
        raise TreetokError(f"{path} has {size} bytes, which are no whole {kind.name} numbers: see --dtype")
    # Empty files cannot be mapped into memory.
    return np.memmap(path, dtype=kind, mode="r") if size else np.zeros(0, dtype=kind)

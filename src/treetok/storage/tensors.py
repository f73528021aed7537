"""Read the arrays of a safetensors file where they lie in memory. The library copies each of them, which takes
more time and memory than everything else about loading a tokenizer.

The format: the length of the header in 8 bytes, the header as JSON (for each array its type, its shape, and where
it begins and ends behind the header), the arrays.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

TYPES = {
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "BOOL": "?",
}
SIZE_BYTES = 8
METADATA = "__metadata__"


def read_tensors(content: memoryview) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, by name, without copying them. Raises ValueError if it is not such a file.

    >>> import safetensors.numpy
    >>> read_tensors(memoryview(safetensors.numpy.save({"one": np.array([1, 2], np.uint8)})))
    {'one': array([1, 2], dtype=uint8)}
    """
    start = SIZE_BYTES + int.from_bytes(content[:SIZE_BYTES], "little")
    if len(content) < SIZE_BYTES or start > len(content):
        raise ValueError("its header is longer than the file")
    try:
        header = json.loads(str(content[SIZE_BYTES:start], "utf-8"))
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return {name: array_of(name, entry, content[start:]) for name, entry in header.items() if name != METADATA}


def array_of(name: str, entry: Any, content: memoryview) -> npt.NDArray[Any]:
    try:
        kind, shape = np.dtype(TYPES[entry["dtype"]]), entry["shape"]
        begin, end = entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"the array {name!r} has no known type, shape and place") from None
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
        raise ValueError(f"the sizes of the array {name!r} are not whole numbers")
    if not begin <= end <= len(content) or end - begin != kind.itemsize * math.prod(shape):
        raise ValueError(f"the array {name!r} does not lie in the file, or has another size than its shape")
    array = np.frombuffer(content[begin:end], dtype=kind)
    if not array.flags.aligned:
        # Larger numbers are read from addresses that are multiples of their size. Headers may have any length.
        array = array.copy()
    return array.reshape(shape)

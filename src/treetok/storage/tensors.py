"""Read the arrays of a safetensors file where they lie in memory. The library copies each of them, which takes
more time and memory than everything else about loading a tokenizer.

The format: the length of the header in 8 bytes, the header as JSON (for each array its type, its shape, and where
it begins and ends behind the header), the arrays. The header is read before the file's checksum is known, so its
limits are those of our files: a parser of 64 layers has 790 arrays and a header of 90 kB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.storage.strict_json import parse_json

TYPES = {
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "BOOL": "?",
}
SIZE_BYTES = 8
LONGEST_HEADER = 1 << 18
MOST_ARRAYS = 1024
MOST_DIMENSIONS = 2
METADATA = "__metadata__"


def read_tensors(content: memoryview) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, by name, without copying them. Raises ValueError if it is not such a file.

    >>> import safetensors.numpy
    >>> read_tensors(memoryview(safetensors.numpy.save({"one": np.array([1, 2], np.uint8)})))
    {'one': array([1, 2], dtype=uint8)}
    """
    length = int.from_bytes(content[:SIZE_BYTES], "little")
    start = SIZE_BYTES + length
    if len(content) < SIZE_BYTES or start > len(content):
        raise ValueError("its header is longer than the file")
    if length > LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes, more than {LONGEST_HEADER}")
    try:
        header = parse_json(content[SIZE_BYTES:start])
    except ValueError as error:
        raise ValueError(f"its header is damaged: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError(f"its {METADATA} does not map names to strings")
    if len(header) > MOST_ARRAYS:
        raise ValueError(f"it has {len(header)} arrays, more than {MOST_ARRAYS}")
    data = content[start:]
    arrays = {name: array_of(name, entry, data, len(content)) for name, entry in header.items()}
    check_places([entry["data_offsets"] for entry in header.values()], len(data))
    return arrays


def array_of(name: str, entry: Any, data: memoryview, most: int) -> npt.NDArray[Any]:
    try:
        kind, shape = np.dtype(TYPES[entry["dtype"]]), entry["shape"]
        begin, end = entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"the array {name!r} has no known type, shape and place") from None
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"the array {name!r} has no shape of at most {MOST_DIMENSIONS} dimensions")
    # A bool is an int to Python.
    if not all(type(n) is int and 0 <= n <= most for n in (*shape, begin, end)):
        raise ValueError(f"the sizes of the array {name!r} are not whole numbers up to that of the file, {most}")
    items = 1
    for n in shape:
        items *= n
    if not begin <= end <= len(data) or end - begin != kind.itemsize * items:
        raise ValueError(f"the array {name!r} does not lie in the file, or has another size than its shape")
    array = np.frombuffer(data[begin:end], dtype=kind)
    if not array.flags.aligned:
        # Larger numbers are read from addresses that are multiples of their size. Headers may have any length.
        array = array.copy()
    return array.reshape(shape)


def check_places(places: list[list[int]], size: int) -> None:
    """Raise ValueError unless the arrays follow each other and fill the file."""
    at = 0
    for begin, end in sorted(places):
        if begin != at:
            raise ValueError("its arrays overlap, or there is something between them")
        at = end
    if at != size:
        raise ValueError("there is something behind its arrays")

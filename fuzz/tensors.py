"""Any bytes as a file of tensors: the first byte chooses the file, the rest is its content."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import atheris
import atheris_target

with atheris_target.imports():
    import treetok.storage.load
    import treetok.tokenizer
    from treetok import TreetokError
    from treetok.storage.tensors import read_tensors

from json_changes import changed_json
from small_models import Folders, load_and_use

assert treetok
FOLDERS = Folders()
FILES = [
    (name, file.name) for name in FOLDERS.names for file in sorted(FOLDERS.original(name).glob("*.safetensors"))
]
# The length of the header comes first.
SIZE_BYTES = 8
ITEM_BYTES = {"BOOL": 1, **{f"{kind}{8 * size}": size for kind in "IUF" for size in (1, 2, 4, 8)}}
WORDS = [*ITEM_BYTES, "BF16", "U4", "dtype", "shape", "data_offsets", "__metadata__", "text", "lengths", "depths"]
WORDS += ["hashes", "counts", "heads", "characters", "morphemes", "last_norm.weight", "letter"]


def try_one(data: bytes) -> None:
    name, file = FILES[data[0] % len(FILES)] if data else FILES[0]
    content = data[1:]
    check_arrays(content)
    with FOLDERS.with_file(name, file, content) as folder:
        load_and_use(folder)


def check_arrays(content: bytes) -> None:
    """What is read is what the header says, and lies in the file."""
    try:
        arrays = read_tensors(memoryview(content))
    except (ValueError, TypeError, KeyError, TreetokError):
        # Which `read_arrays` turns into TreetokErrors.
        return
    start = SIZE_BYTES + int.from_bytes(content[:SIZE_BYTES], "little")
    header = json.loads(content[SIZE_BYTES:start])
    header.pop("__metadata__", None)
    assert arrays.keys() == header.keys()
    at = 0
    for begin, end in sorted(entry["data_offsets"] for entry in header.values()):
        assert begin >= at, "arrays overlap"
        at = end
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        size = ITEM_BYTES[entry["dtype"]] * math.prod(entry["shape"])
        assert 0 <= begin <= end <= len(content) - start, f"{name} does not lie in the file"
        assert end - begin == size and list(arrays[name].shape) == entry["shape"], f"{name} has another shape"
        assert arrays[name].tobytes() == content[start + begin : start + end], f"{name} has other bytes"


def change(data: bytes, most: int, seed: int) -> bytes:
    """Changes the header or the numbers, or moves them. Lengths mostly stay right, so that the rest is read."""
    rng = random.Random(seed)
    content = data[1:]
    size = int.from_bytes(content[:SIZE_BYTES], "little")
    header, numbers = content[SIZE_BYTES : SIZE_BYTES + size], content[SIZE_BYTES + size :]
    how = rng.choice(("raw", "header", "header", "offsets", "offsets", "numbers", "numbers", "file"))
    if not data or size > len(content) or how == "raw":
        return bytes(atheris.Mutate(data, most))
    if how == "file":
        return bytes([rng.randrange(len(FILES))]) + content
    if how == "header":
        header = changed_json(header, most, seed, WORDS)
    elif how == "offsets":
        header = with_moved_arrays(header, len(numbers), rng)
    else:
        numbers = changed_numbers(numbers, rng)
    changed = data[:1] + len(header).to_bytes(SIZE_BYTES, "little") + header + numbers
    return changed if len(changed) <= most else data


def with_moved_arrays(header: bytes, size: int, rng: random.Random) -> bytes:
    """Places and shapes that fit each other, but not the file."""
    try:
        tree: Any = json.loads(header)
        entry = tree[rng.choice(sorted(tree))]
        begin, end = entry["data_offsets"]
        by = rng.choice((1, -1, 8, -8, size, size - end, -begin, rng.randint(-size, size)))
        how = rng.choice(("move", "move", "longer", "end"))
        if how == "longer":
            entry["shape"][0] += by
            if not all(type(length) is int for length in entry["shape"]):
                return header
            entry["data_offsets"] = [begin, begin + ITEM_BYTES[entry["dtype"]] * math.prod(entry["shape"])]
        else:
            entry["data_offsets"] = [begin + by * (how == "move"), end + by]
        return json.dumps(tree).encode()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return header


def changed_numbers(numbers: bytes, rng: random.Random) -> bytes:
    changed = bytearray(numbers)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randint(0, max(len(changed) - 1, 0))
        width = rng.choice((0, 1, 2, 8))
        changed[at : at + width] = rng.choice(
            (b"", bytes(width), b"\xff" * width, rng.randbytes(width), changed[:width])
        )
    return bytes(changed)


if __name__ == "__main__":
    atheris_target.run(try_one, change)

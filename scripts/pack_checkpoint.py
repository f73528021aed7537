"""Pack the checkpoint of a model that is being trained into one small file, and unpack it again.

python scripts/pack_checkpoint.py pack DIR/training/member-1 checkpoint.xz
python scripts/pack_checkpoint.py unpack checkpoint.xz DIR/training/member-1

Numbers are rounded: parameters to 15 bits behind the first (an error of 2^-16), first moments to 7, second
moments to 4 (3 % of a second moment, so 1.5 % of a step). What continues from it has the losses of what was not
packed, to five digits. Bytes of equal weight are stored together, which compresses signs and exponents.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from treetok.model.training.checkpoint import HEAD, MOMENTS, PARAMETERS

# Bits of the mantissa that are kept, of the 23 that there are.
KEPT_BITS = {PARAMETERS: 15, MOMENTS["exp_avg"]: 7, MOMENTS["exp_avg_sq"]: 4}
MANTISSA_BITS = 23
Words = npt.NDArray[np.uint32]


def rounded(values: npt.NDArray[np.float32], bits: int) -> Words:
    """The bits of numbers that are rounded to the nearest with so many bits, ties to even."""
    dropped = MANTISSA_BITS - bits
    whole = values.astype("<f4").view("<u4")
    half = ((whole >> dropped) & 1) + (1 << (dropped - 1)) - 1
    return ((whole + half) >> dropped << dropped).astype("<u4")


def pack(directory: Path, file: Path) -> None:
    parts, names = [(directory / HEAD).read_bytes()], {}
    for name, bits in KEPT_BITS.items():
        tensors = safetensors.numpy.load((directory / name).read_bytes())
        names[name] = [[key, list(tensor.shape)] for key, tensor in tensors.items()]
        whole = rounded(np.concatenate([tensor.ravel() for tensor in tensors.values()]), bits)
        mantissa = whole >> (MANTISSA_BITS - bits) & ((1 << bits) - 1)
        parts.append(np.packbits((whole >> 31).astype(np.uint8)).tobytes())
        parts.append((whole >> MANTISSA_BITS & 255).astype(np.uint8).tobytes())
        parts += [(mantissa >> shift & 255).astype(np.uint8).tobytes() for shift in range(0, bits, 8)]
    packed = [lzma.compress(part, preset=9) for part in (json.dumps({"names": names}).encode(), *parts)]
    file.write_bytes(b"".join(len(part).to_bytes(4, "little") + part for part in packed))


def unpack(file: Path, directory: Path) -> None:
    content, parts = memoryview(file.read_bytes()), []
    while content:
        size = int.from_bytes(content[:4], "little")
        parts.append(lzma.decompress(content[4 : 4 + size]))
        content = content[4 + size :]
    names: dict[str, Any] = json.loads(parts[0])["names"]
    head = json.loads(parts[1])
    left = iter(parts[2:])
    directory.mkdir(parents=True, exist_ok=True)
    for name, bits in KEPT_BITS.items():
        signs, exponents = next(left), np.frombuffer(next(left), np.uint8).astype("<u4")
        whole = np.unpackbits(np.frombuffer(signs, np.uint8), count=len(exponents)).astype("<u4") << 31
        whole |= exponents << MANTISSA_BITS
        for shift in range(0, bits, 8):
            mantissa = np.frombuffer(next(left), np.uint8).astype("<u4") << shift
            whole |= mantissa << (MANTISSA_BITS - bits)
        values, tensors, at = whole.view("<f4"), {}, 0
        for key, shape in names[name]:
            size = int(np.prod(shape))
            tensors[key] = values[at : at + size].reshape(shape)
            at += size
        saved = safetensors.numpy.save(tensors)
        (directory / name).write_bytes(saved)
        head["sha256"][name] = hashlib.sha256(saved).hexdigest()
    (directory / HEAD).write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pack", "unpack"])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    (pack if options.what == "pack" else unpack)(options.source, options.target)


if __name__ == "__main__":
    main()

"""Any vocab.tsv: the first byte chooses the tokenizer, and whether the lines that it needs come first."""

from __future__ import annotations

import random

import atheris
import atheris_target

with atheris_target.imports():
    import treetok.storage.load
    import treetok.tokenizer

from small_models import Folders, load_and_use

assert treetok
FOLDERS = Folders()
VOCABULARY = "vocab.tsv"
TOKENS = [
    *(
        b"\\x80",
        b"\\xc0",
        b"\\x7f",
        b"\\join",
        b"\\cap",
        b"\\upper",
        b"\\u0009",
        b"\\ud800",
        b"\\U0001f600",
        b"\\\\",
    ),
    *(
        b" walk",
        b" walking",
        b"ing",
        b"a",
        b"[UNK]",
        b"<join>",
        " stra\u00dfe".encode(),
        "\u0130".encode(),
        b"\xff",
    ),
]
COUNTS = [b"0", b"5", b"-1", b"9" * 18, b"9" * 19, b"0" * 18, b"1152921504606846975", "\u0663".encode()]
PIECES = [*TOKENS, *COUNTS, b"\t", b"\n", b"\r\n", b"\0", b"\t1\n"]


def try_one(data: bytes) -> None:
    how = data[0] if data else 0
    name = FOLDERS.names[how % len(FOLDERS.names)]
    content = data[1:]
    if how & 0x80:
        content = (FOLDERS.original(name) / VOCABULARY).read_bytes() + content
    with FOLDERS.with_file(name, VOCABULARY, content) as folder:
        load_and_use(folder)


def change(data: bytes, most: int, seed: int) -> bytes:
    rng = random.Random(seed)
    if not data or rng.random() < 0.2:
        return bytes(atheris.Mutate(data, most))
    lines = data[1:].split(b"\n")
    at = rng.randrange(len(lines))
    how = rng.choice(("piece", "line", "repeat", "delete", "swap", "tokenizer"))
    if how == "piece":
        place = rng.randint(0, len(lines[at]))
        lines[at] = lines[at][:place] + rng.choice(PIECES) + lines[at][place + rng.randint(0, 2) :]
    elif how == "line":
        lines.insert(at, rng.choice(TOKENS) + rng.choice(TOKENS) + b"\t" + str(rng.randint(0, 1 << 40)).encode())
    elif how == "repeat":
        lines.insert(rng.randint(0, len(lines)), lines[at])
    elif how == "delete":
        del lines[at]
    elif how == "swap":
        lines[at], lines[0] = lines[0], lines[at]
    else:
        data = bytes([rng.randrange(256)]) + data[1:]
    return (data[:1] + b"\n".join(lines))[:most]


if __name__ == "__main__":
    atheris_target.run(try_one, change)

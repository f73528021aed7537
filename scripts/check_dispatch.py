"""Check that the core gives what plain Python gives with the instructions of every processor that it has code for:
this one, x86-64 without AVX2 (in qemu), aarch64 (in qemu), and none in particular. Parsers are tried with each set
of instructions that there is.

python scripts/check_dispatch.py [--texts 2000] [--seed N] [--model MODEL]...

Debian: apt-get install g++ g++-aarch64-linux-gnu qemu-user
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from check_texts import ROOT, generated, models_of
from treetok import TreeTokenizer
from treetok.native import PROFILE_NUMBERS, SWITCH
from treetok.native_encoder import BYTE, FIRST_MARKER, tokens_of
from treetok.reference_encoder import ReferenceEncoder
from treetok.segment import COST_PER_TOKEN
from treetok.sources import CountTrees, ParserTrees
from treetok.token_table import UNKNOWN

# As in CMakeLists.txt.
ARITHMETIC = ["-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"]
FLAGS = ["-std=c++17", "-O3", "-Wall", "-Wextra", *ARITHMETIC, "-static"]
# What compiles, with which options, and what runs it.
VARIANTS = {
    "this processor": ("g++", [], []),
    "x86-64 without AVX2": ("g++", [], ["qemu-x86_64", "-cpu", "Nehalem"]),
    "any processor": ("g++", ["-DTREETOK_PLAIN"], []),
    "aarch64": ("aarch64-linux-gnu-g++", [], ["qemu-aarch64"]),
}


def array(values: Any, kind: str) -> bytes:
    """The bytes of an array behind their number."""
    content = np.ascontiguousarray(values, dtype=kind).tobytes()
    return len(content).to_bytes(8, "little") + content


def strings(texts: Sequence[str]) -> bytes:
    """Strings by characters."""
    return array(list(map(len, texts)), "<u8") + array(
        np.frombuffer("".join(texts).encode("utf-32-le"), "<u4"), "<u4"
    )


def byte_strings(texts: Sequence[bytes]) -> bytes:
    return array(list(map(len, texts)), "<u8") + array(np.frombuffer(b"".join(texts), "u1"), "u1")


def written(tokenizer: TreeTokenizer, texts: Sequence[str], words: Sequence[str]) -> bytes:
    """All that the core needs, and what it is to encode, as check_dispatch.cpp reads it."""
    state, source = tokenizer.state, tokenizer.state.source
    names, kinds, costs = tokens_of(state)
    parts = [
        array(
            [
                PROFILE_NUMBERS[state.profile, state.profile_version],
                COST_PER_TOKEN if state.fewest_tokens else 0,
                state.special_tokens.get(UNKNOWN, 0),
                isinstance(source, ParserTrees),
                source.heads if isinstance(source, ParserTrees) else 0,
            ],
            "<i8",
        ),
        byte_strings([bytes_of(*token) for token in zip(names, kinds, costs, strict=True)]),
        array(kinds, "u1"),
        array(costs, "<i8"),
        *(array(values, "u1") for values in (state.lexicon.utf8, state.lexicon.lengths, state.lexicon.depths)),
    ]
    if isinstance(source, ParserTrees):
        parts += [strings(["".join(source.characters)]), strings(source.morphemes)]
        parts.append(byte_strings([name.encode() for name in source.weights]))
        for weights in source.weights.values():
            rows, columns = (*weights.shape, 1)[:2]
            parts.append(array([weights.dtype == np.int8, rows, columns], "<i8"))
            parts.append(array(weights, weights.dtype.newbyteorder("<").str))
    else:
        assert isinstance(source, CountTrees)
        parts += [array(source.hashes, "<u8"), array(source.counts, "<u8")]
    return b"".join([*parts, byte_strings([text.encode() for text in texts]), strings(words)])


def bytes_of(name: str, kind: int, cost: int) -> bytes:
    return bytes([cost]) if kind == BYTE else b"" if kind >= FIRST_MARKER else name.encode()


def lines_of_ids(tokenizer: TreeTokenizer, texts: Sequence[str]) -> list[str]:
    encoded = ReferenceEncoder(tokenizer.state).encode_batch(texts, 1)
    return ["".join(f"{number} " for number in ids) for ids in encoded]


def lines_of_scores(tokenizer: TreeTokenizer, words: Sequence[str]) -> list[str]:
    if not words:
        return []
    scores = tokenizer.state.source.split_scores(words)
    return [
        "".join(f"{bits:08x} " for bits in np.asarray(of_word, "<f4").view("<u4").tolist()) for of_word in scores
    ]


def build(variants: Iterable[str], folder: Path) -> dict[str, list[str]]:
    """The command of each variant."""
    tables = folder / "unicode_tables.h"
    subprocess.run([sys.executable, str(ROOT / "native" / "unicode_tables.py"), str(tables)], check=True)
    built: dict[tuple[str, ...], Path] = {}
    commands = {}
    for variant in variants:
        compiler, options, runner = VARIANTS[variant]
        key = (compiler, *options)
        if key not in built:
            built[key] = folder / f"driver-{len(built)}"
            source = ROOT / "scripts" / "check_dispatch.cpp"
            includes = [f"-I{ROOT / 'native'}", f"-I{folder}"]
            subprocess.run([*key, *FLAGS, *includes, str(source), "-o", str(built[key]), "-pthread"], check=True)
        commands[variant] = [*runner, str(built[key])]
    return commands


def check(
    commands: dict[str, list[str]], name: str, tokenizer: TreeTokenizer, texts: list[str], file: Path
) -> None:
    words = []
    if isinstance(tokenizer.state.source, ParserTrees):
        letters = {
            tokenizer.state.text_profile.letters(word)
            for text in texts
            for word in tokenizer.state.text_profile.split(text)
        }
        words = sorted(word for word in letters if 2 <= len(word) <= 64)[::4]
    texts = [*texts, "".join(texts), " ".join(texts)]
    file.write_bytes(written(tokenizer, texts, words))
    os.environ[SWITCH] = "0"
    ids, scores = lines_of_ids(tokenizer, texts), lines_of_scores(tokenizer, words)
    del os.environ[SWITCH]
    for variant, command in commands.items():
        done = subprocess.run([*command, str(file)], capture_output=True, text=True)
        instructions = done.stderr.split()
        if done.returncode or (scores and not instructions):
            sys.exit(f"{name}, {variant}: status {done.returncode}: {done.stderr}")
        found = done.stdout.split("\n")[:-1]
        expected = [*ids, *ids, *scores * len(instructions)]
        inputs = [*texts, *texts, *words * len(instructions)]
        for text, one, other in zip(inputs, found, expected, strict=True):
            if one != other:
                sys.exit(f"{name}, {variant}: {text!r}\n{one}\n{other} in plain Python")
        with_parser = f", {len(words)} words parsed with {', '.join(instructions)}" if instructions else ""
        print(f"{name}, {variant}: {len(texts)} texts as in plain Python{with_parser}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--seed", type=int, help="default: a new one")
    parser.add_argument("--model", action="append", dest="models")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbelow(1 << 31)
    print(f"seed {seed}", flush=True)
    texts = generated(random.Random(seed), options.texts)
    with tempfile.TemporaryDirectory() as folder:
        commands = build(VARIANTS, Path(folder))
        for name, tokenizer in models_of(options.models or ["small", "en", "en-uncased"]).items():
            check(commands, name, tokenizer, texts, Path(folder, "tokenizer"))


if __name__ == "__main__":
    main()

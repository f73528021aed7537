"""What the class for transformers costs beside `encode_batch`, on 1,000 lines of text.

python benchmarks/hf.py [--model en] [--rounds 30] [--lines 1000] TEXT...

`encode_batch` leaves the garbage collection that its lists cause to the next allocation, which in `tok(lines)` is
still inside of the call; the second row is `encode_batch` with that.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

import torch

from treetok import TreeTokenizer
from treetok.hf import TreeTokTokenizer


def fastest(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT")
    parser.add_argument("--model", default="en")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--lines", type=int, default=1000)
    options = parser.parse_args()
    lines = [line for path in options.texts for line in path.read_text(encoding="utf-8").split("\n") if line]
    lines = list(islice(cycle(lines), options.lines))
    plain = TreeTokenizer.load(options.model)
    tok = TreeTokTokenizer(plain)
    padded = tok(lines, padding=True)

    def encode_and_collect() -> object:
        return plain.encode_batch(lines), [[] for _ in range(2)]

    def tensors_of_lists() -> object:
        return {name: torch.tensor(rows) for name, rows in padded.items()}

    work: dict[str, Callable[[], object]] = {
        "encode_batch": lambda: plain.encode_batch(lines),
        "encode_batch, and one allocation": encode_and_collect,
        "tok(lines, return_attention_mask=False)": lambda: tok(lines, return_attention_mask=False),
        "tok(lines)": lambda: tok(lines),
        'tok(lines, padding=True, return_tensors="pt")': lambda: tok(lines, padding=True, return_tensors="pt"),
        "torch.tensor of the same padded lists": tensors_of_lists,
        "tok(lines, return_offsets_mapping=True)": lambda: tok(lines, return_offsets_mapping=True),
    }
    seconds = {name: fastest(one, options.rounds) for name, one in work.items()}
    characters = sum(map(len, lines))
    print(f"{options.model}: {len(lines)} lines, {characters} characters, fastest of {options.rounds} rounds\n")
    print("| | ms | times encode_batch |\n|---|---:|---:|")
    for name, value in seconds.items():
        print(f"| `{name}` | {value * 1000:.2f} | {value / seconds['encode_batch']:.2f} |")


if __name__ == "__main__":
    main()

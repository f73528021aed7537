"""How fast each way to encode is: lists, arrays, offsets, sampled segmentations.

python benchmarks/ways_to_encode.py [FILE...] [--model en]

Each way encodes the lines of the files (default: sample_text), repeated up to 2 MB, after all words have been seen
once. The time is that of the processor in one thread, the best of five runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from treetok import TreeTokenizer

SAMPLE = sorted((Path(__file__).resolve().parent.parent / "sample_text").glob("*.txt"))
RUNS, BYTES = 5, 2_000_000


def seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=SAMPLE)
    parser.add_argument("--model", default="en")
    options = parser.parse_args()
    tokenizer = TreeTokenizer.load(options.model)
    lines = [line for path in options.files for line in path.read_text(encoding="utf-8").splitlines()]
    size = sum(len(line.encode()) for line in lines)
    lines *= max(1, BYTES // size)
    size = sum(len(line.encode()) for line in lines)
    tokenizer.encode_batch(lines)
    ways: dict[str, Callable[[], object]] = {
        "encode_flat": lambda: tokenizer.encode_flat(lines),
        "encode_batch": lambda: tokenizer.encode_batch(lines),
        "encode_flat_with_offsets": lambda: tokenizer.encode_flat_with_offsets(lines),
        "encode_batch_with_offsets": lambda: tokenizer.encode_batch_with_offsets(lines),
        "encode_batch, dropout 0.1": lambda: tokenizer.encode_batch(lines, dropout=0.1, seed=0),
        "encode_batch, dropout 0.5": lambda: tokenizer.encode_batch(lines, dropout=0.5, seed=0),
    }
    for name, work in ways.items():
        print(f"{name:<26} {size / seconds(work) / 1e6:8.1f} MB/s")


if __name__ == "__main__":
    main()

"""Check that one tokenizer gives the same results in 64 threads for a minute, and in worker processes that are
forked and spawned while these threads run, and tell how fast these start. The tests do the same for a moment.

python scripts/check_concurrency.py [--model en] [--seconds 60]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import threading
import time
from pathlib import Path
from typing import Any

from treetok import TreeTokenizer
from treetok.hf import TreeTokTokenizer

TEXTS = [
    line
    for path in sorted((Path(__file__).parent.parent / "sample_text").glob("*.txt"))
    for line in path.read_text(encoding="utf-8").split("\n")
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding": True, "return_tensors": "np"},
    {"truncation": True, "max_length": 16, "stride": 4, "return_overflowing_tokens": True},
    {"padding": "max_length", "truncation": True, "max_length": 32, "padding_side": "left"},
    {"return_offsets_mapping": True, "threads": 2},
]
THREADS, WORKERS, CALLS = 64, 4, 50


def results(tok: TreeTokTokenizer, number: int) -> dict[str, Any]:
    texts = TEXTS[number * 5 % 300 :][:20]
    encoded = tok(texts, **OPTIONS[number % len(OPTIONS)])
    columns = {name: column if isinstance(column, list) else column.tolist() for name, column in encoded.items()}
    return columns | {"text": tok.batch_decode(columns["input_ids"]), "plain": tok.treetok.encode_batch(texts)}


def work_in_threads(
    tok: TreeTokTokenizer, expected: list[dict[str, Any]], until: float, counts: list[int]
) -> None:
    number = 0
    while time.time() < until:
        if results(tok, number % CALLS) != expected[number % CALLS]:
            counts.append(-1)
            return
        number += 1
    counts.append(number)


def work_in_process(tok: TreeTokTokenizer, expected: list[dict[str, Any]], queue: Any) -> None:
    queue.put([number for number in range(CALLS) if results(tok, number) != expected[number]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    tok = TreeTokTokenizer(TreeTokenizer.load(options.model))
    expected = [results(tok, number) for number in range(CALLS)]

    counts: list[int] = []
    until = time.time() + options.seconds
    arguments = (tok, expected, until, counts)
    threads = [threading.Thread(target=work_in_threads, args=arguments) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    is_right = check_processes(tok, expected, "with the threads")
    for thread in threads:
        thread.join()
    is_right &= len(counts) == THREADS and min(counts) > 0
    print(
        f"{THREADS} threads, {options.seconds:.0f} s: {sum(counts)} calls, {'all equal' if is_right else 'WRONG'}"
    )
    is_right &= check_processes(tok, expected, "alone")
    sys.exit(0 if is_right else 1)


def check_processes(tok: TreeTokTokenizer, expected: list[dict[str, Any]], when: str) -> bool:
    wrong = []
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        start = time.perf_counter()
        processes = [context.Process(target=work_in_process, args=(tok, expected, queue)) for _ in range(WORKERS)]
        for process in processes:
            process.start()
        wrong += [number for _ in processes for number in queue.get(timeout=300)]
        for process in processes:
            process.join()
        print(f"{WORKERS} processes by {method}, {when}: {time.perf_counter() - start:.1f} s, {len(wrong)} wrong")
    return not wrong


if __name__ == "__main__":
    main()

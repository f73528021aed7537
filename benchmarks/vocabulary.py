"""Time and memory of vocabulary construction, for real words and for more synthetic ones.

    python benchmarks/vocabulary.py CORPUS [--types 250000] [--size 30000] [--vocab compact]

Each case runs in a process of its own, on one core; memory is the peak of that process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treetok.corpus.counting import count_words
from treetok.sources import CountTrees, scores_of_words
from treetok.text import profile_named
from treetok.vocabulary import DEFAULT_METHOD, METHODS, SharedNodes, build_vocabulary


def corpus_words(path: str, types: int) -> dict[str, int]:
    """The most frequent words of a corpus, uncased."""
    counts = count_words(Path(path), profile_named("uncased")).counts()
    if len(counts) < types:
        sys.exit(f"{path} has only {len(counts)} types")
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:types])


def synthetic_words(types: int) -> dict[str, int]:
    """Words of stems and endings, with counts that fall like one over the rank."""
    rng = random.Random(0)
    syllables = [c + v + e for c in "bdfghklmnprstvw" for v in "aeiou" for e in ("", "n", "r", "s", "t", "l")]
    stems = ["".join(rng.choices(syllables, k=rng.randint(1, 2))) for _ in range(types // 5)]
    endings = ["", "s", "ed", "ing", "er", "ers", "ness", "able", "ly", "ation", "ations", "ment"]
    words: dict[str, int] = {}
    while len(words) < types:
        word = rng.choice(stems) + (rng.choice(stems) if rng.random() < 0.1 else "") + rng.choice(endings)
        words.setdefault(word, types // (len(words) + 1) + 1)
    return words


class RandomTrees:
    """Trees that differ from word to word, so that few nodes are shared: the hard case."""

    def split_scores(self, words: Any) -> list[list[float]]:
        rng = random.Random(0)
        return [[rng.random() for _ in word[1:]] for word in words]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def run_case(case: str, corpus: str, types: int, size: int, method: str) -> dict[str, Any]:
    words = synthetic_words(types) if case.startswith("synthetic") else corpus_words(corpus, types)
    source, seconds_ngrams = timed(
        lambda: RandomTrees() if case.endswith("random") else CountTrees.from_words(words)
    )
    scores, seconds_trees = timed(lambda: scores_of_words(source, list(words)))
    nodes, seconds_nodes = timed(lambda: SharedNodes((word, scores[word], count) for word, count in words.items()))
    vocabulary, seconds_vocabulary = timed(lambda: build_vocabulary(nodes, size, method=method))
    assert len(vocabulary) == size
    return {
        "case": case,
        "types": types,
        "letters a word": round(sum(map(len, words)) / types, 1),
        "distinct nodes": len(nodes),
        "trees, s": round(seconds_ngrams + seconds_trees, 2),
        "vocabulary, s": round(seconds_nodes + seconds_vocabulary, 2),
        "peak, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--types", type=int, default=250_000)
    parser.add_argument("--size", type=int, default=30_000)
    parser.add_argument("--vocab", default=DEFAULT_METHOD, choices=METHODS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(options.case, options.corpus, options.types, options.size, options.vocab)))
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    for case, types in [
        ("corpus, trees from counts", options.types),
        ("corpus, trees at random", options.types),
        ("synthetic, trees from counts", 4 * options.types),
        ("synthetic, trees at random", 4 * options.types),
    ]:
        command = [sys.executable, __file__, options.corpus, "--case", case]
        command += ["--types", str(types), "--size", str(options.size), "--vocab", options.vocab]
        if hasattr(os, "sched_setaffinity"):
            pin = lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # noqa: E731
        else:
            pin = None
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, preexec_fn=pin
        )
        print(result.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()

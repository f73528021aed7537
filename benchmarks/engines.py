"""Throughput and memory of counting and encoding: the plain path, Daft's native runner, and a Ray cluster.

python benchmarks/engines.py CORPUS... [--model en] [--workers 2] [--engines plain,native,ray]

A corpus is a file, or a folder of files. All engines must give the same counts and ids, or the benchmark fails.
Seconds are wall time from the first file to the last, with starting workers, but not with starting the cluster.
Processor time is that of all processes from start to end, the cluster's own included; it is the figure to compare
where other programs are running. Memory is the most that all processes had together at one time, shared memory
counted once (PSS).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from treetok import TreeTokenizer
from treetok.cli.script_errors import run
from treetok.corpus.counting import count_words
from treetok.corpus.reading import read_blocks
from treetok.evaluate.report import aligned
from treetok.progress import Progress
from treetok.text import profile_named

TASKS = ("count", "encode")
SECONDS_BETWEEN_SAMPLES = 0.2
MOST_BYTES = 10**9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engines", default="plain,native,ray")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(options.case, options.corpora[0], options.model, options.workers)))
        return
    rows = [["corpus", "task", "engine", "s", "MB/s", "times as fast", "processor s", "peak memory, MB"]]
    for corpus in options.corpora:
        size = sum(len(block) for path in files_of(corpus) for block in read_blocks(path))
        for task in TASKS:
            results = {}
            for engine in options.engines.split(","):
                result = results[engine] = measure(f"{task} {engine}", corpus, options)
                if result["sha256"] != next(iter(results.values()))["sha256"]:
                    raise SystemExit(f"{corpus}: {engine} gives another result than {next(iter(results))}")
                seconds, first = result["seconds"], next(iter(results.values()))["seconds"]
                rows.append(
                    [
                        corpus.name,
                        task,
                        engine,
                        f"{seconds:.1f}",
                        f"{size / seconds / 1e6:.1f}",
                        f"{first / seconds:.2f}",
                        f"{result['processor']:.1f}",
                        f"{result['peak'] / 1e6:.0f}",
                    ]
                )
                print(*rows[-1], file=sys.stderr)
    print(aligned(rows))


def files_of(corpus: Path) -> list[Path]:
    return sorted(corpus.iterdir()) if corpus.is_dir() else [corpus]


def measure(case: str, corpus: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run one case in a process of its own, and watch its memory and that of its children."""
    command = [sys.executable, __file__, str(corpus), "--case", case, "--model", options.model]
    process = subprocess.Popen(
        [*command, "--workers", str(options.workers)], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    )
    peak = 0
    ticks: dict[int, int] = {}
    while process.poll() is None:
        peak = max(peak, watch(process.pid, ticks))
        time.sleep(SECONDS_BETWEEN_SAMPLES)
    assert process.stdout is not None
    output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{case}: failed with status {process.returncode}")
    return {
        **json.loads(output.splitlines()[-1]),
        "peak": peak,
        "processor": sum(ticks.values()) / os.sysconf("SC_CLK_TCK"),
    }


def watch(root: int, ticks: dict[int, int]) -> int:
    """The memory of a process and all processes below it now. Their processor time goes to `ticks`."""
    children: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(stat.parent.name)
        children.setdefault(int(fields[1]), []).append(process)
        times[process] = int(fields[11]) + int(fields[12])
    total, left = 0, [root]
    while left:
        process = left.pop()
        left += children.get(process, [])
        ticks[process] = times.get(process, 0)
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
            total += 1024 * int(rollup.partition("\nPss:")[2].split()[0])
        except (OSError, IndexError):
            continue
    return total


def run_case(case: str, corpus: Path, model: str, workers: int) -> dict[str, Any]:
    task, engine = case.split()
    options: dict[str, Any] = {"runner": engine}
    if engine == "ray":
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "object_store_memory": 100 << 20}
        cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        for _ in range(workers - 1):
            cluster.add_node(**node)
        options["ray_address"] = cluster.address
    elif engine == "native":
        options["threads"] = workers
    with tempfile.TemporaryDirectory() as folder:
        count_or_encode = count if task == "count" else encode
        seconds, sha256 = count_or_encode(engine, files_of(corpus), model, Path(folder), options)
    return {"seconds": seconds, "sha256": sha256}


def count(engine: str, files: list[Path], model: str, folder: Path, options: dict[str, Any]) -> tuple[float, str]:
    profile = profile_named(TreeTokenizer.load(model).profile)
    start = time.perf_counter()
    if engine == "plain":
        counts = count_words(files, profile).counts()
    else:
        from treetok.cluster import DaftCorpus

        corpus = DaftCorpus(files, folder / "counts", **options)
        start = time.perf_counter()
        counts = corpus.count(profile, "text", MOST_BYTES, Progress(None)).counts
    seconds = time.perf_counter() - start
    return seconds, hashlib.sha256(json.dumps(counts).encode()).hexdigest()


def encode(engine: str, files: list[Path], model: str, folder: Path, options: dict[str, Any]) -> tuple[float, str]:
    tokenizer = TreeTokenizer.load(model)
    if engine == "plain":
        start = time.perf_counter()
        tokenizer.encode_files(files, folder / "ids.bin", dtype="uint32", progress=False)
        seconds = time.perf_counter() - start
        return seconds, hashlib.sha256(np.memmap(folder / "ids.bin", dtype="<u4", mode="r")).hexdigest()
    import pyarrow.parquet

    from treetok.cluster import encode_to_parquet
    from treetok.cluster.engine import choose_engine

    choose_engine(**options)
    start = time.perf_counter()
    encode_to_parquet(tokenizer, files, folder / "ids", dtype="uint32", progress=False, **options)
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    # The rows of a file are in order, and so are the parts of a source by their names.
    tables = [pyarrow.parquet.read_table(path) for path in sorted((folder / "ids").glob("*.parquet"))]
    for table in sorted(tables, key=lambda table: table["source"][0].as_py()):
        for chunk in table["ids"].chunks:
            digest.update(chunk.flatten().to_numpy())
    return seconds, digest.hexdigest()


if __name__ == "__main__":
    run(main)

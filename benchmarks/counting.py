"""Time and memory of counting the words of a corpus, beside duckdb, on one core and a process for each.

python benchmarks/counting.py CORPUS [--megabytes 100] [--rounds 3] [--out results/performance/counting.json]

The lines of the text are written to a plain file first: decompression is not measured. duckdb splits them at
spaces, or at whitespace with a regular expression, and groups the words. That is less work than profiles do, which
normalise words and split off punctuation. Seconds are processor time, which other programs hardly change. Rounds
are interleaved; the best and the median are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from encoder_process import ONE_THREAD
from process_memory import peak_bytes
from text_lines import write_lines
from treetok.cli.script_errors import run
from treetok.corpus.counting import count_words
from treetok.evaluate.report import aligned
from treetok.text import PROFILES, profile_named

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
from result_files import save

SPLITS = {
    "string_split": "string_split(line, ' ')",
    "regexp": r"regexp_split_to_array(line, '\s+')",
}


def count_with_treetok(path: Path, profile: str) -> tuple[int, int]:
    counts = count_words(path, profile_named(profile)).counts()
    return sum(counts.values()), len(counts)


def count_with_duckdb(path: Path, split: str) -> tuple[int, int]:
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    # Every line is one column: neither separators nor quotes mean anything.
    database.execute(
        f"""
        create table counts as
        select word, count(*) as times
        from (
            select unnest({SPLITS[split]}) as word
            from read_csv(
                ?, columns = {{'line': 'varchar'}}, header = false, auto_detect = false, quote = '', escape = '',
                delim = '\\0', max_line_size = 100000000
            )
        )
        where word <> ''
        group by word
        """,
        [str(path)],
    )
    words, types = database.execute("select sum(times), count(*) from counts").fetchone()
    return int(words), types


Count = Callable[[Path, str], tuple[int, int]]
CASES: dict[str, tuple[Count, str]] = {f"treetok, {name}": (count_with_treetok, name) for name in PROFILES}
CASES |= {f"duckdb, {name}": (count_with_duckdb, name) for name in SPLITS}


def run_case(case: str, path: Path) -> dict[str, Any]:
    count, how = CASES[case]
    start = time.process_time()
    try:
        words, types = count(path, how)
    except ImportError as error:
        return {"missing": str(error)}
    return {
        "words": words,
        "types": types,
        "seconds": time.process_time() - start,
        "peak": peak_bytes() / 1e9,
    }


def in_own_process(case: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, str(path), "--case", case]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def row_of(case: str, rounds: list[dict[str, Any]], megabytes: float) -> list[str]:
    if "missing" in rounds[0]:
        return [case, *["-"] * 4, f"missing: {rounds[0]['missing']}"]
    rates = [megabytes / figures["seconds"] for figures in rounds]
    peak = max(figures["peak"] for figures in rounds)
    counts = [f"{rounds[0][what]:,}".replace(",", " ") for what in ("words", "types")]
    return [case, *counts, f"{max(rates):.1f}", f"{statistics.median(rates):.1f}", f"{peak:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="JSON, for experiments/write_results.py")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(options.case, options.corpus)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        _, megabytes = write_lines(options.corpus, path, options.megabytes)
        rounds: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
        for _ in range(options.rounds):
            for case in CASES:
                rounds[case].append(in_own_process(case, path))
    heading = [f"{megabytes:.1f} MB, one core", "words", "types", "best, MB/s", "median, MB/s", "peak, GB"]
    grid = [heading, *(row_of(case, figures, megabytes) for case, figures in rounds.items())]
    print(aligned(grid))
    if options.out:
        save(options.out, "Counting words", grid=grid)


if __name__ == "__main__":
    run(main)

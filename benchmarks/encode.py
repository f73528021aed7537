"""Speed of encoding, of the shipped `en` beside other libraries, on one thread each, in one run.

Every library is in a process of its own. In each round every library does every task for a tenth of a second, and
once at least, in an order that is rotated from round to round; a first round, which fills caches, is not counted.
Libraries of BPE share one vocabulary of byte-level BPE, and their ids are compared. Then the first touch: fresh
processes that import a library, load its tokenizer and encode the lines of a text once, in rounds as well.

PYTHONPATH=src python benchmarks/encode.py --text wiki.test.raw --text PART2 --megabytes 10 --train-text PART1 \\
    --first-touch PART2 --cache DIR --out results/performance/encode.json --plot docs/encode-speed.svg

The other libraries: pip install -e '.[bench]'. What is not installed, or cannot load, is listed as missing.
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
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from encode_report import (
    TextFigures,
    calls_grid,
    draw,
    first_touch_grid,
    notes_on,
    ratio_grid,
    speed_grid,
    threads_grid,
)
from encoder_process import EncoderProcess, LibraryError, command, environment
from encoders import LIBRARIES, TASKS
from rival_vocabularies import prepare_vocabularies
from text_lines import write_lines
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.plot import check_matplotlib
from treetok.evaluate.report import aligned

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
from result_files import save

# ---- in rounds, with warm caches


def rotated(names: Sequence[str], by: int) -> list[str]:
    """
    >>> rotated(["a", "b", "c"], 4)
    ['b', 'c', 'a']
    """
    by %= len(names)
    return [*names[by:], *names[:by]]


def compare_ids(processes: dict[str, EncoderProcess], figures: TextFigures) -> None:
    """Before any time is measured: whether libraries with the same BPE do the same."""
    checksums: dict[str, list[int]] = {}
    for name, process in processes.items():
        checked = process.ask(what="check")
        figures.tokens[name], checksums[name] = checked["tokens"], checked["checksums"]
        if checked["differing"]:
            figures.differing[name] = checked["differing"]
    for name in processes:
        if LIBRARIES[name].shared_bpe and name != "hf-bpe" and "hf-bpe" in processes:
            pairs = zip(checksums[name], checksums["hf-bpe"], strict=True)
            figures.other_ids[name] = sum(one != other for one, other in pairs)


def measure_text(processes: dict[str, EncoderProcess], path: Path, figures: TextFigures, rounds: int) -> None:
    tasks = {name: process.ask(what="read", path=str(path))["tasks"] for name, process in processes.items()}
    compare_ids(processes, figures)
    figures.seconds = {name: {task: [] for task in tasks[name]} for name in processes}
    figures.processor_seconds = {name: {task: [] for task in tasks[name]} for name in processes}
    for number in range(rounds + 1):
        for task in (*TASKS, "two threads"):
            for name in rotated(list(processes), number):
                if task not in tasks[name]:
                    continue
                took = processes[name].ask(what="encode", task=task)
                if number:
                    figures.seconds[name][task].append(took["seconds"])
                    figures.processor_seconds[name][task].append(took["CPU seconds"])


def start(libraries: Sequence[str], folder: Path, missing: dict[str, str]) -> dict[str, EncoderProcess]:
    """The libraries that can be loaded and encode a line; the others, and why, go to `missing`."""
    processes = {}
    with tempfile.TemporaryDirectory() as place:
        line = Path(place) / "line"
        line.write_text("A line to try.", encoding="utf-8")
        for name in libraries:
            try:
                process = EncoderProcess(name, folder)
                process.ask(what="read", path=str(line))
                process.ask(what="check")
                processes[name] = process
            except LibraryError as error:
                missing[name] = str(error)
    return processes


# ---- the first touch


def first_touch(library: str, folder: Path, text: Path) -> dict[str, float]:
    """Seconds of a fresh process from its start to its end, and of its parts; bytes of memory."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command(library, folder, "--once", str(text)), env=environment(library), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    answer = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    whole = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise TreetokError(f"{LIBRARIES[library].title} could not encode {text.name} in a fresh process")
    return {**json.loads(answer), "whole seconds": whole, "CPU seconds": used.ru_utime + used.ru_stime}


def measure_first_touch(
    libraries: Sequence[str], folder: Path, text: Path, repeats: int
) -> dict[str, dict[str, float]]:
    """The median of several fresh processes of every library, after one that brings its files into memory."""
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in libraries}
    for number in range(repeats + 1):
        for name in rotated(libraries, number):
            figures = first_touch(name, folder, text)
            if number:
                taken[name].append(figures)
    return {
        name: {what: statistics.median(one[what] for one in of_one) for what in of_one[0]}
        for name, of_one in taken.items()
    }


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--text", action="append", type=Path, required=True, help="text to encode; may be repeated"
    )
    parser.add_argument("--megabytes", type=float, default=10.0, help="of each text (default: 10)")
    parser.add_argument("--train-text", type=Path, required=True, help="text for the vocabularies of the others")
    parser.add_argument("--train-megabytes", type=float, default=20.0, help="of that text (default: 20)")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--cache", type=Path, required=True, help="folder where these vocabularies are kept")
    parser.add_argument("--first-touch", type=Path, help="text for fresh processes (default: the last text)")
    parser.add_argument("--first-touch-megabytes", type=float, default=10.0, help="of that text (default: 10)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes of each library (default: 3)")
    parser.add_argument(
        "--clock", choices=("wall", "processor"), default="wall", help="processor: for a machine with other work"
    )
    parser.add_argument("--only", help=f"libraries, separated by commas (default: {','.join(LIBRARIES)})")
    parser.add_argument("--out", type=Path, required=True, help="JSON, for experiments/write_results.py")
    parser.add_argument("--plot", type=Path, help="SVG")
    options = parser.parse_args()
    options.libraries = options.only.split(",") if options.only else list(LIBRARIES)
    for name in options.libraries:
        if name not in LIBRARIES:
            parser.error(f"there is no library {name!r}; choose from {', '.join(LIBRARIES)}")
    if options.rounds < 1 or options.repeats < 1:
        parser.error("--rounds and --repeats must be at least 1")
    if options.plot:
        check_matplotlib()
    return options


def main() -> None:
    options = read_options()
    missing: dict[str, str] = {}
    texts: list[TextFigures] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        train_text = folder / options.train_text.name
        _, size = write_lines(options.train_text, train_text, options.train_megabytes)
        vocabularies = f"{options.vocab_size} entries, from {size:.1f} MB of {options.train_text.name}"
        prepare_vocabularies(options.cache, train_text, options.vocab_size)

        processes = start(options.libraries, options.cache, missing)
        if not processes:
            raise TreetokError("none of these libraries can be loaded")
        for process in processes.values():
            stack.callback(process.close)
        for number, source in enumerate(options.text):
            path = folder / f"text-{number}"
            figures = TextFigures(source.name, *write_lines(source, path, options.megabytes), options.clock)
            measure_text(processes, path, figures, options.rounds)
            texts.append(figures)

        unseen = options.first_touch or options.text[-1]
        path = folder / "first-touch"
        lines, size = write_lines(unseen, path, options.first_touch_megabytes)
        touched = measure_first_touch(list(processes), options.cache, path, options.repeats)

    tables = []
    for figures in texts:
        what = f"{figures.name}, {figures.megabytes:.1f} MB, {figures.lines} lines"
        how = f"{options.rounds} rounds, {options.clock} time"
        tables.append({"title": f"Warm caches: {what}, {how}", "grid": speed_grid(figures)})
        tables.append({"title": f"Ratios: {figures.name}", "grid": ratio_grid(figures)})
        tables.append({"title": f"Threads: {figures.name}", "grid": threads_grid(figures)})
    what = f"{unseen.name}, {size:.1f} MB, {lines} lines, {options.repeats} processes each"
    tables.append({"title": f"First touch: {what}", "grid": first_touch_grid(touched)})
    tables.append({"title": "How each library is called", "grid": calls_grid(list(processes))})
    tables = [table for table in tables if len(table["grid"]) > 1]
    notes = notes_on(texts, list(processes), missing, vocabularies)
    raw: dict[str, Any] = {"texts": [vars(figures) for figures in texts], "first touch": touched}
    save(options.out, "Speed of encoding", tables=tables, notes=notes, figures=raw)
    for table in tables[:-1]:
        print(f"\n{table['title']}\n\n{aligned(table['grid'])}")
    print("", *(f"{name}: {note}" for name, note in notes.items()), sep="\n")
    if options.plot:
        draw(texts[-1], options.plot)


if __name__ == "__main__":
    run(main)

"""How long it takes until a tokenizer is ready: import of the library, and loading, in fresh processes.

PYTHONPATH=src python benchmarks/load.py [--cache DIR] [--processes 10] [--only treetok,tiktoken] [--out FILE]

Beside TreeTok with its shipped `en`, the libraries of `encode.py` load their vocabularies in --cache, the folder
where it keeps them. Processes take turns; a first round, which brings files into memory, is not counted. Memory is
that of library and tokenizer: what the process has more than before the import.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from encode import first_touch, rotated
from encode_report import processor_name
from encoders import LIBRARIES
from process_options import add_process_options, parsed
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.report import aligned

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
from result_files import save

HEADING = ["milliseconds, best (median)", "import", "load", "one line", "memory, MB"]
TIMES = ("import seconds", "load seconds", "encode seconds")
ALONE = ("treetok", "reference")


def grid_of(taken: dict[str, list[dict[str, float]]]) -> list[list[str]]:
    """
    >>> one = {"import seconds": 0.09, "load seconds": 0.04, "encode seconds": 1e-4, "resident bytes": 4e7}
    >>> grid_of({"treetok": [one, one | {"load seconds": 0.05}]})[1]
    ['treetok `en`', '90.0 (90.0)', '40.0 (45.0)', '0.1 (0.1)', '40']
    """
    grid = [HEADING]
    for name, processes in taken.items():
        times = [[1000 * figures[what] for figures in processes] for what in TIMES]
        cells = [f"{min(of_part):.1f} ({statistics.median(of_part):.1f})" for of_part in times]
        memory = statistics.median(figures["resident bytes"] for figures in processes)
        grid.append([LIBRARIES[name].title, *cells, f"{memory / 1e6:.0f}"])
    return grid


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_process_options(parser, 10)
    parser.add_argument("--only", help="libraries, separated by commas")
    options = parsed(parser)
    known = list(LIBRARIES) if options.cache else list(ALONE)
    options.libraries = known if options.only is None else options.only.split(",")
    for name in options.libraries:
        if name not in known:
            parser.error(f"there is no library {name!r}, or no --cache for it; choose from {', '.join(known)}")
    return options


def main() -> None:
    options = read_options()
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in options.libraries}
    with tempfile.TemporaryDirectory() as folder:
        line = Path(folder) / "line"
        line.write_text("A line to try.", encoding="utf-8")
        for number in range(options.processes + 1):
            for name in rotated(list(taken), number):
                try:
                    figures = first_touch(name, options.cache or Path(folder), line)
                except TreetokError:
                    if number:
                        raise
                    # It is not installed.
                    del taken[name]
                    continue
                if number:
                    taken[name].append(figures)
    if not taken:
        raise TreetokError("none of these libraries can be loaded")
    missing = [LIBRARIES[name].title for name in options.libraries if name not in taken]
    notes = {
        "machine": f"{processor_name()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}",
        "processes": f"{options.processes} of each library, in turn",
        "missing": ", ".join(missing) or "none",
    }
    grid = grid_of(taken)
    print(aligned(grid), *(f"{name}: {note}" for name, note in notes.items()), sep="\n")
    if options.out:
        save(options.out, "Loading", grid=grid, notes=notes, figures=taken)


if __name__ == "__main__":
    run(main)

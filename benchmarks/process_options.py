"""Options of benchmarks that start fresh processes, several of each library."""

from __future__ import annotations

import argparse
from pathlib import Path

from rival_vocabularies import BPE


def add_process_options(parser: argparse.ArgumentParser, processes: int) -> None:
    """processes: the default."""
    parser.add_argument("--cache", type=Path, help="folder with the vocabularies of encode.py")
    parser.add_argument("--processes", type=int, default=processes, help=f"of each library (default: {processes})")
    parser.add_argument("--out", type=Path, help="JSON, for experiments/write_results.py")


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    options = parser.parse_args()
    if options.processes < 1:
        parser.error("--processes must be at least 1")
    if options.cache and not (options.cache / BPE).exists():
        parser.error(f"{options.cache} has no {BPE}: benchmarks/encode.py makes it")
    return options

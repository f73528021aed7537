"""Results as JSON, together with the command that made them, for `write_results.py`."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treetok.evaluate.compare import Comparison
from treetok.evaluate.report import aligned, plain_text
from whole_file import write_whole


def save_comparison(out: Path, title: str, comparison: Comparison) -> None:
    save(out, title, comparison=asdict(comparison))


def report_comparison(out: Path, title: str, comparison: Comparison) -> None:
    """Save a comparison and print its tables."""
    save_comparison(out, title, comparison)
    print(plain_text(comparison))


def report_grid(out: Path, title: str, grid: list[list[str]], notes: dict[str, Any]) -> None:
    """Save a table that is no comparison, and print it."""
    save(out, title, grid=grid, notes=notes)
    print(aligned(grid), *(f"{name}: {note}" for name, note in notes.items()), sep="\n")


def report_tables(out: Path, title: str, tables: list[dict[str, Any]], notes: dict[str, Any]) -> None:
    """Save several tables, each with a title and a grid, and print them."""
    save(out, title, tables=tables, notes=notes)
    for table in tables:
        print(f"{table['title']}\n\n{aligned(table['grid'])}\n")
    print(*(f"{name}: {note}" for name, note in notes.items()), sep="\n")


def save(out: Path, title: str, **result: Any) -> None:
    content = {"title": title, "command": command_line(), **result}
    write_whole(out, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def command_line() -> str:
    """The running command, with paths outside the working directory shortened to file names."""

    def is_elsewhere(part: str) -> bool:
        return Path(part).is_absolute() or ".." in Path(part).parts

    arguments = [Path(part).name if is_elsewhere(part) else part for part in sys.argv[1:]]
    script = Path(sys.argv[0]).resolve()
    return shlex.join(["python", f"{script.parent.name}/{script.name}", *arguments])

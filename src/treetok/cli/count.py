"""`treetok count`: the tokens, words and characters of files."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treetok import TreeTokenizer
from treetok.cli.help import HelpFormatter, add_model, examples
from treetok.control_characters import escape_controls
from treetok.count_files import TextCounts


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "count",
        help="count tokens, words and characters of files",
        description="Print the number of tokens, words (separated by whitespace, as `wc -w` counts them) and"
        " characters of each file, and their sums. Files may be compressed (.gz, .xz, .bz2, .zst), and .jsonl or"
        " .parquet: then the texts of all rows are counted.",
        epilog=examples("treetok count README.md --model en", "treetok count corpus/*.jsonl.gz --model en --json"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files to count; - is standard input")
    add_model(parser)
    parser.add_argument(
        "--text-column", default="text", metavar="NAME", help="of .jsonl and .parquet files (default: text)"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--json", action="store_true", help="print JSON: one object per file, and the total")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model)
    files = [Path("/dev/stdin" if name == "-" else name) for name in options.files]
    counts = tokenizer.count_files(
        files, text_column=options.text_column, threads=options.threads, progress=not options.quiet
    )
    total = sum(counts, start=TextCounts())
    if options.json:
        rows = [{"file": name, **asdict(of_file)} for name, of_file in zip(options.files, counts, strict=True)]
        print(json.dumps({"files": rows, "total": asdict(total)}, ensure_ascii=False, indent=1))
        return
    rows_of_table = [("tokens", "words", "characters", "file")]
    rows_of_table += [row_of(of_file, name) for name, of_file in zip(options.files, counts, strict=True)]
    if len(counts) > 1:
        rows_of_table.append(row_of(total, "total"))
    widths = [max(map(len, column)) for column in list(zip(*rows_of_table, strict=True))[:-1]]
    for *numbers, name in rows_of_table:
        cells = [number.rjust(width) for number, width in zip(numbers, widths, strict=True)]
        print("  ".join([*cells, escape_controls(name)]))


def row_of(counts: TextCounts, name: str) -> tuple[str, str, str, str]:
    return str(counts.tokens), str(counts.words), str(counts.characters), name

"""`treetok info`: what a tokenizer is."""

from __future__ import annotations

import argparse
from typing import Any

from treetok import TreeTokenizer
from treetok.storage import find_directory


def add_command(commands: Any) -> None:
    parser = commands.add_parser("info", help="what a tokenizer is and how it was made")
    parser.add_argument("model", metavar="MODEL", help="a shipped name or a directory")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model)
    directory = find_directory(options.model)
    size = sum(file.stat().st_size for file in directory.iterdir() if file.is_file())
    rows = {
        "directory": directory,
        "size on disk": f"{size / 1e6:.2f} MB",
        "profile": tokenizer.profile,
        "tokens": tokenizer.vocab_size,
        "special tokens": ", ".join(f"{name} = {number}" for name, number in tokenizer.special_tokens.items()),
        "known words": tokenizer.known_words,
        **{name.replace("_", " "): value for name, value in tokenizer.settings.items()},
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")

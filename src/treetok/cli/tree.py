"""`treetok tree`: draw the trees of words."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from treetok import TreeTokenizer, TreetokError
from treetok.cli.help import HelpFormatter, add_model, examples
from treetok.control_characters import escape_controls


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "tree",
        help="draw the trees of words",
        description="Draw the tree of each word, print it in brackets, and show how the word is segmented.",
        epilog=examples(
            "treetok tree windsurfing unhappily --model en", "treetok tree windsurfing --model en --svg tree.svg"
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("words", nargs="+", metavar="WORD", help="a bare word, such as windsurfing")
    add_model(parser)
    parser.add_argument("--svg", metavar="FILE", type=Path, help="also write the tree as SVG (one word only)")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> None:
    if options.svg and len(options.words) > 1:
        options.parser.error("--svg takes exactly one word")
    tokenizer = TreeTokenizer.load(options.model)
    for number, word in enumerate(options.words):
        tree = tokenizer.tree(word)
        if options.svg:
            try:
                options.svg.write_text(tree.svg(), encoding="utf-8")
            except OSError as error:
                raise TreetokError(f"cannot write {options.svg}: {error.strerror or error}") from None
        if number:
            print()
        print(tree)
        print(escape_controls(tree.brackets()))
        print(escape_controls(" + ".join(tokenizer.segment(word))))

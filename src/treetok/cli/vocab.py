"""`treetok vocab`: the vocabulary of a tokenizer, for other tools."""

from __future__ import annotations

import argparse
import json
from typing import Any

from treetok import TreeTokenizer
from treetok.cli.help import HelpFormatter, examples, model_help
from treetok.control_characters import escape_controls


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "vocab",
        help="print the vocabulary as JSON",
        description="Print all tokens and their ids as one JSON object, in the order of ids. Bytes are written"
        " <0x80> to <0xFF>, markers <join>, <cap> and <upper>.",
        epilog=examples("treetok vocab en > vocab.json"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=model_help())
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> None:
    text = json.dumps(TreeTokenizer.load(options.model).get_vocab(), ensure_ascii=False, indent=0)
    # Control characters that JSON leaves as they are, in strings: they are written as it writes others.
    print("\n".join(map(escape_controls, text.split("\n"))))

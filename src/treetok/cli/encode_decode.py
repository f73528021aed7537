"""`treetok encode` and `treetok decode`: one line in, one line out."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from treetok import TreeTokenizer, TreetokError
from treetok.corpus.reading import decode as decode_utf8
from treetok.storage.vocab_tsv import escape_character

SPACE = "␣"
LINES_AT_ONCE = 10_000


def add_commands(commands: Any) -> None:
    encode = commands.add_parser(
        "encode",
        help="encode text as ids or tokens, line by line",
        description="Encode plain UTF-8 text: one line in, one line of ids (or tokens) out. Special tokens in the"
        " input are treated as ordinary text.",
    )
    add_files_and_model(encode)
    output = encode.add_mutually_exclusive_group()
    output.add_argument("--ids", action="store_true", help="print ids (default)")
    output.add_argument("--tokens", action="store_true", help=f"print tokens; {SPACE} marks a space")
    encode.set_defaults(run=run_encode)
    decode = commands.add_parser(
        "decode",
        help="decode ids to text, line by line",
        description="Decode the output of `treetok encode`: one line of ids in, one line of text out.",
    )
    add_files_and_model(decode)
    decode.set_defaults(run=run_decode)


def add_files_and_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="input files (default: standard input)")
    parser.add_argument("--model", required=True, help="name of a shipped tokenizer, or a directory")


def run_encode(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model)
    for lines in together(line for _, _, line in read_lines(options.files)):
        for ids in tokenizer.encode_batch(lines):
            if options.tokens:
                print(" ".join(show_token(tokenizer.id_to_token(token_id)) for token_id in ids))
            else:
                print(" ".join(map(str, ids)))


def together(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lines in groups, since unseen words are parsed faster together; one by one if they are being typed. If a
    line cannot be read, those before it are still encoded."""
    size = 1 if sys.stdin is not None and sys.stdin.isatty() else LINES_AT_ONCE
    group: list[str] = []
    try:
        for line in lines:
            group.append(line)
            if len(group) == size:
                yield group
                group = []
    except TreetokError:
        yield group
        raise
    yield group


def run_decode(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model)
    for name, number, line in read_lines(options.files):
        if not re.fullmatch(r"[0-9\s]*", line, re.ASCII):
            raise TreetokError(f"{name}, line {number}: not a line of ids")
        ids = [int(digits) for digits in line.split()]
        try:
            print(tokenizer.decode(ids))
        except TreetokError as error:
            raise TreetokError(f"{name}, line {number}: {error}") from None


def show_token(token: str) -> str:
    r"""Make spaces and control characters visible.

    >>> show_token(" tree"), show_token("\n")
    ('␣tree', '\\u000a')
    """
    return "".join(map(escape_character, token)).replace(" ", SPACE)


def read_lines(files: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield (file name, line number, text without the line break) for every line."""
    for name in files or ["-"]:
        if name == "-":
            if sys.stdin is None:
                raise TreetokError("standard input is closed")
            yield from lines_of(sys.stdin.buffer, "standard input")
            continue
        try:
            file = Path(name).open("rb")
        except OSError as error:
            raise TreetokError(f"cannot read {name}: {error.strerror or error}") from None
        with file:
            yield from lines_of(file, name)


def lines_of(file: IO[bytes], name: str) -> Iterator[tuple[str, int, str]]:
    for number, line in enumerate(file, start=1):
        yield name, number, decode_utf8(line.removesuffix(b"\n"), name, number)

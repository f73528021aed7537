"""`treetok encode` and `treetok decode`: one line in, one line out; or files in, one file of ids out.

The last line of the output ends with a line feed if and only if that of the input does, so that, with a lossless
tokenizer, `treetok encode | treetok decode` writes exactly the bytes it read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any

import numpy.typing as npt

from treetok import TreeTokenizer, TreetokError
from treetok.arguments import checked_threads
from treetok.cli.engine_options import (
    add_engine_options,
    check_engine_options,
    cluster,
    engine_arguments,
)
from treetok.cli.help import HelpFormatter, add_model, examples
from treetok.cli.id_files import IDS_AT_ONCE, has_numbers, id_of, read_ids
from treetok.corpus import lines as utf8_lines
from treetok.corpus.compression import decompress
from treetok.corpus.opening import opened
from treetok.corpus.reading import compression_of, has_rows, read_texts
from treetok.encode_files import ENCODED_AT_ONCE
from treetok.stop_signal import exit_on_termination
from treetok.storage.vocab_tsv import escape_character

SPACE = "␣"
LINES_AT_ONCE = 10_000
DIGITS = re.compile(r"[0-9]+")
NO_ID = re.compile(r"[^0-9\s]\S{0,20}", re.ASCII)


@dataclass(frozen=True)
class Line:
    """A line of a file, and whether it ends with a line feed; only the last line of a file may have none."""

    file: str
    number: int
    text: str
    is_ended: bool


def add_commands(commands: Any) -> None:
    encode = commands.add_parser(
        "encode",
        help="encode text as ids or tokens, line by line",
        description="Encode UTF-8 text: one line in, one line of ids (or tokens) out, the last without a line feed"
        " if it has none in the input; a line may have 64 MiB. With -o, write all ids to one file instead, for"
        " training language models. Files may be compressed (.gz, .xz, .bz2, .zst), and .jsonl or .parquet: then"
        " each row is a text. Special tokens in the input are treated as ordinary text.",
        epilog=examples(
            "echo 'Windsurfers tricycled.' | treetok encode --model en --tokens",
            "treetok encode notes.txt --model en > notes.ids",
            "treetok encode corpus/*.jsonl.gz --model en -o train.bin --end '<|endoftext|>'",
            "treetok encode s3://bucket/corpus --engine daft --model en -o s3://bucket/ids",
        ),
        formatter_class=HelpFormatter,
    )
    add_files_and_model(encode)
    output = encode.add_mutually_exclusive_group()
    output.add_argument("--ids", action="store_true", help="print ids (default)")
    output.add_argument("--tokens", action="store_true", help=f"print tokens; {SPACE} marks a space")
    output.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write ids to a file: .npy for numpy, any other name (.bin) for plain little-endian numbers, as"
        " numpy.memmap reads them; with --engine daft, to Parquet files in a folder",
    )
    encode.add_argument(
        "--dtype", choices=["uint16", "uint32"], help="with -o (default: uint16 if it can hold all ids)"
    )
    encode.add_argument("--end", metavar="TOKEN", help="with -o: a special token to write after each file or row")
    encode.add_argument(
        "--text-column", default="text", metavar="NAME", help="of .jsonl and .parquet files (default: text)"
    )
    encode.add_argument(
        "--threads", type=int, metavar="N", help="default: 1; with --engine daft, one for each core"
    )
    encode.add_argument(
        "--force",
        action="store_true",
        help="with --engine daft: replace the results of another model, of other settings or inputs",
    )
    add_engine_options(encode)
    encode.set_defaults(run=run_encode, parser=encode)
    decode = commands.add_parser(
        "decode",
        help="decode ids to text",
        description="Decode the output of `treetok encode`: one line of ids in, one line of text out; or the files"
        " of ids that `treetok encode -o` writes (.bin, .npy). With a lossless tokenizer, the text is that which"
        " was encoded, byte for byte.",
        epilog=examples(
            "treetok decode notes.ids --model en", "treetok decode train.bin --model en --skip-special-tokens"
        ),
        formatter_class=HelpFormatter,
    )
    add_files_and_model(decode)
    decode.add_argument(
        "--dtype",
        choices=["uint16", "uint32"],
        help="of the numbers in .bin files (default: uint16 if it can hold all ids)",
    )
    decode.add_argument("--skip-special-tokens", action="store_true", help="leave out special tokens")
    decode.set_defaults(run=run_decode, parser=decode)


def add_files_and_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="input files (default: standard input)")
    add_model(parser)


def run_encode(options: argparse.Namespace) -> None:
    # Before standard input is read.
    checked_threads(options.threads)
    check_engine_options(options)
    if options.force and options.engine is None:
        raise TreetokError("--force is for --engine daft alone")
    tokenizer = TreeTokenizer.load(options.model)
    if options.engine is not None:
        write_parquet(tokenizer, options)
        return
    if options.output is not None:
        write_ids(tokenizer, options)
        return
    if options.dtype or options.end:
        raise TreetokError("--dtype and --end are for files of ids: give -o FILE")

    # Kept, since a line may have millions of them.
    @cache
    def shown(token_id: int) -> str:
        return show_token(tokenizer.id_to_token(token_id)) if options.tokens else str(token_id)

    def encoded(lines: list[Line]) -> Iterator[tuple[Iterator[str], bool]]:
        ids, offsets = tokenizer.encode_flat([line.text for line in lines], threads=options.threads)
        for line, start, end in zip(lines, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            yield joined(ids[start:end], shown), line.is_ended

    groups = together(read_lines(options.files, options.text_column))
    write_lines(line for lines in groups for line in encoded(lines))


def joined(ids: npt.NDArray[Any], shown: Callable[[int], str]) -> Iterator[str]:
    """Ids as they are shown, with spaces between them, in parts."""
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield " " * (start > 0) + " ".join(map(shown, ids[start : start + IDS_AT_ONCE].tolist()))


def write_ids(tokenizer: TreeTokenizer, options: argparse.Namespace) -> None:
    if not options.files or "-" in options.files:
        raise TreetokError("-o needs files to read, not standard input")
    with exit_on_termination():
        count = tokenizer.encode_files(
            [Path(name) for name in options.files],
            options.output,
            dtype=options.dtype,
            end=options.end,
            text_column=options.text_column,
            threads=options.threads,
        )
    print(f"{options.output}: {count} ids", file=sys.stderr)


def write_parquet(tokenizer: TreeTokenizer, options: argparse.Namespace) -> None:
    if options.output is None:
        raise TreetokError("--engine daft writes Parquet files to a folder: give -o FOLDER")
    if not options.files or "-" in options.files:
        raise TreetokError("--engine daft needs files, folders, patterns or URLs to read, not standard input")
    count = cluster().encode_to_parquet(
        tokenizer,
        options.files,
        options.output,
        dtype=options.dtype,
        end=options.end,
        text_column=options.text_column,
        threads=options.threads,
        force=options.force,
        **engine_arguments(options),
    )
    print(f"{options.output}: {count} ids", file=sys.stderr)


def together(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Lines in groups, since unseen words are parsed faster together; one by one if they are being typed. If a
    line cannot be read, those before it are still encoded."""
    most = 1 if sys.stdin is not None and sys.stdin.isatty() else LINES_AT_ONCE
    group: list[Line] = []
    characters = 0
    try:
        for line in lines:
            group.append(line)
            characters += len(line.text)
            if len(group) == most or characters >= ENCODED_AT_ONCE:
                yield group
                group, characters = [], 0
    except TreetokError:
        yield group
        raise
    yield group


def run_decode(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model)
    skip = options.skip_special_tokens
    for are_numbers, names in groupby(options.files or ["-"], has_numbers):
        if not are_numbers:
            write_decoded_lines(tokenizer, list(names), skip)
            continue
        for name in names:
            write_text(tokenizer, name, options.dtype, skip)


def write_text(tokenizer: TreeTokenizer, name: str, dtype: str | None, skip_special_tokens: bool) -> None:
    stream = tokenizer.decode_stream(skip_special_tokens=skip_special_tokens)
    for ids in read_ids(name, dtype, tokenizer.vocab_size):
        try:
            print(stream.extend(ids), end="")
        except TreetokError as error:
            raise TreetokError(f"{name}: {error}; is it of this tokenizer, and --dtype right?") from None
    print(stream.finish(), end="")


def write_decoded_lines(tokenizer: TreeTokenizer, names: list[str], skip_special_tokens: bool) -> None:
    stream = tokenizer.decode_stream(skip_special_tokens=skip_special_tokens)

    def decoded(line: Line) -> Iterator[str]:
        found = NO_ID.search(line.text)
        if found:
            raise TreetokError(f"{line.file}, line {line.number}: not a line of ids: {found[0]!r}")
        ids = (id_of(digits[0]) for digits in DIGITS.finditer(line.text))
        try:
            while part := list(islice(ids, IDS_AT_ONCE)):
                yield stream.extend(part)
        except TreetokError as error:
            raise TreetokError(f"{line.file}, line {line.number}: {error}") from None
        yield stream.finish()

    write_lines((decoded(line), line.is_ended) for line in read_lines(names))


def write_lines(lines: Iterable[tuple[Iterable[str], bool]]) -> None:
    """Print lines, given in parts, each with whether it ends with a line feed. One without is ended by another."""
    is_open = False
    for parts, is_ended in lines:
        print("\n" * is_open, end="")
        for part in parts:
            print(part, end="")
        print("\n" * is_ended, end="")
        is_open = not is_ended


def show_token(token: str) -> str:
    r"""Make spaces and control characters visible.

    >>> show_token(" tree"), show_token("\n")
    ('␣tree', '\\u000a')
    """
    return "".join(map(escape_character, token)).replace(" ", SPACE)


def read_lines(files: list[str], text_column: str = "text") -> Iterator[Line]:
    for name in files or ["-"]:
        path = Path(name)
        if name == "-":
            if sys.stdin is None:
                raise TreetokError("standard input is closed")
            yield from lines_of(sys.stdin.buffer, "standard input")
        elif has_rows(path):
            for number, text in enumerate(read_texts(path, text_column), start=1):
                yield Line(name, number, text, is_ended=True)
        else:
            with opened(path) as raw, decompress(raw, compression_of(path), path) as file:
                yield from lines_of(file, name)


def lines_of(file: IO[bytes], name: str) -> Iterator[Line]:
    for number, line in utf8_lines.read_lines(file, name):
        text = line.removesuffix(b"\n")
        yield Line(name, number, utf8_lines.decode(text, name, number), is_ended=text != line)

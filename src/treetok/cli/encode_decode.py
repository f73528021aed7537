"""`treetok encode` and `treetok decode`: one line in, one line out; or files in, one file of ids out.

The last line of the output ends with a line feed if and only if that of the input does, so that, with a lossless
tokenizer, `treetok encode | treetok decode` writes exactly the bytes it read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from treetok import TreeTokenizer, TreetokError
from treetok.arguments import checked_threads
from treetok.cli.help import HelpFormatter, add_model, examples
from treetok.cli.id_files import has_numbers, read_ids
from treetok.corpus.reading import compression_of, decompress, has_rows, read_texts, reading_errors
from treetok.corpus.reading import decode as decode_utf8
from treetok.stop_signal import exit_on_termination
from treetok.storage.vocab_tsv import escape_character

SPACE = "␣"
LINES_AT_ONCE = 10_000


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
        " if it has none in the input. With -o, write all ids to one file instead, for training language models."
        " Files may be compressed (.gz, .xz, .bz2, .zst), and .jsonl or .parquet: then each row is a text. Special"
        " tokens in the input are treated as ordinary text.",
        epilog=examples(
            "echo 'Windsurfers tricycled.' | treetok encode --model en --tokens",
            "treetok encode notes.txt --model en > notes.ids",
            "treetok encode corpus/*.jsonl.gz --model en -o train.bin --end '<|endoftext|>'",
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
        " numpy.memmap reads them",
    )
    encode.add_argument(
        "--dtype", choices=["uint16", "uint32"], help="with -o (default: uint16 if it can hold all ids)"
    )
    encode.add_argument("--end", metavar="TOKEN", help="with -o: a special token to write after each file or row")
    encode.add_argument(
        "--text-column", default="text", metavar="NAME", help="of .jsonl and .parquet files (default: text)"
    )
    encode.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
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
    tokenizer = TreeTokenizer.load(options.model)
    if options.output is not None:
        write_ids(tokenizer, options)
        return
    if options.dtype or options.end:
        raise TreetokError("--dtype and --end are for files of ids: give -o FILE")

    def shown(ids: list[int]) -> str:
        if options.tokens:
            return " ".join(show_token(tokenizer.id_to_token(token_id)) for token_id in ids)
        return " ".join(map(str, ids))

    def encoded(lines: list[Line]) -> list[list[int]]:
        return tokenizer.encode_batch([line.text for line in lines], threads=options.threads)

    write_lines(
        (shown(ids), line.is_ended)
        for lines in together(read_lines(options.files, options.text_column))
        for ids, line in zip(encoded(lines), lines, strict=True)
    )


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


def together(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Lines in groups, since unseen words are parsed faster together; one by one if they are being typed. If a
    line cannot be read, those before it are still encoded."""
    size = 1 if sys.stdin is not None and sys.stdin.isatty() else LINES_AT_ONCE
    group: list[Line] = []
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

    def decoded(line: Line) -> str:
        if not re.fullmatch(r"[0-9\s]*", line.text, re.ASCII):
            raise TreetokError(f"{line.file}, line {line.number}: not a line of ids")
        try:
            ids = [int(digits) for digits in line.text.split()]
            return tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)
        except TreetokError as error:
            raise TreetokError(f"{line.file}, line {line.number}: {error}") from None

    write_lines((decoded(line), line.is_ended) for line in read_lines(names))


def write_lines(lines: Iterable[tuple[str, bool]]) -> None:
    """Print lines, each given with whether it ends with a line feed. One without is ended by the next line."""
    is_open = False
    for text, is_ended in lines:
        print("\n" * is_open + text, end="\n" * is_ended)
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
            with opened(path) as file:
                yield from lines_of(file, name)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A plain text file, decompressed."""
    with reading_errors(path), path.open("rb") as raw, decompress(raw, compression_of(path), path) as stream:
        yield stream


def lines_of(file: IO[bytes], name: str) -> Iterator[Line]:
    for number, line in enumerate(file, start=1):
        text = line.removesuffix(b"\n")
        yield Line(name, number, decode_utf8(text, name, number), is_ended=text != line)

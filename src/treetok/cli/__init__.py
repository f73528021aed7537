"""The command line: `treetok train | encode | decode | count | tree | eval | info | vocab | special-tokens`.

Results go to stdout, progress and errors to stderr. Exit status: 0 success, 1 bad input, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from treetok import TreetokError, TreetokWarning, __version__
from treetok.cli import count, encode_decode, eval, info, special_tokens, standard_output, train, tree, vocab
from treetok.cli.help import HelpFormatter, examples, in_terms_of_options
from treetok.control_characters import escape_controls

OUT_OF_MEMORY = (
    "out of memory: fewer --threads need less, as do training with a smaller --memory-limit, encoding with -o, and"
    " shorter lines"
)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="treetok",
        description="Tokenize words along their trees.",
        epilog=examples(
            "echo 'Windsurfers tricycled.' | treetok encode --model en --tokens",
            "treetok tree windsurfing --model en",
            "treetok train corpus.txt -o my-tokenizer --trees en",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"treetok {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    train.add_command(commands)
    encode_decode.add_commands(commands)
    count.add_command(commands)
    tree.add_command(commands)
    eval.add_command(commands)
    info.add_command(commands)
    vocab.add_command(commands)
    special_tokens.add_command(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    prepare_streams()
    options = make_parser().parse_args(arguments)

    def complain(message: object) -> None:
        print(f"treetok: {escape_controls(in_terms_of_options(str(message), options.parser))}", file=sys.stderr)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", TreetokWarning)
            warnings.showwarning = lambda message, *_: complain(message)
            options.run(options)
            sys.stdout.flush()
    except TreetokError as error:
        complain(error)
        return 1
    except MemoryError:
        complain(OUT_OF_MEMORY)
        return 1
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: not an error.
        discard_stdout()
        return 0
    except OSError as error:
        reason = error.strerror or error
        if error.filename == standard_output.NAME:
            complain(f"cannot write to {standard_output.NAME}: {reason}")
        else:
            complain(f"{reason}: {error.filename}" if error.filename else reason)
        discard_stdout()
        return 1
    except KeyboardInterrupt:
        print("treetok: interrupted", file=sys.stderr)
        if "daft" in sys.modules:
            exit_despite_daft(130)
        return 130
    return 0


def prepare_streams() -> None:
    """Write UTF-8 in any locale, without newline translation; messages to a closed stderr are discarded."""
    standard_output.name_standard_output()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")
    with contextlib.suppress(AttributeError):
        # File names that are not valid UTF-8 are printed unchanged.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")  # type: ignore[union-attr]
    with contextlib.suppress(AttributeError):
        sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def exit_despite_daft(status: int) -> None:
    """Exit at once: threads of Daft that start a worker while Python ends abort the process."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        ray.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def discard_stdout() -> None:
    """Discard buffered output that cannot be written, so that Python does not try again at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

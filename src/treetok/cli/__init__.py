"""The command line: `treetok train | encode | decode | tree | info`.

Results go to stdout, progress and errors to stderr. Exit status 0: fine; 1: the input was at fault; 2: wrong use.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Sequence

from treetok import TreetokError, TreetokWarning, __version__
from treetok.cli import info, lines, train, tree


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="treetok", description="Tokenize along the trees of words.")
    parser.add_argument("--version", action="version", version=f"treetok {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    train.add_command(commands)
    lines.add_commands(commands)
    tree.add_command(commands)
    info.add_command(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    with contextlib.suppress(AttributeError):
        # Text is UTF-8 whatever the locale says, and line breaks are not translated.
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = make_parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", TreetokWarning)
            warnings.showwarning = lambda message, *_: print(f"treetok: {message}", file=sys.stderr)
            options.run(options)
            sys.stdout.flush()
    except TreetokError as error:
        print(f"treetok: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does: nothing to complain about.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("treetok: interrupted", file=sys.stderr)
        return 130
    return 0

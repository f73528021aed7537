"""Standard output whose errors say that they are its own: those of Python name no file."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, cast

NAME = "standard output"


class NamedOutput(io.FileIO):
    def write(self, data: Any, /) -> int:
        try:
            # None if it would block.
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, NAME) from None


class ClosedOutput(io.TextIOBase):
    """What was closed before the start: whatever is written to it would be lost."""

    def __init__(self) -> None:
        # Else the next file that is opened gets the number of standard output.
        self._placeholder = Path(os.devnull).open("wb")

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed", NAME)


def name_standard_output() -> None:
    """Replace sys.stdout, unless that has been done already, as tests do."""
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    elif type(sys.stdout) is io.TextIOWrapper and sys.stdout is sys.__stdout__:
        plain = sys.stdout
        plain.flush()
        raw = NamedOutput(plain.fileno(), "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(
            # As with python -u.
            cast(BinaryIO, raw) if plain.write_through else io.BufferedWriter(raw),
            encoding=plain.encoding,
            errors=plain.errors,
            line_buffering=plain.line_buffering,
            write_through=plain.write_through,
        )

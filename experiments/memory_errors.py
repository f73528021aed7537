"""Memory that runs out is an error of one line that says what to make smaller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from treetok.errors import TreetokError

# As PyTorch puts it, on a GPU and on a CPU.
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


@contextmanager
def memory_errors_name(options: str) -> Iterator[None]:
    """options: those that need less memory if they are smaller, as in "--layers or --dimension"."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(text in str(error) for text in OUT_OF_MEMORY):
            raise
        raise TreetokError(f"out of memory: try smaller {options}") from None

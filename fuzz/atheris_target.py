"""What the targets in Python share: treetok is imported with the counters of atheris, and tried on what libFuzzer
makes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

import atheris

# An editable installation would import its modules by itself, without counters; `run.py` says where they are.
sys.meta_path[:] = [finder for finder in sys.meta_path if "_editable_" not in type(finder).__module__]


def imports() -> AbstractContextManager[object]:
    """What of treetok is imported in this context has counters."""
    context: AbstractContextManager[object] = atheris.instrument_imports(include=["treetok"])
    return context


def run(try_one: Callable[[bytes], None], change: Callable[[bytes, int, int], bytes]) -> None:
    # libFuzzer starts itself again to merge what it learned.
    atheris.Setup([f"{sys.executable} {sys.argv[0]}", *sys.argv[1:]], try_one, custom_mutator=change)
    atheris.Fuzz()

"""Whether there is a native core (`treetok._core`), and what it calls the profiles."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

# TREETOK_NATIVE=0 chooses plain Python, to compare the two.
SWITCH = "TREETOK_NATIVE"
# Of a profile and its version.
PROFILE_NUMBERS = {("lossless", 1): 0, ("lossless", 2): 1, ("uncased", 1): 2, ("uncased", 2): 3}


def why_not_native() -> str | None:
    """Why plain Python is used; None if the native core is.

    >>> why_not_native() in (None, "it was installed without a compiler", "TREETOK_NATIVE is 0")
    True
    """
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH} is 0"
    try:
        core()
    except ImportError:
        return "it was installed without a compiler"
    return None


def core() -> ModuleType:
    """The native core. It is compiled, so the rules of what may import what do not know it by name."""
    return importlib.import_module("treetok._core")

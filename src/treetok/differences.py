"""Describe where two nested configurations differ, for error messages."""

from __future__ import annotations

from typing import Any


def first_difference(there: Any, here: Any) -> str:
    """Describe the first key, at any depth, whose values differ.

    >>> first_difference({"steps": 5, "seed": {"a": 1}}, {"steps": 5, "seed": {"a": 2}})
    'seed: a: 1 there, 2 here'
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *(key for key in there if key not in here)]:
            if there.get(key) != here.get(key):
                return f"{key}: {first_difference(there.get(key), here.get(key))}"
    return f"{there} there, {here} here"

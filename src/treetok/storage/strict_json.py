"""JSON from files of strangers, within limits that no file of ours comes near."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

# Settings of a tokenizer hold those of the one that its trees are from, and so on.
DEEPEST = 64
# Seeds have up to 128 bits.
MOST_DIGITS = 40


def parse_json(content: bytes | memoryview) -> Any:
    """The value of a JSON text. Raises ValueError, which says what is wrong, if it is none, if it is nested too
    deeply, if it has a number that is too long, or if an object has a key twice: readers would differ about it.

    >>> parse_json(b'{"one": [1, 2.5]}')
    {'one': [1, 2.5]}
    >>> parse_json(b'{"one": 1, "one": 2}')
    Traceback (most recent call last):
    ValueError: the key 'one' appears twice
    """
    try:
        value = json.loads(str(content, "utf-8"), parse_int=whole_number, object_pairs_hook=distinct)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("it is not JSON") from None
    check_depth(value)
    return value


def whole_number(digits: str) -> int:
    """Python would take time that is quadratic in their number."""
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has more than {MOST_DIGITS} digits")
    return int(digits)


def distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} appears twice")
        found[key] = value
    return found


def check_depth(value: Any) -> None:
    """Less than what Python could read, since code that goes through it later is already inside of other calls."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            return
        level = [item for one in inner for item in (one.values() if isinstance(one, dict) else one)]
    raise ValueError("it is nested too deeply")

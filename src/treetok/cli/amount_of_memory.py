"""Amounts of memory as people write them."""

from __future__ import annotations

import re

from treetok import TreetokError
from treetok.errors import shown


def parse_bytes(name: str, written: str) -> int:
    """The number of bytes; `name` is that of the option.

    >>> [parse_bytes("size", written) for written in ("2GB", "500 MB", "1KiB", "4096")]
    [2000000000, 500000000, 1024, 4096]
    """
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([kKmMgGtT]?)(i?)[bB]?", written.strip())
    if not match:
        raise TreetokError(f"{name} must be an amount of memory, like 2GB or 500MB, not {shown(written)}")
    thousand = 1024 if match[3] else 1000
    return int(float(match[1]) * thousand ** " kmgt".index(match[2].lower() or " "))

"""Amounts of memory as people write them."""

from __future__ import annotations

import re

from treetok import TreetokError


def parse_bytes(written: str) -> int:
    """
    >>> parse_bytes("2GB"), parse_bytes("500 MB"), parse_bytes("1KiB"), parse_bytes("4096")
    (2000000000, 500000000, 1024, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?)[bB]?", written.strip())
    if not match:
        raise TreetokError(f"not an amount of memory: {written!r}; write it like 2GB or 500MB")
    thousand = 1024 if match[3] else 1000
    return int(float(match[1]) * thousand ** " kmgt".index(match[2].lower() or " "))

"""Tokens in vocab.tsv: human-readable, one per line, with tabs and line breaks escaped."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from treetok.errors import TreetokError
from treetok.markers import Marker
from treetok.native import core, why_not_native
from treetok.token_table import Entry

# Room for five million tokens. In memory, short ones take some fifty times as much.
LONGEST_VOCABULARY = 64 << 20
LONGEST_COUNT = 18
# Counts are summed in 64 bits.
LARGEST_TOTAL = (1 << 60) - 1
ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|U[0-9a-f]{8}|.?)")


def escape_token(entry: Entry) -> str:
    r"""Escape a token for vocab.tsv: `\xe4` is a byte, `\join` a marker, `\u` and `\U` escape characters.

    >>> print(escape_token(" caf\u00e9\t"), escape_token(0xE4))
     café\u0009 \xe4
    """
    if isinstance(entry, Marker):
        return "\\" + entry.name.lower()
    if isinstance(entry, int):
        return f"\\x{entry:02x}"
    return "".join(escape_character(character) for character in entry)


def escape_character(character: str) -> str:
    if character == " " or (character != "\\" and character.isprintable()):
        return character
    code_point = ord(character)
    return f"\\u{code_point:04x}" if code_point < 0x10000 else f"\\U{code_point:08x}"


WRITTEN_MARKERS = {escape_token(marker): marker for marker in Marker}


def unescape_token(written: str) -> Entry:
    r"""The reverse of `escape_token`.

    >>> unescape_token("caf\\u00e9"), unescape_token("\\xe4")
    ('café', 228)
    """
    if written in WRITTEN_MARKERS:
        return WRITTEN_MARKERS[written]
    if re.fullmatch(r"\\x[89a-f][0-9a-f]", written):
        return int(written[2:], 16)

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[:1] not in ("u", "U") or len(code) < 5 or int(code[1:], 16) > 0x10FFFF:
            raise ValueError(f"bad escape in {written!r}")
        return chr(int(code[1:], 16))

    token = ESCAPE.sub(character, written)
    token.encode()
    if not token:
        raise ValueError("empty token")
    return token


def read_vocabulary(content: memoryview | None, path: Path) -> list[tuple[Entry, int]]:
    if content is None:
        raise TreetokError(f"{path} is missing")
    if not len(content):
        raise TreetokError(f"{path} is damaged: it is empty")
    if entries := entries_at_once(content):
        return entries
    try:
        text = str(content, "utf-8")
    except UnicodeDecodeError:
        raise TreetokError(f"{path} is damaged: it is not UTF-8") from None
    if text[-1] != "\n":
        raise TreetokError(f"{path} is damaged: its last line is incomplete")
    return entries_by_line(text.split("\n")[:-1], path)


def entries_at_once(content: memoryview) -> list[tuple[Entry, int]] | None:
    """The entries of a vocabulary, read by the native core; None if there is none, or if something is wrong."""
    if why_not_native() is not None:
        return None
    try:
        entries: list[tuple[Entry, int]] | None
        entries = core().vocabulary_entries(np.frombuffer(content, np.uint8), unescape_token, LARGEST_TOTAL)
        return entries
    except ValueError:
        return None


def entries_by_line(lines: list[str], path: Path) -> list[tuple[Entry, int]]:
    """The entries, line by line; the error names the line at fault."""
    entries: list[tuple[Entry, int]] = []
    for number, line in enumerate(lines, start=1):
        token, tab, count = line.partition("\t")
        try:
            if not tab or not (count.isascii() and count.isdigit() and len(count) <= LONGEST_COUNT):
                raise ValueError("expected a token and a count")
            entries.append((unescape_token(token), int(count)))
        except ValueError as error:
            raise TreetokError(f"{path}, line {number}: {error}") from None
    if sum(count for _, count in entries) > LARGEST_TOTAL:
        raise TreetokError(f"{path} is damaged: its counts are too large")
    return entries

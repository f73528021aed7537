"""Tokens in vocab.tsv: human-readable, one per line, with tabs and line breaks escaped."""

from __future__ import annotations

import re

from treetok.markers import Marker
from treetok.token_table import Entry

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

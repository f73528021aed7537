"""Text from files of strangers, as it may be shown: nothing in it controls a terminal or turns text around."""

from __future__ import annotations

import re

# C0 and C1 controls with DEL, what changes the direction of text, separators of lines, and lone surrogates.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""The text on one line, with control characters as they are written in JSON.

    >>> print(escape_controls("a\x1b[2J\nb\u202e"), escape_controls("née 東京"))
    a\u001b[2J\u000ab\u202e née 東京
    """
    return CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

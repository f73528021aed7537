"""Markers: tokens that change the token after them, so that a word serves in forms that are not in the vocabulary.

`windsurf` may be ` wind`, `<join>`, ` surf`; ` Surf` may be `<cap>`, ` surf`; and ` SURF` `<upper>`, ` surf`. Only
words change: a space and some letters. No string has two markers, and none can be made in two ways.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum

# Shorter words hardly ever serve in other forms: ` all` in `usually` is an accident.
MIN_LETTERS = 3


class Marker(IntEnum):
    """Vocabulary entries, like bytes, whose numbers end at 255."""

    JOIN = 0x100
    CAP = 0x101
    UPPER = 0x102

    @property
    def token(self) -> str:
        """How the marker is displayed."""
        return f"<{self.name.lower()}>"


MARKERS = {marker.token: marker for marker in Marker}


def marked(marker: Marker, token: str) -> str | None:
    """What a token becomes behind a marker; None if it stays what it is.

    >>> [marked(marker, " surf") for marker in Marker]
    ['surf', ' Surf', ' SURF']
    >>> marked(Marker.JOIN, " 2008"), marked(Marker.CAP, " Surf"), marked(Marker.UPPER, " a")
    (None, None, None)
    """
    letters = token[1:]
    if token[:1] != " " or len(letters) < MIN_LETTERS or not letters.isalpha():
        return None
    if marker is Marker.JOIN:
        return letters
    changed = letters.upper() if marker is Marker.UPPER else letters[0].upper() + letters[1:]
    # Some letters have no capital, and `ß` becomes `SS`.
    comes_back = letters.islower() and len(changed) == len(letters) and changed.lower() == letters != changed
    return " " + changed if comes_back else None


def unmarked(piece: str) -> tuple[Marker, str]:
    """The marker and the token that make a piece.

    >>> unmarked("surf"), unmarked(" Surf"), unmarked(" SURF")
    ((<Marker.JOIN: 256>, ' surf'), (<Marker.CAP: 257>, ' surf'), (<Marker.UPPER: 258>, ' surf'))
    """
    if piece[0] != " ":
        return Marker.JOIN, " " + piece
    token = piece.lower()
    return Marker.CAP if marked(Marker.CAP, token) == piece else Marker.UPPER, token


def marked_strings(tokens: Collection[str], markers: Iterable[Marker]) -> dict[str, str]:
    """The strings that are not tokens themselves, but can be made of one with a marker, and that token."""
    made = {}
    for marker in markers:
        for token in tokens:
            string = marked(marker, token)
            if string is not None and string not in tokens:
                made[string] = token
    return made

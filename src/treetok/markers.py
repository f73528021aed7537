"""Markers: tokens that change the token after them, so that it is reused in forms that are not in the vocabulary.

`windsurf` may be ` wind`, `<join>`, ` surf`; ` Surf` may be `<cap>`, ` surf`; `SURF` may be `<join>`, `<upper>`,
` surf`. Only tokens that begin a word are changed: a space and some letters. No string can be made in two ways.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum

# Shorter tokens hardly ever fit in other forms: ` an` in `banana` is an accident.
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
    """The marker that makes a piece, and what it makes it of: a token, or a piece with another marker.

    >>> unmarked("Surf"), unmarked(" Surf"), unmarked(" SURF")
    ((<Marker.JOIN: 256>, ' Surf'), (<Marker.CAP: 257>, ' surf'), (<Marker.UPPER: 258>, ' surf'))
    """
    if piece[0] != " ":
        return Marker.JOIN, " " + piece
    token = piece.lower()
    return Marker.CAP if marked(Marker.CAP, token) == piece else Marker.UPPER, token


def changed_by(markers: Iterable[Marker], token: str) -> str:
    """A token behind markers, of which the last is applied first. Those that do not fit change nothing.

    >>> changed_by([Marker.JOIN, Marker.CAP], " surf"), changed_by([Marker.JOIN], "ing")
    ('Surf', 'ing')
    """
    for marker in reversed(list(markers)):
        token = marked(marker, token) or token
    return token


def marked_strings(tokens: Collection[str], markers: Collection[Marker]) -> Mapping[str, tuple[str, int]]:
    """The strings that are not tokens themselves, but can be made of one with markers; for each, the token and the
    number of markers."""
    made: dict[str, tuple[str, int]] = {}
    for marker in (Marker.CAP, Marker.UPPER):
        if marker in markers:
            made |= {string: (token, 1) for token, string in changes(marker, tokens) if string not in tokens}
    if Marker.JOIN in markers:
        for string, (token, _) in list(made.items()):
            if string[1:] not in tokens:
                made[string[1:]] = token, 2
        made |= {string: (token, 1) for token, string in changes(Marker.JOIN, tokens) if string not in tokens}
    return made


def changes(marker: Marker, tokens: Iterable[str]) -> list[tuple[str, str]]:
    """The tokens that a marker changes, and what they become."""
    pairs = ((token, marked(marker, token)) for token in tokens)
    return [(token, string) for token, string in pairs if string is not None]

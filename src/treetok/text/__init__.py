"""Text to words and back: one file per profile.

A profile says how text is normalised and cut into words, which letters of a word its tree is read off, and how
tokens are joined again. No word is longer than LONGEST_WORD characters, so that everything after this stage has
a bounded amount of work per word.
"""

from __future__ import annotations

from typing import Protocol

from treetok.errors import TreetokError
from treetok.text.lossless import Lossless
from treetok.text.uncased import Uncased


class Profile(Protocol):
    """What the other stages need to know about text."""

    name: str
    # Characters outside the vocabulary become bytes (True) or the unknown token (False).
    byte_fallback: bool
    # What stands between two tokens when they are decoded.
    joiner: str
    default_special_tokens: tuple[str, ...]

    def split(self, text: str) -> list[str]:
        """The words of a text."""

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        """The words of a text and, for every character of every word, its (start, end) in the text."""

    def chunks(self, text: str) -> list[str]:
        """Cut a text where no word can cross: the words of the text are the words of the chunks in turn."""

    def letters(self, word: str) -> str:
        """The letters a word's tree is read off: the last `len(letters)` characters of the word, in some
        other form perhaps, without a leading space."""

    def align(self, word: str) -> str:
        """A word of another profile in letters of this one, one character for one character."""

    def in_running_text(self, word: str) -> str:
        """A bare word as it stands inside a sentence."""


PROFILES: dict[str, Profile] = {profile.name: profile for profile in (Lossless(), Uncased())}


def profile_named(name: str) -> Profile:
    """The profile of that name."""
    if not isinstance(name, str) or name not in PROFILES:
        raise TreetokError(f"unknown profile {name!r}: choose one of {', '.join(map(repr, PROFILES))}")
    return PROFILES[name]


def check_encodable(text: str) -> None:
    """Refuse what UTF-8 cannot encode (lone surrogates) and what is no text at all.

    >>> check_encodable("fine")
    """
    if not isinstance(text, str):
        raise TreetokError(f"text must be str, not {type(text).__name__}")
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TreetokError(
            f"the text has a lone surrogate (U+{ord(text[error.start]):04X}) at character {error.start}, "
            "which UTF-8 cannot encode"
        ) from None

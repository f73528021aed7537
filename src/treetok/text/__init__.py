"""Text to words and back: one file per profile.

A profile is normaliser, pre-tokenizer and decoder in one: it defines how text is normalised and split into words,
which letters of a word its tree is built over, and how tokens are joined again. No word is longer than
LONGEST_WORD characters, which bounds the work per word in all later stages.

A profile has versions: when the rules for splitting change, saved tokenizers keep theirs, and new ones get the
newest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from treetok.errors import TreetokError
from treetok.text.lossless import Lossless
from treetok.text.normalized import NORMALIZERS, Normalized
from treetok.text.uncased import Uncased


class Profile(Protocol):
    """The interface of a text profile."""

    name: str
    # Which version of its rules this profile follows, and which there are, oldest first.
    version: int
    versions: tuple[int, ...]
    # Characters outside the vocabulary become bytes (True) or the unknown token (False).
    byte_fallback: bool
    # Inserted between tokens when decoding.
    separator: str
    # Special tokens of new tokenizers, and what each of them is for.
    default_special_tokens: tuple[str, ...]
    default_roles: Mapping[str, str]
    # The normal form that a text is brought into before all else; None for none.
    normalizer: str | None

    def normalise(self, text: str) -> str:
        """The text in the normal form that the normaliser makes."""

    def split(self, text: str) -> list[str]:
        """The words of a text."""

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        """The words of a text and, for each character of each word, its (start, end) in the text."""

    def chunks(self, text: str) -> list[str]:
        """Split a text at word boundaries: its words are the words of the chunks, in order."""

    def letters(self, word: str) -> str:
        """The letters that a word's tree is built over, the key of the tree in a lexicon: the word without its
        leading space, possibly lower-cased, one letter per character."""

    def align(self, word: str) -> str:
        """Map a word of another profile to the letters of this one, one letter per character."""

    def in_running_text(self, word: str) -> str:
        """A bare word as it appears inside a sentence, for example with a leading space."""


VERSIONS: dict[tuple[str, int], Profile] = {
    (kind.name, version): kind(version) for kind in (Lossless, Uncased) for version in kind.versions
}
# The newest version of each.
PROFILES: dict[str, Profile] = {profile.name: profile for profile in VERSIONS.values()}


def profile_named(name: str, version: int | None = None, normalizer: str | None = None) -> Profile:
    """Look up a profile by name; None is its newest version, and no normaliser."""
    if normalizer is not None:
        if normalizer not in NORMALIZERS:
            choices = ", ".join(map(repr, NORMALIZERS))
            raise TreetokError(f"unknown normalizer {normalizer!r}: choose one of {choices}, or None")
        return Normalized(profile_named(name, version), normalizer)
    if not isinstance(name, str) or name not in PROFILES:
        raise TreetokError(f"unknown profile {name!r}: choose one of {', '.join(map(repr, PROFILES))}")
    newest = PROFILES[name]
    if version is None:
        return newest
    if type(version) is not int or version not in newest.versions:
        known = ", ".join(map(str, newest.versions))
        raise TreetokError(f"unknown version {version!r} of the profile {name!r}: choose one of {known}")
    return VERSIONS[name, version]


def check_encodable(text: str) -> None:
    """Raise TreetokError if `text` is not a string or cannot be encoded as UTF-8 (lone surrogates).

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

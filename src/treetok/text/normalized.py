"""A profile of which the text is brought into a normal form of Unicode first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from treetok.text import Profile

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
# What a normaliser makes of a text, and how far it takes a character apart on the way.
FORMS: dict[str, tuple[Form, Form]] = {"nfc": ("NFC", "NFD"), "nfkc": ("NFKC", "NFKD")}
NORMALIZERS = tuple(FORMS)
HANGUL_VOWELS, HANGUL_FINALS = range(0x1161, 0x1176), range(0x11A8, 0x11C3)
# Python sorts the marks behind a letter by insertion, which takes quadratic time for long runs of them. All marks
# match: the two letters are those that compatibility forms take for marks. Other characters may match as well.
PERHAPS_MARK = "(?:[^\\w\\s\\x00-\\x7f]|[\uff9e\uff9f])"
LONG_RUN = re.compile(f"{PERHAPS_MARK}{{64,}}")
# It takes far less time to look at every eighth character first: of a long run, that is eight in a row.
INTERVAL = 8
SIGN_OF_LONG_RUN = re.compile(f"{PERHAPS_MARK}{{8}}")


def normalise(normalizer: str, text: str) -> str:
    """
    >>> normalise("nfc", "cafe\\u0301 ﬁ"), normalise("nfkc", "cafe\\u0301 ﬁ")
    ('café ﬁ', 'café fi')
    """
    if text.isascii():
        return text
    form, taken_apart = FORMS[normalizer]
    if SIGN_OF_LONG_RUN.search(text[::INTERVAL]):
        text = LONG_RUN.sub(lambda run: with_sorted_marks(taken_apart, run[0]), text)
    return unicodedata.normalize(form, text)


def with_sorted_marks(form: Form, text: str) -> str:
    """Characters taken apart, and marks in the order of their classes, as in the canonical order of Unicode.

    >>> with_sorted_marks("NFD", "\\u0301\\u0323") == "\\u0323\\u0301"
    True
    """
    parts = {character: unicodedata.normalize(form, character) for character in set(text)}
    runs = groupby(
        "".join(map(parts.__getitem__, text)), key=lambda character: unicodedata.combining(character) > 0
    )
    return "".join(
        "".join(sorted(run, key=unicodedata.combining) if are_marks else run) for are_marks, run in runs
    )


@cache
def joining_backwards() -> frozenset[str]:
    """The characters that can become one with a character before them, though they are no marks."""
    found = set(map(chr, (*HANGUL_VOWELS, *HANGUL_FINALS)))
    for character in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(character).split()
        # Compatibility decompositions begin with a tag.
        is_pair = len(parts) == 2 and parts[0][0] != "<"
        if is_pair and unicodedata.is_normalized("NFC", character):
            found.add(chr(int(parts[1], 16)))
    return frozenset(found)


@lru_cache(maxsize=1 << 16)
def is_boundary(normalizer: str, character: str) -> bool:
    """Whether nothing before this character matters to what it becomes, nor it to what is before."""
    first = unicodedata.normalize(FORMS[normalizer][1], character)[0]
    return unicodedata.combining(first) == 0 and first not in joining_backwards()


def segments(normalizer: str, text: str) -> Iterator[tuple[int, int]]:
    """The smallest parts of a text that can be normalised on their own.

    >>> list(segments("nfc", "cafe\\u0301s"))
    [(0, 1), (1, 2), (2, 3), (3, 5), (5, 6)]
    """
    start = 0
    for at in range(1, len(text)):
        if is_boundary(normalizer, text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)


def normalise_with_places(normalizer: str, text: str) -> tuple[str, list[int], list[int]]:
    """The normal form of a text and, for each of its characters, where in the text it comes from: that of the
    character itself, or of a part of the text that changes as a whole.

    >>> normalise_with_places("nfc", "e\\u0301s")
    ('és', [0, 2], [2, 3])
    """
    normal: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in segments(normalizer, text):
        part = text[start:end]
        changed = normalise(normalizer, part)
        normal.append(changed)
        is_same = changed == part
        starts += range(start, end) if is_same else [start] * len(changed)
        ends += range(start + 1, end + 1) if is_same else [end] * len(changed)
    return "".join(normal), starts, ends


class Normalized:
    """Another profile, applied to the normal form of a text. Offsets are those in the text as it was."""

    def __init__(self, profile: Profile, normalizer: str) -> None:
        self._profile = profile
        self.normalizer: str | None = normalizer
        self.name, self.version, self.versions = profile.name, profile.version, profile.versions
        self.byte_fallback, self.separator = profile.byte_fallback, profile.separator
        self.default_special_tokens: tuple[str, ...] = profile.default_special_tokens
        self.default_roles: Mapping[str, str] = profile.default_roles

    def normalise(self, text: str) -> str:
        assert self.normalizer is not None
        return normalise(self.normalizer, text)

    def split(self, text: str) -> list[str]:
        return self._profile.split(self.normalise(text))

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        assert self.normalizer is not None
        if self.normalise(text) == text:
            return self._profile.split_with_offsets(text)
        normal, starts, ends = normalise_with_places(self.normalizer, text)
        words, places = self._profile.split_with_offsets(normal)
        return words, [[(starts[start], ends[end - 1]) for start, end in of_word] for of_word in places]

    def chunks(self, text: str) -> list[str]:
        return self._profile.chunks(self.normalise(text))

    def letters(self, word: str) -> str:
        return self._profile.letters(word)

    def align(self, word: str) -> str:
        return self._profile.align(word)

    def in_running_text(self, word: str) -> str:
        return self._profile.in_running_text(word)

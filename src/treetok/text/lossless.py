"""The `lossless` profile: no normalisation; the words of a text concatenate to the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from treetok.text.word_limit import LONGEST_WORD, split_long_words

if TYPE_CHECKING:
    import regex

# Letters of scripts that are written without spaces between words. scx: script extensions, since ー and 〆 belong
# to several scripts.
UNSPACED = r"[\p{L}&&[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
# Joiners between letters choose their forms, as in Persian and Sinhala; elsewhere they are symbols.
JOINERS = "\u200c\u200d"
# Letters of these scripts are in these blocks. Most texts have neither them nor joiners, and are split faster by a
# pattern that does not know them.
NEEDS_ANY_TEXT = re.compile(
    f"[{JOINERS}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff"
    "\uff66-\uff9f\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
# A run of such letters, often a whole sentence, is cut into words of at most this many. On Chinese text, 8 saves
# most of the time of training and takes 1 % more tokens; 16 saves little, 4 takes 6 % more tokens
# (docs/lab-notes.md).
LONGEST_UNSPACED = 8

# Similar to GPT-4: English contractions, letters and punctuation with an optional leading space, up to three
# digits, whitespace. A single space before a word belongs to the word; in a longer run, all but the last space
# form a word of their own. No alternative matches whitespace after a visible character: `chunks` relies on that.
CONTRACTION = r"['’](?i:s|t|re|ve|m|ll|d)(?![\p{L}\p{M}\p{N}_])"
WHITESPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
FIRST_VERSION = rf"{CONTRACTION}|\ ?[\p{{L}}\p{{M}}]+|\p{{N}}{{1,3}}|\ ?[^\s\p{{L}}\p{{M}}\p{{N}}]+|{WHITESPACE}"

# Digits in groups of three from the right. Longer runs than the lookahead sees are longer than a word may be.
DIGITS = rf"\p{{N}}{{1,3}}(?=(?:\p{{N}}{{3}}){{0,{LONGEST_WORD // 3}}}(?!\p{{N}}))|\p{{N}}+"
# An emoji with all that belongs to it, from skin tone to family. © and → are symbols like others.
PICTURE = r"[\p{ExtPict}--\p{Latin1}--\p{Arrows}]"
# Its grapheme cluster, written out: \X differs between releases of `regex`, in letters of Indic scripts behind it.
PICTURE_CLUSTER = (
    rf"{PICTURE}(?:\p{{GCB=Extend}}|\u200D\p{{ExtPict}})*[\p{{GCB=Extend}}\u200D\p{{GCB=SpacingMark}}]*"
)
# Flags are pairs of regional indicators (RI).
EMOJI = rf"[0-9\#*]\uFE0F?\u20E3|\ ?\p{{RI}}{{1,2}}|\ ?{PICTURE_CLUSTER}"
SYMBOLS = rf"\ ?(?:[[^\s\p{{L}}\p{{M}}\p{{N}}\p{{RI}}]--{PICTURE}]\p{{M}}*)+"


# What may follow a letter, in texts with joiners and in others.
MARK = r"\p{M}"
MARK_OR_JOINER = rf"(?:\p{{M}}|[{JOINERS}](?=[\p{{L}}\p{{M}}]))"


def letters_pattern(mark: str = MARK, without: str = "") -> str:
    """Words of letters, cut at their humps: camel|Case, HTML|Parser, but URLs."""
    upper, other = rf"(?:[\p{{Lu}}\p{{Lt}}]{mark}*)", rf"(?:[\p{{L}}--[\p{{Lu}}\p{{Lt}}]{without}]{mark}*)"
    humps = rf"{upper}+(?={upper}{other}{other})|{upper}*{other}+|{upper}+"
    return rf"\ ?\p{{M}}*(?:{humps})"


def second_version(letters: str) -> str:
    return "|".join((CONTRACTION, letters, r"\ ?\p{M}+", EMOJI, DIGITS, SYMBOLS, WHITESPACE))


SPACED_TEXT = second_version(letters_pattern())
ANY_TEXT = second_version(
    letters_pattern(MARK_OR_JOINER, f"--{UNSPACED}")
    + rf"|\ ?\p{{M}}*(?:{UNSPACED}{MARK_OR_JOINER}*){{1,{LONGEST_UNSPACED}}}"
)
CHUNK = r"\s*\S+|\s+"


@cache
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compiled when it is first needed: the native core does without, and loads sooner."""
    import regex

    return regex.compile(pattern, regex.VERSION0 if pattern == FIRST_VERSION else regex.VERSION1)


def groups_of_digits(word: str) -> list[str] | None:
    """A long number in groups of three digits from the right; None for other words.

    >>> groups_of_digits("1234"), groups_of_digits(" 1234")
    (['1', '234'], None)
    """
    if not compiled(r"\p{N}+").fullmatch(word):
        return None
    first = len(word) % 3
    return [word[:first]] * (first > 0) + [word[at : at + 3] for at in range(first, len(word), 3)]


class Lossless:
    """`decode(encode(text)) == text` for every string that UTF-8 can encode."""

    name = "lossless"
    versions: tuple[int, ...] = (1, 2)
    byte_fallback = True
    separator = ""
    default_special_tokens: tuple[str, ...] = ("<|endoftext|>", "<|pad|>", "<|mask|>")
    # GPT-2's one token for three roles, and what batches and masked language models need beside it.
    default_roles: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(("bos", "eos", "unk"), "<|endoftext|>") | {"pad": "<|pad|>", "mask": "<|mask|>"}
    )

    normalizer: str | None = None

    def __init__(self, version: int = 2) -> None:
        self.version = version

    def normalise(self, text: str) -> str:
        return text

    def split(self, text: str) -> list[str]:
        """
        >>> Lossless().split("It's 2024:  don't readTheDocs\\n")
        ['It', "'s", ' ', '2', '024', ':', ' ', ' don', "'t", ' read', 'The', 'Docs', '\\n']
        """
        if self.version == 1:
            return split_long_words(compiled(FIRST_VERSION).findall(text))
        pattern = ANY_TEXT if NEEDS_ANY_TEXT.search(text) else SPACED_TEXT
        return split_long_words(compiled(pattern).findall(text), groups_of_digits)

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        words = self.split(text)
        offsets, start = [], 0
        for word in words:
            offsets.append([(start + i, start + i + 1) for i in range(len(word))])
            start += len(word)
        return words, offsets

    def chunks(self, text: str) -> list[str]:
        chunks: list[str] = compiled(CHUNK).findall(text)
        return chunks

    def letters(self, word: str) -> str:
        """Lower-cased, one letter per character, without the leading space.

        >>> Lossless().letters(" İSTANBUL")
        'istanbul'
        """
        return self.align(word[1:] if len(word) > 1 and word[0] == " " else word)

    def align(self, word: str) -> str:
        """
        >>> Lossless().align("İSTANBUL"), Lossless().align("  ")
        ('istanbul', '  ')
        """
        lowered = word.lower()
        if len(lowered) == len(word):
            return lowered
        return "".join(character.lower()[0] for character in word)

    def in_running_text(self, word: str) -> str:
        """
        >>> Lossless().in_running_text("surf"), Lossless().in_running_text("'s")
        (' surf', "'s")
        """
        return " " + word if word[:1].isalpha() else word

"""The `uncased` profile: BERT-uncased normalisation, split into contractions, words and punctuation. Lossy."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from treetok.cached_property import cached_property
from treetok.text.word_limit import split_long_words

if TYPE_CHECKING:
    import regex

# By version of the profile. Version 1 splits words at spacing marks (most vowel signs of Indic scripts), which are
# not in Python's \w, and knows contractions with the straight apostrophe only.
WORDS = {
    1: r"'(?:s|t|re|ve|m|ll|d)(?!\w)|\w+|[^\w\s]+",
    2: r"['’](?:s|t|re|ve|m|ll|d)(?![\p{L}\p{M}\p{N}_])|[\p{L}\p{M}\p{N}_]+|[^\p{L}\p{M}\p{N}_\s]+",
}

# The blocks that BERT treats as Chinese characters: each character is a word by itself.
CHINESE_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _NormalCharacters(dict[int, str]):
    """Table for `str.translate` from code points to their normalised form, filled on demand."""

    def __missing__(self, code_point: int) -> str:
        normal = self[code_point] = normalise_character(chr(code_point))
        return normal


def normalise_character(character: str) -> str:
    """BERT-uncased normalisation of one character; the result may be empty.

    >>> normalise_character("É"), normalise_character("中"), normalise_character("\\u200b")
    ('e', ' 中 ', '')
    """
    if character in "\t\n\r" or (character.isspace() and unicodedata.category(character) != "Cc"):
        return " "
    # Unassigned code points are kept, to depend as little as possible on the version of Unicode.
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co"):
        return ""
    code_point = ord(character)
    normal = "".join(
        part.lower() for part in unicodedata.normalize("NFD", character) if unicodedata.category(part) != "Mn"
    )
    if any(first <= code_point <= last for first, last in CHINESE_BLOCKS):
        return f" {normal} "
    return normal


NORMAL_CHARACTERS = _NormalCharacters()


class Uncased:
    """The profile used in the paper. Word boundaries are not marked, so decoding cannot restore them."""

    name = "uncased"
    versions = tuple(WORDS)
    byte_fallback = False
    separator = " "
    # BERT's.
    default_special_tokens: tuple[str, ...] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    default_roles: Mapping[str, str] = MappingProxyType(
        {"unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]", "cls": "[CLS]", "sep": "[SEP]"}
    )

    normalizer: str | None = None

    def __init__(self, version: int = max(WORDS)) -> None:
        self.version = version

    @cached_property
    def _word(self) -> re.Pattern[str] | regex.Pattern[str]:
        """Compiled when it is first needed: the native core does without, and loads sooner."""
        if self.version == 1:
            return re.compile(WORDS[1])
        import regex

        return regex.compile(WORDS[self.version])

    def normalise(self, text: str) -> str:
        return text

    def split(self, text: str) -> list[str]:
        """
        >>> Uncased().split("The fielder's café-au-lait, 2024!")
        ['the', 'fielder', "'s", 'cafe', '-', 'au', '-', 'lait', ',', '2024', '!']
        """
        return split_long_words(self._word.findall(text.translate(NORMAL_CHARACTERS)))

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        sources: list[int] = []
        for position, character in enumerate(text):
            sources.extend([position] * len(NORMAL_CHARACTERS[ord(character)]))
        normal = text.translate(NORMAL_CHARACTERS)
        words, offsets = [], []
        for match in self._word.finditer(normal):
            start = match.start()
            for word in split_long_words([match.group()]):
                words.append(word)
                offsets.append([(source, source + 1) for source in sources[start : start + len(word)]])
                start += len(word)
        return words, offsets

    def chunks(self, text: str) -> list[str]:
        # Only at spaces and line feeds: str.split() would also split at control characters that BERT removes.
        return text.replace("\n", " ").split(" ")

    def letters(self, word: str) -> str:
        return word

    def align(self, word: str) -> str:
        """
        >>> Uncased().align("Café"), Uncased().align("東京"), Uncased().align(" surf")
        ('cafe', '東京', ' surf')
        """
        if word.isascii():
            return word.lower()
        return "".join((NORMAL_CHARACTERS[ord(character)].strip() or character)[0] for character in word)

    def in_running_text(self, word: str) -> str:
        return word

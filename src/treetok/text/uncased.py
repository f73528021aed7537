"""The `uncased` profile: BERT-uncased normalisation, then contractions, words and punctuation. Lossy."""

from __future__ import annotations

import re
import unicodedata

from treetok.text.word_limit import cut_long_words

WORD = re.compile(r"'(?:s|t|re|ve|m|ll|d)(?!\w)|\w+|[^\w\s]+")

# The blocks that BERT calls Chinese characters: each stands alone as a word.
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
    """Code point -> its normal form, worked out when first asked for: a table for `str.translate`."""

    def __missing__(self, code_point: int) -> str:
        normal = self[code_point] = normalise_character(chr(code_point))
        return normal


def normalise_character(character: str) -> str:
    """What BERT-uncased makes of one character, possibly nothing.

    >>> normalise_character("É"), normalise_character("中"), normalise_character("\\u200b")
    ('e', ' 中 ', '')
    """
    if character in "\t\n\r" or (character.isspace() and unicodedata.category(character) != "Cc"):
        return " "
    # Unassigned code points stay, so that a newer Unicode database changes as little as possible.
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
    """The paper's setting. No word-boundary marker, so decoding cannot tell words from pieces of words."""

    name = "uncased"
    byte_fallback = False
    joiner = " "
    default_special_tokens: tuple[str, ...] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def split(self, text: str) -> list[str]:
        """
        >>> Uncased().split("The fielder's café-au-lait, 2024!")
        ['the', 'fielder', "'s", 'cafe', '-', 'au', '-', 'lait', ',', '2024', '!']
        """
        return cut_long_words(WORD.findall(text.translate(NORMAL_CHARACTERS)))

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        sources: list[int] = []
        for position, character in enumerate(text):
            sources.extend([position] * len(NORMAL_CHARACTERS[ord(character)]))
        normal = text.translate(NORMAL_CHARACTERS)
        words, offsets = [], []
        for match in WORD.finditer(normal):
            start = match.start()
            for word in cut_long_words([match.group()]):
                words.append(word)
                offsets.append([(source, source + 1) for source in sources[start : start + len(word)]])
                start += len(word)
        return words, offsets

    def chunks(self, text: str) -> list[str]:
        # Only what is certainly a space: str.split() would also cut at control characters that BERT removes.
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

"""The `lossless` profile: no normalisation; the words of a text concatenate to the text."""

from __future__ import annotations

import re

import regex

from treetok.text.word_limit import split_long_words

# Letters of scripts that are written without spaces between words. scx: script extensions, since ー and 〆 belong
# to several scripts.
UNSPACED = r"[\p{L}&&[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
# All of them are in these blocks. Text without any splits alike in both versions, and faster by the first pattern.
UNSPACED_BLOCKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff"
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
NO_LETTERS = r"\p{N}{1,3}|\ ?[^\s\p{L}\p{M}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+"
# By version of the profile. In version 1, a run of letters is one word in every script.
WORDS = {
    1: regex.compile(rf"{CONTRACTION}|\ ?[\p{{L}}\p{{M}}]+|{NO_LETTERS}"),
    2: regex.compile(
        rf"{CONTRACTION}"
        rf"|\ ?[[\p{{L}}\p{{M}}]--{UNSPACED}]+"
        rf"|\ ?(?:{UNSPACED}\p{{M}}*){{1,{LONGEST_UNSPACED}}}"
        rf"|{NO_LETTERS}",
        regex.VERSION1,
    ),
}
CHUNK = regex.compile(r"\s*\S+|\s+")


class Lossless:
    """`decode(encode(text)) == text` for every string that UTF-8 can encode."""

    name = "lossless"
    versions = tuple(WORDS)
    byte_fallback = True
    joiner = ""
    default_special_tokens: tuple[str, ...] = ("<|endoftext|>",)

    def __init__(self, version: int = max(WORDS)) -> None:
        self.version = version

    def split(self, text: str) -> list[str]:
        """
        >>> Lossless().split("It's 2024:  don't\\n")
        ['It', "'s", ' ', '202', '4', ':', ' ', ' don', "'t", '\\n']
        """
        is_spaced = self.version == 1 or not UNSPACED_BLOCKS.search(text)
        return split_long_words(WORDS[1 if is_spaced else self.version].findall(text))

    def split_with_offsets(self, text: str) -> tuple[list[str], list[list[tuple[int, int]]]]:
        words = self.split(text)
        offsets, start = [], 0
        for word in words:
            offsets.append([(start + i, start + i + 1) for i in range(len(word))])
            start += len(word)
        return words, offsets

    def chunks(self, text: str) -> list[str]:
        chunks: list[str] = CHUNK.findall(text)
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

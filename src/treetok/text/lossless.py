"""The `lossless` profile: no normalisation; the words of a text concatenate to the text."""

from __future__ import annotations

import regex

from treetok.text.word_limit import split_long_words

# Similar to GPT-4: English contractions, letters and punctuation with an optional leading space, up to three
# digits, whitespace. A single space before a word belongs to the word; in a longer run, all but the last space
# form a word of their own. No alternative matches whitespace after a visible character: `chunks` relies on that.
WORD = regex.compile(
    r"['’](?i:s|t|re|ve|m|ll|d)(?![\p{L}\p{M}\p{N}_])"
    r"|\ ?[\p{L}\p{M}]+"
    r"|\p{N}{1,3}"
    r"|\ ?[^\s\p{L}\p{M}\p{N}]+"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)
CHUNK = regex.compile(r"\s*\S+|\s+")


class Lossless:
    """`decode(encode(text)) == text` for every string that UTF-8 can encode."""

    name = "lossless"
    byte_fallback = True
    joiner = ""
    default_special_tokens: tuple[str, ...] = ("<|endoftext|>",)

    def split(self, text: str) -> list[str]:
        """
        >>> Lossless().split("It's 2024:  don't\\n")
        ['It', "'s", ' ', '202', '4', ':', ' ', ' don', "'t", '\\n']
        """
        return split_long_words(WORD.findall(text))

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

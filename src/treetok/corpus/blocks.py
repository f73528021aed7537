"""Cut long text where words end, so that it is read in blocks of bounded size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Text that has no place where a word surely ends is cut after this many bytes, to bound memory.
LONGEST_UNBROKEN = 16 << 20
# A character has so many bytes at most.
LONGEST_CHARACTER = 4
# A word surely ends between a character that is not whitespace and a space or line feed, in every profile.
WHITESPACE_BEYOND_ASCII = (
    rb"(?<!\xc2[\x85\xa0])(?<!\xe1\x9a\x80)(?<!\xe2\x80[\x80-\x8a\xa8\xa9\xaf])(?<!\xe2\x81\x9f)(?<!\xe3\x80\x80)"
)
END_OF_WORD = re.compile(rb"[!-~\x80-\xff]" + WHITESPACE_BEYOND_ASCII + rb"(?=[ \n])")
SEARCHED_AT_ONCE = 1 << 12


def blocks_of_words(blocks: Iterable[bytes], at_once: int) -> Iterator[tuple[int, bytes]]:
    """Blocks of UTF-8 of about `at_once` bytes that end where a word does, each with the number of its first line.

    Text without such a place is cut after LONGEST_UNBROKEN bytes. Where that is depends on the text alone.
    """
    line, searched = 1, 0
    text = bytearray()
    for block in blocks:
        rest = memoryview(block)
        while rest:
            # One more, since the space behind a word is looked at.
            room = LONGEST_UNBROKEN + 1 - len(text)
            text += rest[:room]
            rest = rest[room:]
            is_full = len(text) > LONGEST_UNBROKEN
            if not is_full and len(text) < at_once:
                continue
            end = last_end_of_word(text, searched) or (
                start_of_character(text, LONGEST_UNBROKEN) if is_full else 0
            )
            searched = 0 if end else len(text) - 1
            if end:
                done = bytes(text[:end])
                yield line, done
                line += done.count(b"\n")
                del text[:end]
    yield line, bytes(text)


def last_end_of_word(text: bytes | bytearray, start: int = 0) -> int:
    """Where a text can be cut, behind `start`, so that its words stay the same; 0 if that is nowhere.

    >>> last_end_of_word(b"one two  thr"), last_end_of_word(b"one")
    (7, 0)
    """
    for at in range(len(text) - SEARCHED_AT_ONCE, start - SEARCHED_AT_ONCE, -SEARCHED_AT_ONCE):
        first, last = max(at, start), min(at + SEARCHED_AT_ONCE + 1, len(text))
        # Few texts without a place to cut have any of these, which are found in no time.
        if text.find(b" ", first, last) < 0 and text.find(b"\n", first, last) < 0:
            continue
        found = list(END_OF_WORD.finditer(text, first, last))
        if found:
            return found[-1].end()
    return 0


def start_of_character(text: bytes | bytearray, at: int) -> int:
    """Where the character begins that a byte belongs to.

    >>> start_of_character("aé".encode(), 2)
    1
    """
    starts = range(at, at - LONGEST_CHARACTER, -1)
    return next((start for start in starts if text[start] & 0xC0 != 0x80), at)

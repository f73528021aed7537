"""Finding many strings in a text at once, in time that grows with the text alone (Aho and Corasick, 1975)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator

# More than there are characters: a state and a character in one number.
CHARACTERS = 1 << 21


class StringSearch:
    """At each place of a text, the longest of some strings that starts there.

    Text and strings are read from their ends: so whatever starts at a place has just been read in full, and
    nothing is read twice. From the beginning, "aaab" would have to be looked for at each place of "aaaa...".
    """

    def __init__(self, strings: Collection[str]) -> None:
        """The states are the endings of strings ("", "|>", "x|>"); state 0 is the empty one."""
        # From a state, and the character before it, to the longer state.
        self._longer: dict[int, int] = {}
        # The length of the longest string that a state begins with, or 0.
        self._found = array("I", [0])
        # A state without its first character, that character, and its length.
        without_first, first, lengths = array("I", [0]), array("I", [0]), array("I", [0])
        for string in strings:
            state = 0
            for length, character in enumerate(map(ord, reversed(string)), 1):
                key = state * CHARACTERS + character
                if key not in self._longer:
                    self._longer[key] = len(self._found)
                    self._found.append(0)
                    without_first.append(state)
                    first.append(character)
                    lengths.append(length)
                state = self._longer[key]
            self._found[state] = len(string)
        # The longest other state that a state begins with: where to go on if no string goes on from here.
        self._shorter = array("I", [0]) * len(self._found)
        for state in sorted(range(1, len(self._found)), key=lengths.__getitem__):
            before = without_first[state]
            if before:
                self._shorter[state] = self._next(self._shorter[before], first[state])
            self._found[state] = self._found[state] or self._found[self._shorter[state]]
        last = sorted({string[-1] for string in strings})
        self._last = re.compile("[" + "".join(map(re.escape, last)) + "]")

    def _next(self, state: int, character: int) -> int:
        while (longer := self._longer.get(state * CHARACTERS + character)) is None:
            if not state:
                return 0
            state = self._shorter[state]
        return longer

    def longest_at_each_start(self, text: str) -> Iterator[tuple[int, int]]:
        """Where strings start, and the length of the longest there.

        >>> list(StringSearch(["a", "ab", "bc"]).longest_at_each_start("abc"))
        [(0, 2), (1, 2)]
        """
        starts, lengths = array("Q"), array("I")
        backwards = text[::-1]
        state = place = 0
        while place < len(text):
            if not state:
                # No string ends before the next last character.
                last = self._last.search(backwards, place)
                if last is None:
                    break
                place = last.start()
            state = self._next(state, ord(backwards[place]))
            place += 1
            if self._found[state]:
                starts.append(len(text) - place)
                lengths.append(self._found[state])
        return zip(reversed(starts), reversed(lengths), strict=True)

"""Find special tokens in text: the leftmost, and of those that begin there the longest.

The text is read backwards, by the automaton of Aho and Corasick for the tokens spelled backwards, which knows at
every place the longest token that begins there. Time grows with the length of the text and with that of all
tokens, whatever they are: trying one after the other at every place would multiply the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

# Special tokens to look for in a text, and their ids.
Specials = Sequence[tuple[str, int]]
START = 0


def split_at_specials(text: str, specials: Specials | None) -> Iterator[tuple[str, int | None]]:
    """Split a text at special tokens; yields each part and its id, None for ordinary text.

    >>> list(split_at_specials("a<s>b", [("<s>", 7)]))
    [('a', None), ('<s>', 7), ('b', None)]
    """
    if not specials:
        yield text, None
        return
    ids = dict(specials)
    end = 0
    for start, name in search_of(tuple(ids)).found_in(text):
        if start > end:
            yield text[end:start], None
        end = start + len(name)
        yield name, ids[name]
    if end < len(text):
        yield text[end:], None


class SpecialTokenSearch:
    def __init__(self, names: Sequence[str]) -> None:
        """A state is the beginning of a token that is spelled backwards; shorter ones have lower numbers."""
        self._next: dict[tuple[int, str], int] = {}
        steps: list[tuple[int, str]] = [(START, "")]
        # The longest token that begins where a state was reached.
        self._longest = [""]
        reached = [(START, name) for name in names]
        length = 0
        while reached:
            length += 1
            longer = []
            for state, name in reached:
                step = (state, name[-length])
                if step not in self._next:
                    self._next[step] = len(steps)
                    steps.append(step)
                    self._longest.append("")
                if length == len(name):
                    self._longest[self._next[step]] = name
                else:
                    longer.append((self._next[step], name))
            reached = longer
        # The longest other state that a state ends with: what remains if no token goes on.
        self._shorter = [START] * len(steps)
        for state in range(1, len(steps)):
            before, letter = steps[state]
            if before != START:
                self._shorter[state] = self._step(self._shorter[before], letter)
            self._longest[state] = self._longest[state] or self._longest[self._shorter[state]]

    def _step(self, state: int, letter: str) -> int:
        while (after := self._next.get((state, letter))) is None:
            if state == START:
                return START
            state = self._shorter[state]
        return after

    def found_in(self, text: str) -> Iterator[tuple[int, str]]:
        """Where special tokens begin in a text, and which."""
        begins: list[tuple[int, str]] = []
        state = START
        for place in range(len(text) - 1, -1, -1):
            state = self._step(state, text[place])
            if name := self._longest[state]:
                begins.append((place, name))
        end = 0
        for start, name in reversed(begins):
            if start >= end:
                yield start, name
                end = start + len(name)


# The same tokens are looked for in text after text.
@lru_cache(maxsize=4)
def search_of(names: tuple[str, ...]) -> SpecialTokenSearch:
    return SpecialTokenSearch(names)

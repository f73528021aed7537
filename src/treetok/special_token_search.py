"""Find special tokens in text: the leftmost, and of those that begin there the longest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from treetok.string_search import StringSearch

# Special tokens to look for in a text, and their ids.
Specials = Sequence[tuple[str, int]]


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
    for start, length in search_of(tuple(ids)).longest_at_each_start(text):
        if start < end:
            continue
        if start > end:
            yield text[end:start], None
        end = start + length
        yield text[start:end], ids[text[start:end]]
    if end < len(text):
        yield text[end:], None


# The same tokens are looked for in text after text.
@lru_cache(maxsize=4)
def search_of(names: tuple[str, ...]) -> StringSearch:
    return StringSearch(names)

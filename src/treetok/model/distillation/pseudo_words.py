"""Pseudo-words: strings that look like words, so that the parser has more trees to learn from than words."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from treetok.sources.tree_agreement import SHORTEST_WORD

# Occur in no word.
START, END = "\n" * 4, "\n"


def pseudo_words(words: Sequence[str], size: int, seed: int = 0) -> list[str]:
    """Strings that are not words, sampled from a character 5-gram model of the distinct words; possibly fewer than
    `size`."""
    words = [word for word in words if END not in word]
    known, longest = set(words), max(map(len, words), default=0)
    followers: dict[str, list[str]] = {}
    for word in words:
        written = START + word + END
        for at in range(len(START), len(written)):
            followers.setdefault(written[at - len(START) : at], []).append(written[at])
    random = Random(seed)
    sampled: dict[str, None] = {}
    for _ in range(2 * size):
        if len(sampled) == size or not words:
            break
        string = START
        letter = ""
        while letter != END and len(string) <= len(START) + longest:
            string += letter
            candidates = followers[string[-len(START) :]]
            letter = candidates[int(random.random() * len(candidates))]
        string = string[len(START) :]
        if SHORTEST_WORD <= len(string) <= longest and string not in known:
            sampled[string] = None
    return list(sampled)

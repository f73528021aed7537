"""Sentence pairs for training, development and tests, with nothing of development and tests in training."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from treetok.errors import TreetokError
from treetok.evaluate.texts import lines_of

LANGUAGES = ("en", "de")
WORD = re.compile(r"\w+")
# Sentences are near-duplicates if they share at least this much of their sequences of four words.
WORDS_PER_GRAM = 4
LEAST_OVERLAP = 0.5


class Pair(NamedTuple):
    english: str
    german: str

    @property
    def size(self) -> int:
        """Bytes of both sentences: a length that is the same for all tokenizers."""
        return len(self.english.encode()) + len(self.german.encode())


@dataclass(frozen=True)
class PairSets:
    """removed: why pairs are not in the training text, and how many."""

    training: list[Pair]
    development: list[Pair]
    tests: dict[str, list[Pair]]
    removed: dict[str, int] = field(default_factory=dict)


def read_pairs(folder: Path, name: str) -> list[Pair]:
    """The pairs of NAME.en and NAME.de, which may be compressed; pairs with an empty side are left out."""
    sides = []
    for language in LANGUAGES:
        names = [f"{name}.{language}{ending}" for ending in ("", ".xz", ".gz")]
        path = next((folder / file for file in names if (folder / file).is_file()), None)
        if path is None:
            raise TreetokError(f"there is no {names[0]} or {names[1]} in {folder}")
        # A line break at the end of a file ends its last line and does not begin another.
        *lines, rest = map(str.strip, lines_of(path))
        sides.append([*lines, rest] if rest else lines)
    english, german = sides
    if len(english) != len(german):
        raise TreetokError(f"{name}: {len(english)} English lines, but {len(german)} German ones")
    return [Pair(*pair) for pair in zip(english, german, strict=True) if all(pair)]


def kept_apart(
    training: Sequence[Pair],
    development: Sequence[Pair],
    tests: dict[str, list[Pair]],
    most_bytes: int,
) -> PairSets:
    """Take near-duplicates of tests and development out of training, and those of tests out of development; and
    pairs with a sentence of more than `most_bytes` out of training."""
    of_tests = [pair for pairs in tests.values() for pair in pairs]
    seen = HeldOutPairs(of_tests)
    development = [pair for pair in development if seen.resemblance(pair) is None]
    seen = HeldOutPairs([*of_tests, *development])
    kept: list[Pair] = []
    removed: Counter[str] = Counter()
    for pair in training:
        reason = seen.resemblance(pair)
        if reason is None and max(len(sentence.encode()) for sentence in pair) > most_bytes:
            reason = f"of more than {most_bytes} bytes"
        if reason is None:
            kept.append(pair)
        else:
            removed[reason] += 1
    if not (kept and development and all(tests.values())):
        raise TreetokError("training, development and tests need at least one sentence pair each")
    return PairSets(kept, list(development), tests, dict(sorted(removed.items())))


def held_out_part(pairs: Sequence[Pair], count: int) -> tuple[list[Pair], list[Pair]]:
    """`count` pairs with different English sentences, chosen by a hash of these, and all other pairs."""
    first: dict[str, int] = {}
    for number, pair in enumerate(pairs):
        first.setdefault(normalized(pair.english), number)
    if count >= len(first):
        raise TreetokError(f"{count} cannot be held out of {len(first)} different ones")
    by_hash = sorted(first, key=lambda sentence: hashlib.sha256(sentence.encode()).digest())
    chosen = sorted(first[sentence] for sentence in by_hash[:count])
    is_chosen = set(chosen)
    return [pairs[number] for number in chosen], [p for number, p in enumerate(pairs) if number not in is_chosen]


# ---- near-duplicates


def normalized(sentence: str) -> str:
    """The words of a sentence, without case and punctuation.

    >>> normalized("Well, I'm Ready!")
    'well i m ready'
    """
    return " ".join(WORD.findall(unicodedata.normalize("NFKC", sentence).casefold()))


def word_grams(sentence: str) -> set[str]:
    """All sequences of four words in a normalised sentence.

    >>> sorted(word_grams("one two three four five"))
    ['one two three four', 'two three four five']
    """
    words = sentence.split()
    starts = range(len(words) - WORDS_PER_GRAM + 1)
    return {" ".join(words[start : start + WORDS_PER_GRAM]) for start in starts}


class HeldOutSentences:
    """Finds sentences that are nearly those held out."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = {normalized(sentence) for sentence in sentences}
        self._sizes: list[int] = []
        self._with_gram: dict[str, list[int]] = defaultdict(list)
        for number, sentence in enumerate(sorted(self._sentences)):
            grams = word_grams(sentence)
            self._sizes.append(len(grams))
            for gram in grams:
                self._with_gram[gram].append(number)

    def has(self, sentence: str) -> bool:
        """Whether one has the same words in the same order."""
        return normalized(sentence) in self._sentences

    def has_similar(self, sentence: str) -> bool:
        """Whether one shares enough sequences of four words: shared ones divided by all of both."""
        grams = word_grams(normalized(sentence))
        shared = Counter(number for gram in grams for number in self._with_gram.get(gram, ()))
        return any(
            common >= LEAST_OVERLAP * (len(grams) + self._sizes[number] - common)
            for number, common in shared.items()
        )


class HeldOutPairs:
    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._sides = [HeldOutSentences(side) for side in zip(*pairs, strict=True)]

    def resemblance(self, pair: Pair) -> str | None:
        """What a pair has in common with those held out, in one language or both; None is nothing."""
        if any(held_out.has(sentence) for held_out, sentence in zip(self._sides, pair, strict=True)):
            return "with the same words as a development or test sentence"
        if any(held_out.has_similar(sentence) for held_out, sentence in zip(self._sides, pair, strict=True)):
            return "sharing half or more of all sequences of four words with a development or test sentence"
        return None

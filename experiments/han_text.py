"""Chinese text as stretches of Han characters, the strings that trees are built over.

Chinese has no spaces. The profiles of TreeTok cut it after every character or every 8, which no tree can undo, so
the text is divided here: at punctuation, spaces and all other characters that are not Han. A stretch is often a
clause.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import regex

from treetok.corpus.reading import decode
from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokError

HAN = regex.compile(r"\p{Script=Han}+")

Span = tuple[int, int]


def stretches(text: str) -> list[str]:
    """
    >>> stretches("早年事迹不详。咸通九年（868年）")
    ['早年事迹不详', '咸通九年', '年']
    """
    found: list[str] = HAN.findall(text)
    return found


@dataclass(frozen=True)
class Cuts:
    """How stretches are cut that are longer than a model can take.

    longest: of the parts.
    at_weak_links: between characters that belong together least, instead of into equal parts, which cut many words
        in two.
    """

    longest: int
    at_weak_links: bool = False

    def parts(self, stretch: str, strength_of_pairs: Mapping[str, float]) -> Iterable[str]:
        if self.at_weak_links:
            return parts_at_weak_links(stretch, self.longest, strength_of_pairs)
        return equal_parts(stretch, self.longest)


def equal_parts(stretch: str, longest: int) -> Iterator[str]:
    """As few parts as possible of at most `longest` characters, and of equal length but for one character.

    >>> list(equal_parts("一二三四五六七", longest=5)), list(equal_parts("一二", longest=5))
    (['一二三四', '五六七'], ['一二'])
    """
    parts = -(-len(stretch) // longest)
    shortest, longer = divmod(len(stretch), parts)
    lengths = [shortest + 1] * longer + [shortest] * (parts - longer)
    for start, end in pairwise(accumulate(lengths, initial=0)):
        yield stretch[start:end]


def parts_at_weak_links(stretch: str, longest: int, strength_of_pairs: Mapping[str, float]) -> list[str]:
    """Parts of at most `longest` characters: a longer one is cut in its middle third, at the weakest pair of
    neighbours, the first of equals, and its parts likewise.

    >>> parts_at_weak_links("他来中国北京", 4, {"他来": 0.2, "来中": 0.1, "中国": 0.9, "国北": 0.3, "北京": 0.9})
    ['他来', '中国北京']
    """
    if len(stretch) <= longest:
        return [stretch]
    third = max(len(stretch) // 3, 1)
    middle = range(third, len(stretch) - third + 1)
    at = min(middle, key=lambda place: strength_of_pairs.get(stretch[place - 1 : place + 1], 0.0))
    return [
        part
        for half in (stretch[:at], stretch[at:])
        for part in parts_at_weak_links(half, longest, strength_of_pairs)
    ]


def strengths_of_pairs(stretches: Iterable[str]) -> dict[str, float]:
    """How much more often two characters are neighbours than they would be by chance, but for a constant factor:
    their pointwise mutual information, without the logarithm.

    >>> strengths_of_pairs(["中国", "中国", "国人"])
    {'中国': 0.3333333333333333, '国人': 0.3333333333333333}
    """
    characters: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for stretch in stretches:
        characters.update(stretch)
        pairs.update(first + second for first, second in pairwise(stretch))
    return {pair: count / (characters[pair[0]] * characters[pair[1]]) for pair, count in pairs.items()}


def running_stretches(texts: Iterable[str], cuts: Cuts) -> WordSequence:
    """All stretches of a text in order, cut where they are longer than a model can take.

    >>> sequence = running_stretches(["他说：他来", "了"], Cuts(longest=20))
    >>> sequence.words, sequence.numbers.tolist()
    (['他说', '他来', '了'], [0, 1, 2])
    """
    whole = [stretch for text in texts for stretch in stretches(text)]
    strength_of_pairs = strengths_of_pairs(whole) if cuts.at_weak_links else {}
    numbers: dict[str, int] = {}
    sequence = array("i")
    for stretch in whole:
        for part in cuts.parts(stretch, strength_of_pairs):
            sequence.append(numbers.setdefault(part, len(numbers)))
    return WordSequence(list(numbers), np.array(sequence, dtype=np.int32))


@dataclass(frozen=True)
class GoldSentence:
    """A sentence, and the words it consists of."""

    text: str
    words: tuple[str, ...]

    @cached_property
    def word_spans(self) -> list[Span]:
        return list(pairwise(accumulate(map(len, self.words), initial=0)))

    @cached_property
    def stretch_spans(self) -> list[Span]:
        return [match.span() for match in HAN.finditer(self.text)]


@dataclass(frozen=True)
class SentenceFile:
    path: Path
    sentences: list[GoldSentence]

    @cached_property
    def stretches(self) -> list[str]:
        """The distinct stretches of all sentences."""
        found = (sentence.text[start:end] for sentence in self.sentences for start, end in sentence.stretch_spans)
        return list(dict.fromkeys(found))


def read_sentences(path: Path) -> SentenceFile:
    """Read lines "sentence TAB its words, separated by spaces"."""
    try:
        lines = decode(path.read_bytes(), str(path), 1).removeprefix("\ufeff").splitlines()
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    sentences = []
    for number, line in enumerate(lines, start=1):
        if not line:
            raise TreetokError(f"{path}, line {number} is empty")
        text, tab, words = line.partition("\t")
        if not tab:
            raise TreetokError(f"{path}, line {number}: there is no TAB between a sentence and its words")
        sentence = GoldSentence(text, tuple(words.split(" ")))
        if not all(sentence.words):
            raise TreetokError(f"{path}, line {number}: a word is empty: write one space between two words")
        if "".join(sentence.words) != text:
            raise TreetokError(f"{path}, line {number}: the words do not join to the sentence")
        sentences.append(sentence)
    if not sentences:
        raise TreetokError(f"{path} has no sentences")
    file = SentenceFile(path, sentences)
    if not file.stretches:
        raise TreetokError(f"{path} has no Han characters, which trees are built over")
    return file

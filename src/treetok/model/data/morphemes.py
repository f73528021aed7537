"""The morpheme vocabulary: strings that may be more than the sum of their parts, each with an embedding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treetok.corpus.characters import characters_by_count
from treetok.corpus.subword_trainers import train_subwords
from treetok.errors import TreetokError

EMPTY, UNKNOWN_CHARACTER = 0, 1


class MorphemeVocabulary:
    """Strings by number: 0 is no morpheme, 1 any character never seen, then characters, then longer strings.

    >>> vocabulary = MorphemeVocabulary("abs", ["ab", "bs"])
    >>> vocabulary.number("ab"), vocabulary.number("s"), vocabulary.number("abs"), vocabulary.number("x")
    (5, 4, 0, 1)
    """

    def __init__(self, characters: Iterable[str], longer: Iterable[str]) -> None:
        self.characters = sorted(set(characters))
        self.longer = sorted(set(longer))
        if any(len(string) < 2 for string in self.longer):
            raise TreetokError("a morpheme has at least two characters")
        self._numbers = {string: number for number, string in enumerate([*self.characters, *self.longer], start=2)}

    def __len__(self) -> int:
        return len(self._numbers) + 2

    def number(self, string: str) -> int:
        return self._numbers.get(string, UNKNOWN_CHARACTER if len(string) == 1 else EMPTY)

    def numbers(self, strings: list[str]) -> np.ndarray:
        return np.fromiter(map(self.number, strings), dtype=np.int32, count=len(strings))


@dataclass(frozen=True)
class MorphemeConfig:
    """
    how: `bpe`, `unigram`, `stems` (two fifths from BPE, the others words that most other words begin or end with),
        or the name of a file with one string a line.
    size: characters counted in, as in the paper, whose 10 000 come from BPE; a file is taken as a whole.
    count_power: words are counted by this power of how often they occur. Below 1, frequent whole words take less
        of the room, and stems of rarer words get some.
    """

    how: str = "bpe"
    size: int = 10_000
    max_characters: int = 1000
    count_power: float = 1.0

    def __post_init__(self) -> None:
        if min(self.size, self.max_characters) < 1:
            raise TreetokError("a morpheme vocabulary has at least one string")


def find_morphemes(word_counts: Mapping[str, int], settings: MorphemeConfig | None = None) -> MorphemeVocabulary:
    """A morpheme vocabulary from the words of a corpus."""
    settings = settings or MorphemeConfig()
    characters = [character for character, _ in characters_by_count(word_counts)[: settings.max_characters]]
    if settings.how in ("bpe", "unigram", "stems"):
        counts = word_counts if settings.count_power == 1 else by_root(word_counts, settings.count_power)
        if settings.how == "stems":
            strings = trained_pieces(counts, "bpe", settings.size * 2 // 5, settings.max_characters)
            strings += words_within_words(word_counts, set(strings))[: settings.size - len(strings)]
        else:
            strings = trained_pieces(counts, settings.how, settings.size, settings.max_characters)
    else:
        strings = read_word_list(Path(settings.how))
    known = set(characters)
    return MorphemeVocabulary(characters, [s for s in strings if len(s) > 1 and known.issuperset(s)])


def by_root(word_counts: Mapping[str, int], power: float) -> dict[str, int]:
    """Counts to a power, without what may be slips of the pen: words that a large text has once or twice.

    >>> by_root({"the": 100, "cat": 9, "tac": 1}, 0.5)
    {'the': 10, 'cat': 3, 'tac': 1}
    """
    least = max(1, min(3, sum(word_counts.values()) // 5_000_000))
    return {word: max(1, round(count**power)) for word, count in word_counts.items() if count >= least}


def words_within_words(word_counts: Mapping[str, int], known: set[str]) -> list[str]:
    """Words of three letters and more that other words begin or end with, those first that most of them do.

    What is rare is left out, as a part and as a whole: names and slips of the pen.

    >>> words_within_words({"wind": 9, "surf": 5, "windsurf": 3, "windy": 4, "y": 9}, known=set())
    ['wind', 'surf']
    """
    running = sum(word_counts.values())
    least_part, least_whole = max(2, running // 1_500_000), max(1, min(3, running // 5_000_000))
    parts = {w for w, c in word_counts.items() if c >= least_part and len(w) >= 3 and w.isalpha()} - known
    times: Counter[str] = Counter()
    for word, count in word_counts.items():
        if count >= least_whole:
            for at in range(1, len(word)):
                times.update(part for part in (word[:at], word[at:]) if part in parts)
    return sorted(times, key=lambda part: (-times[part], part))


def read_word_list(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except OSError as error:
        raise TreetokError(f"cannot read the morphemes in {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TreetokError(f"the morphemes in {path} are not UTF-8") from None


def trained_pieces(word_counts: Mapping[str, int], how: str, size: int, max_characters: int) -> list[str]:
    """The vocabulary of a BPE or Unigram tokenizer."""
    words = {word: times for word, times in word_counts.items() if "\n" not in word}
    if how == "bpe":
        tokenizer = train_subwords("bpe", words, size, limit_alphabet=max_characters)
    else:
        tokenizer = train_subwords("unigram", words, size)
    return sorted(tokenizer.get_vocab())

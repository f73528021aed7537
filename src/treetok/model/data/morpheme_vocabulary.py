"""The morpheme vocabulary V: strings with an embedding of their own, for MorphOverriding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from treetok.corpus.characters import characters_by_count
from treetok.corpus.subword_trainers import MAX_VOCAB_SIZE, train_subwords
from treetok.errors import TreetokError
from treetok.model.config import check_count_power
from treetok.model.data.substrings import SubstringTable

EMPTY, UNKNOWN_CHARACTER = 0, 1
METHODS = ("bpe", "unigram", "stems", "trees")


class MorphemeVocabulary:
    """Ids of strings: 0 for no morpheme, 1 for unknown characters, then characters, then longer strings.

    >>> vocabulary = MorphemeVocabulary("abs", ["ab", "bs"])
    >>> vocabulary.id("ab"), vocabulary.id("s"), vocabulary.id("abs"), vocabulary.id("x")
    (5, 4, 0, 1)
    """

    def __init__(self, characters: Iterable[str], longer: Iterable[str]) -> None:
        self.characters = sorted(set(characters))
        self.longer = sorted(set(longer))
        if any(len(string) < 2 for string in self.longer):
            raise TreetokError("a morpheme must have at least two characters")
        self._ids = {string: i for i, string in enumerate([*self.characters, *self.longer], start=2)}

    def __len__(self) -> int:
        return len(self._ids) + 2

    def id(self, string: str) -> int:
        return self._ids.get(string, UNKNOWN_CHARACTER if len(string) == 1 else EMPTY)

    def ids(self, strings: list[str]) -> np.ndarray:
        return np.fromiter(map(self.id, strings), dtype=np.int32, count=len(strings))

    def of_substrings(self, table: SubstringTable) -> np.ndarray:
        """The ids of all substrings of a table, without making strings of them.

        >>> from treetok.model.data.substrings import tabulate_substrings
        >>> table = tabulate_substrings(["ana"])
        >>> dict(zip(table.strings(["ana"]), MorphemeVocabulary("a", ["an"]).of_substrings(table).tolist()))
        {'a': 2, 'n': 1, 'na': 0, 'an': 3, 'ana': 0}
        """
        ids = np.full(len(table), EMPTY, dtype=np.int32)
        ids[: table.width_starts[1]] = UNKNOWN_CHARACTER
        places, substrings = table.find([*self.characters, *self.longer])
        ids[substrings] = places + 2
        return ids


@dataclass(frozen=True)
class MorphemeConfig:
    """
    method: `bpe`, `unigram`, `stems` (two fifths from BPE, the rest from `find_stems`), `trees` (strings that the
        trees of other models suggest), or the path of a file with one morpheme per line.
    size: includes the characters, as in the paper, which takes 10,000 from BPE; a file is used whole.
    count_power: word counts are raised to this power. Below 1, fewer entries go to frequent whole words and more
        to stems of rarer ones.
    """

    method: str = "bpe"
    size: int = 10_000
    max_characters: int = 1000
    count_power: float = 1.0

    def __post_init__(self) -> None:
        for name in ("size", "max_characters"):
            if not 1 <= getattr(self, name) <= MAX_VOCAB_SIZE:
                raise TreetokError(
                    f"{name} of morphemes must be from 1 to {MAX_VOCAB_SIZE}, not {getattr(self, name)}"
                )
        check_count_power(self.count_power)
        if self.method not in METHODS and not Path(self.method).is_file():
            raise TreetokError(f"unknown morphemes {self.method!r}: choose {', '.join(METHODS)} or a file")


def find_morphemes(
    word_counts: Mapping[str, int], config: MorphemeConfig | None = None, suggested: Iterable[str] | None = None
) -> MorphemeVocabulary:
    """The morpheme vocabulary of a corpus, from its word counts; `suggested` are the strings of `trees`."""
    config = config or MorphemeConfig()
    characters = [character for character, _ in characters_by_count(word_counts)[: config.max_characters]]
    strings: Iterable[str]
    if config.method == "trees":
        if suggested is None:
            raise TreetokError("morphemes of method 'trees' need the trees of other models")
        strings = suggested
    elif config.method in METHODS:
        counts = word_counts if config.count_power == 1 else dampened_counts(word_counts, config.count_power)
        if config.method == "stems":
            strings = trained_pieces(counts, "bpe", config.size * 2 // 5, config.max_characters)
            strings += find_stems(word_counts, set(strings))[: config.size - len(strings)]
        else:
            strings = trained_pieces(counts, config.method, config.size, config.max_characters)
    else:
        strings = read_word_list(Path(config.method))
    known = set(characters)
    return MorphemeVocabulary(characters, [s for s in strings if len(s) > 1 and known.issuperset(s)])


def dampened_counts(word_counts: Mapping[str, int], power: float) -> dict[str, int]:
    """Counts to a power, without the words that a large text has only once or twice: many of them are typos.

    >>> dampened_counts({"the": 100, "cat": 9, "tac": 1}, 0.5)
    {'the': 10, 'cat': 3, 'tac': 1}
    """
    least = max(1, min(3, sum(word_counts.values()) // 5_000_000))
    return {word: max(1, round(count**power)) for word, count in word_counts.items() if count >= least}


def find_stems(word_counts: Mapping[str, int], known: set[str]) -> list[str]:
    """Words of three or more letters that other words start or end with, by falling number of such words.

    Rare words are ignored, both as stems and as the words that contain them: many are names and typos.

    >>> find_stems({"wind": 9, "surf": 5, "windsurf": 3, "windy": 4, "y": 9}, known=set())
    ['wind', 'surf']
    """
    running = sum(word_counts.values())
    least_stem, least_word = max(2, running // 1_500_000), max(1, min(3, running // 5_000_000))
    stems = {w for w, c in word_counts.items() if c >= least_stem and len(w) >= 3 and w.isalpha()} - known
    family_size: Counter[str] = Counter()
    for word, count in word_counts.items():
        if count >= least_word:
            for at in range(1, len(word)):
                family_size.update(part for part in (word[:at], word[at:]) if part in stems)
    return sorted(family_size, key=lambda stem: (-family_size[stem], stem))


def read_word_list(path: Path) -> list[str]:
    """The non-empty lines of a file."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except OSError as error:
        raise TreetokError(f"cannot read the morphemes in {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TreetokError(f"the morphemes in {path} are not UTF-8") from None


def trained_pieces(word_counts: Mapping[str, int], how: str, size: int, max_characters: int) -> list[str]:
    """The vocabulary of a BPE or Unigram tokenizer; empty if there is no room for more than characters."""
    words = {word: times for word, times in word_counts.items() if "\n" not in word}
    if how == "bpe":
        return sorted(train_subwords("bpe", words, size, limit_alphabet=max_characters).get_vocab())
    characters = [character for character, _ in characters_by_count(words)]
    # Unigram has an entry for every character of its text. It fails, or never ends, if there is no room for them.
    if len(characters) >= size:
        characters = characters[:max_characters]
        words = parts_of_characters(words, set(characters))
    if len(characters) >= size:
        return []
    return sorted(train_subwords("unigram", words, size).get_vocab())


def parts_of_characters(word_counts: Mapping[str, int], characters: set[str]) -> dict[str, int]:
    """The parts of words that consist of these characters.

    >>> parts_of_characters({"naïve": 2, "ve": 3, "ï": 1}, set("aenv"))
    {'na': 2, 've': 5}
    """
    counts: Counter[str] = Counter()
    for word, times in word_counts.items():
        for known, part in groupby(word, characters.__contains__):
            if known:
                counts["".join(part)] += times
    return dict(counts)

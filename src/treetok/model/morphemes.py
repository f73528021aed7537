"""The morpheme vocabulary: strings that may be more than the sum of their parts, each with an embedding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treetok.corpus.characters import characters_by_count
from treetok.errors import TreetokError

EMPTY, UNKNOWN_CHARACTER = 0, 1
REPEATED_AT_ONCE = 1000


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


def find_morphemes(
    word_counts: Mapping[str, int], how: str = "bpe", size: int = 10_000, most_characters: int = 1000
) -> MorphemeVocabulary:
    """A morpheme vocabulary from a corpus: `bpe`, `unigram`, or the name of a file with one string a line.

    `size` counts characters in, as the paper's 10 000 do.
    """
    characters = [character for character, _ in characters_by_count(word_counts)[:most_characters]]
    if how in ("bpe", "unigram"):
        strings = trained_pieces(word_counts, how, size, most_characters)
    else:
        strings = read_word_list(Path(how))
    known = set(characters)
    return MorphemeVocabulary(characters, [s for s in strings if len(s) > 1 and known.issuperset(s)])


def read_word_list(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except OSError as error:
        raise TreetokError(f"cannot read the morphemes in {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TreetokError(f"the morphemes in {path} are not UTF-8") from None


def trained_pieces(word_counts: Mapping[str, int], how: str, size: int, most_characters: int) -> list[str]:
    """The vocabulary of a BPE or Unigram tokenizer."""
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        raise TreetokError("finding morphemes needs tokenizers: pip install 'treetok[train]'") from None
    if how == "bpe":
        tokenizer = Tokenizer(models.BPE())
        trainer: Any = trainers.BpeTrainer(vocab_size=size, limit_alphabet=most_characters, show_progress=False)
    else:
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(vocab_size=size, show_progress=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\n", "removed")
    tokenizer.train_from_iterator(repeated_words(word_counts), trainer)
    return sorted(tokenizer.get_vocab())


def repeated_words(word_counts: Mapping[str, int]) -> Iterator[str]:
    """Words as often as they were counted, many at a time: the trainers take text, not counts."""
    for word, times in word_counts.items():
        if "\n" in word:
            continue
        line = "\n".join([word] * min(times, REPEATED_AT_ONCE))
        for _ in range(times // REPEATED_AT_ONCE):
            yield line
        if times % REPEATED_AT_ONCE:
            yield "\n".join([word] * (times % REPEATED_AT_ONCE))

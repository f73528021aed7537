"""A Unigram language model of pieces, with a share for pieces it has never seen.

It knows whole words, so it sees compounds that a small composition model misses, and it is trained in seconds. A
piece is either known, with the probability that Unigram gives it, or new and spelled letter by letter. Without new
pieces, an unknown stem would be cut into known ones, and its suffix would be lost among them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.corpus.characters import characters_by_count
from treetok.corpus.subword_trainers import MAX_VOCAB_SIZE, train_subwords
from treetok.errors import TreetokError
from treetok.model.config import check_at_least_one, check_count_power
from treetok.model.data.morpheme_vocabulary import dampened_counts
from treetok.model.data.piece_estimation import log_probabilities_of

# A letter is predicted from the two before it.
ORDER = 3
# Interpolation with the shorter context: it counts as much as this many letters.
PRIOR_LETTERS = 10.0
# A character in no piece.
UNKNOWN_CHARACTER = -20.0


@dataclass(frozen=True)
class PieceConfig:
    """
    size: the number of pieces, characters included; 0 for no such model.
    count_power: word counts are raised to this power before Unigram is trained.
    new_pieces: the share of pieces that are none of the known ones.
    shortest_new_piece: the shortest of these. New words of two letters are rare, but where a character is a
        syllable, as in Chinese, most new words have two.
    """

    size: int = 0
    count_power: float = 0.25
    new_pieces: float = 0.05
    shortest_new_piece: int = 3

    def __post_init__(self) -> None:
        if not 0 <= self.size <= MAX_VOCAB_SIZE:
            raise TreetokError(f"the number of pieces must be from 0 to {MAX_VOCAB_SIZE}, not {self.size}")
        check_count_power(self.count_power)
        if not 0 <= self.new_pieces < 1:
            raise TreetokError(f"new_pieces must be at least 0 and below 1, not {self.new_pieces}")
        check_at_least_one(self, "shortest_new_piece")


class PieceModel:
    """Log-probabilities of strings as single pieces.

    pieces: the log-probability of each known piece.
    ngrams: how many distinct words have each string of one to three letters; a word with two of them counts twice.

    >>> model = PieceModel({"wind": -2.0, "s": -1.5}, {"s": 3, "u": 1, "su": 1}, new_pieces=0.0)
    >>> model.log_probabilities(["s", "wind", "winds", "x"]).tolist()
    [-1.5, -2.0, -inf, -20.0]
    """

    def __init__(
        self,
        pieces: Mapping[str, float],
        ngrams: Mapping[str, int],
        new_pieces: float,
        shortest_new_piece: int = PieceConfig.shortest_new_piece,
    ) -> None:
        self.pieces, self.ngrams = dict(pieces), dict(ngrams)
        self.new_pieces, self.shortest_new_piece = new_pieces, shortest_new_piece
        self._followers: Counter[str] = Counter()
        for ngram, count in self.ngrams.items():
            self._followers[ngram[:-1]] += count
        self._characters = sum(len(ngram) == 1 for ngram in self.ngrams)
        self._log_letters: dict[str, float] = {}

    def log_probabilities(self, strings: Sequence[str]) -> npt.NDArray[np.float32]:
        """The log-probability of every string as one piece; -inf if it can be none."""
        spelled = self._spelled(strings)
        return np.array([self._log_piece(s, spelled[s]) for s in strings], dtype=np.float32)

    def _log_piece(self, string: str, spelled: float) -> float:
        known = self.pieces.get(string, UNKNOWN_CHARACTER if len(string) == 1 else -math.inf)
        if not self.new_pieces:
            return known
        known += math.log1p(-self.new_pieces)
        if len(string) < self.shortest_new_piece:
            return known
        return float(np.logaddexp(known, math.log(self.new_pieces) + spelled))

    def _spelled(self, strings: Sequence[str]) -> dict[str, float]:
        """The sum of the letters' log-probabilities. The end of a piece is not predicted: a string that goes on
        differs from one that ends only by what follows."""
        spelled = {"": 0.0}
        for string in strings:
            # The longest part that is there already; in a table of all substrings, all but the last letter.
            start = len(string)
            while string[:start] not in spelled:
                start -= 1
            for end in range(start + 1, len(string) + 1):
                spelled[string[:end]] = spelled[string[: end - 1]] + self.log_last_letter(string[:end][-ORDER:])
        return spelled

    def log_last_letter(self, ngram: str) -> float:
        """The log-probability of the last letter given those before it, interpolated with shorter contexts."""
        if ngram not in self._log_letters:
            probability = 1 / (self._characters + 1)
            for at in reversed(range(len(ngram))):
                seen, times = self._followers.get(ngram[at:-1], 0), self.ngrams.get(ngram[at:], 0)
                probability = (times + PRIOR_LETTERS * probability) / (seen + PRIOR_LETTERS)
            self._log_letters[ngram] = math.log(probability)
        return self._log_letters[ngram]

    def as_json(self) -> dict[str, Any]:
        return {
            "pieces": self.pieces,
            "ngrams": self.ngrams,
            "new_pieces": self.new_pieces,
            "shortest_new_piece": self.shortest_new_piece,
        }


def find_pieces(word_counts: Mapping[str, int], config: PieceConfig) -> PieceModel:
    """The piece model of a corpus, from its word counts."""
    words = {word: count for word, count in word_counts.items() if "\n" not in word}
    counts = dampened_counts(words, config.count_power)
    characters = characters_by_count(counts)
    pieces: dict[str, float] = {}
    # Unigram fails, or never ends, if there is no room for all characters.
    if len(characters) < config.size:
        pieces = log_probabilities_of(sorted(train_subwords("unigram", counts, config.size).get_vocab()), counts)
    ngrams = Counter(
        word[end - width : end]
        for word in words
        for end in range(1, len(word) + 1)
        for width in range(1, min(ORDER, end) + 1)
    )
    return PieceModel(pieces, dict(sorted(ngrams.items())), config.new_pieces, config.shortest_new_piece)

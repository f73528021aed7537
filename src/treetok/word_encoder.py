"""Words to pieces and ids: trees from the lexicon or the parser, segmentation, and a cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from treetok.sampling import Declines, sample_pieces
from treetok.tokenizer_state import TokenizerState
from treetok.tree import with_leading_space

# The cache of word ids is emptied when it grows beyond this many words.
MAX_CACHED_WORDS = 1_000_000
# Bounds the memory for the scores of new words. Larger batches are not faster.
WORDS_PER_BATCH = 1 << 16


class WordEncoder:
    """Encodes words as a profile splits them. New words of a call are parsed together: one word at a time takes
    several times as long."""

    def __init__(self, state: TokenizerState) -> None:
        self._state = state
        self._profile = state.text_profile
        self._table = state.table
        self._segmenter = state.segmenter()
        self._cache: dict[str, tuple[int, ...]] = {}

    def ids(self, words: Iterable[str], threads: int = 1) -> dict[str, tuple[int, ...]]:
        """A dictionary with the ids of these words (and possibly of others)."""
        known = self._cache
        # Words that differ in case or leading space share a tree: sorted, they are in the same batch.
        new = sorted(set(words).difference(known), key=lambda word: (self._profile.letters(word), word))
        if new:
            size = min(WORDS_PER_BATCH, -(-len(new) // threads))
            batches = (new[start : start + size] for start in range(0, len(new), size))
            if threads == 1:
                for batch in batches:
                    known.update(self._ids_of_new_words(batch))
            else:
                # Here, since it takes a few milliseconds to import.
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(threads) as pool:
                    for found in pool.map(self._ids_of_new_words, batches):
                        known.update(found)
            if len(known) > MAX_CACHED_WORDS:
                # A new dictionary: other threads may still be reading the old one.
                self._cache = {}
        return known

    def _ids_of_new_words(self, words: Sequence[str]) -> dict[str, tuple[int, ...]]:
        return {
            word: tuple(chain.from_iterable(map(self._table.ids_of_piece, pieces)))
            for word, pieces in self.pieces(words).items()
        }

    def sampled_ids(self, word: str, scores: Sequence[float], declines: Declines) -> list[int]:
        """The ids of one occurrence of a word, with dropout."""
        pieces = sample_pieces(self._segmenter, word, scores, declines)
        return list(chain.from_iterable(map(self._table.ids_of_piece, pieces)))

    def pieces(self, words: Iterable[str]) -> dict[str, list[str]]:
        return {word: self._segmenter.cut(word, scores) for word, scores in self.scores(words).items()}

    def scores(self, words: Iterable[str]) -> dict[str, Sequence[float]]:
        """Split scores of words; all unseen words are scored in one call."""
        letters_of = {word: self._profile.letters(word) for word in words}
        scores_of = self._state.scores_of_letters(set(letters_of.values()))
        return {
            word: with_leading_space(scores_of[letters]) if len(word) > len(letters) else scores_of[letters]
            for word, letters in letters_of.items()
        }

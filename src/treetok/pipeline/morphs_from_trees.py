"""Morphemes suggested by the trees of an ensemble, for another member or for the parser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from treetok.corpus.characters import characters_by_count
from treetok.segment import Segmenter
from treetok.vocabulary import build_vocabulary

# Weights all words almost equally, so that parts of words become tokens rather than frequent words.
ALIGNMENT = 0.9
# A word seen once or twice in a large text may be a typo, and a morph is part of several words.
MIN_WORD_COUNT, MIN_WORDS = 3, 3


def morphs_of_trees(
    scores: Mapping[str, Sequence[float]], counts: Mapping[str, int], vocab_size: int
) -> list[str]:
    """The tokens that occur in several words when a vocabulary of this size is built from the trees. A small text
    may suggest none."""
    words = alphabetic_words(scores, counts, MIN_WORD_COUNT) or alphabetic_words(scores, counts, 1)
    letters = [letter for letter, _ in characters_by_count({word: counts[word] for word in words})]
    if len(letters) > vocab_size:
        # The vocabulary has all letters of its words: leave half of it to longer strings.
        frequent = set(letters[: vocab_size // 2])
        words = {word: of_word for word, of_word in words.items() if frequent.issuperset(word)}
    if not words:
        return []
    vocabulary = build_vocabulary(
        [(word, of_word, counts[word]) for word, of_word in words.items()], vocab_size, alignment=ALIGNMENT
    )
    segmenter = Segmenter(vocabulary)
    words_with: Counter[str] = Counter()
    for word, of_word in words.items():
        words_with.update(set(segmenter.cut(word, of_word)))
    return sorted(piece for piece, times in words_with.items() if len(piece) > 1 and times >= MIN_WORDS)


def alphabetic_words(
    scores: Mapping[str, Sequence[float]], counts: Mapping[str, int], min_count: int
) -> dict[str, Sequence[float]]:
    return {w: of_word for w, of_word in scores.items() if counts.get(w, 0) >= min_count and w.isalpha()}

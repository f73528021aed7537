"""Morfessor Baseline: a morph lexicon found by minimum description length, and the binary splits behind it.

It is trained on word types, in the form that TreeTok builds trees over (in `lossless`: lower-cased and without the
leading space; words are then split at the same places). It chooses the number of morphs itself. Contractions that
the profile splits off (`'s`) are kept whole: each is a single type unlike any other, and Morfessor would split it.

Training takes 1.3 to 2 ms per type on one core: two to three minutes for the default of 100 000 types. Segmenting
takes 15 microseconds per word.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from treetok.corpus.counts_by_letters import counts_by_letters
from treetok.errors import TreetokError, whole_number
from treetok.evaluate.baselines.pre_tokenized import CONTRACTION, PreTokenizedTokenizer, SegmentedWord
from treetok.install_hint import install_hint
from treetok.text import Profile, profile_named

if TYPE_CHECKING:
    from morfessor import BaselineModel

Dampening = Literal["ones", "log", "none"]
# As in the command line of Morfessor.
DAMPENINGS: dict[str, Callable[[int], int]] = {
    "ones": lambda count: 1,
    "log": lambda count: round(math.log2(count + 1)),
    "none": lambda count: count,
}
# Viterbi settings of the command line of Morfessor.
SMOOTHING, MAX_MORPH_LENGTH = 0, 30
DEFAULT_MAX_TYPES = 100_000


def train_morfessor(
    word_counts: Mapping[str, int],
    profile: str | Profile,
    *,
    dampening: Dampening = "ones",
    max_types: int | None = DEFAULT_MAX_TYPES,
    seed: int = 0,
) -> MorfessorTokenizer:
    """Train Morfessor Baseline on words and their counts.

    dampening: how counts are dampened: "ones" counts every type once (Morfessor's default), "log" takes the
        logarithm of its count, "none" the count itself.
    max_types: train on this many of the most frequent types; None for all.
    seed: for the order in which words are visited.
    """
    try:
        import morfessor
    except ImportError:
        raise TreetokError(f"the Morfessor baseline needs morfessor: {install_hint('eval')}") from None
    if dampening not in DAMPENINGS:
        raise TreetokError(f"unknown dampening {dampening!r}: choose one of {', '.join(map(repr, DAMPENINGS))}")
    profile = profile_named(profile) if isinstance(profile, str) else profile
    counts = counts_by_letters({word: times for word, times in word_counts.items() if times > 0}, profile)
    contractions = frozenset(filter(CONTRACTION.fullmatch, counts))
    types = sorted(counts.keys() - contractions, key=lambda word: (-counts[word], word))
    if not types:
        raise TreetokError("there are no words to train Morfessor on")
    all_types = len(types)
    if max_types is not None:
        types = types[: whole_number("max_types", max_types, least=1)]
    model = morfessor.BaselineModel()
    model.load_data([(counts[word], word) for word in sorted(types)], count_modifier=DAMPENINGS[dampening])
    with quiet_and_seeded(whole_number("seed", seed, least=0)):
        model.train_batch()
    return MorfessorTokenizer(
        model, profile, contractions, trained_types=len(types), all_types=all_types, dampening=dampening
    )


@contextmanager
def quiet_and_seeded(seed: int) -> Iterator[None]:
    """Seed the global generator that Morfessor draws from, restore it afterwards, and hide the progress bar."""
    from morfessor import utils

    state, shown = random.getstate(), utils.show_progress_bar
    random.seed(seed)
    utils.show_progress_bar = False
    try:
        yield
    finally:
        random.setstate(state)
        utils.show_progress_bar = shown


class MorfessorTokenizer(PreTokenizedTokenizer):
    """Segments all words, known or not, by Viterbi over the morphs; `trees` is its source of trees.

    `vocabulary_size` is the number of morphs, or None where the profile keeps case and spaces: one morph then
    stands for several tokens.
    """

    def __init__(
        self,
        model: BaselineModel,
        profile: Profile,
        contractions: frozenset[str],
        *,
        trained_types: int,
        all_types: int,
        dampening: str,
    ) -> None:
        self.model = model
        self.trees = MorfessorTrees(model)
        self.contractions = contractions
        self.lexicon_size: int = model.types + len(contractions)
        self.trained_types, self.all_types = trained_types, all_types
        notes = [f"{self.lexicon_size} morphs"]
        if trained_types < all_types:
            notes.append(f"from the {trained_types} most frequent types")
        if dampening != "ones":
            notes.append({"log": "log counts", "none": "undampened counts"}[dampening])
        entries = None if profile.byte_fallback else self.lexicon_size
        super().__init__(f"Morfessor Baseline ({', '.join(notes)})", entries, profile, self._viterbi)

    def _viterbi(self, word: str) -> SegmentedWord:
        letters = self.profile.letters(word)
        morphs = [letters] if letters in self.contractions else self.trees.morphs(letters)
        # The letters are the last characters of the word; a leading space goes with the first morph.
        pieces, start = [], len(word) - len(letters)
        for morph in morphs:
            pieces.append(word[start : start + len(morph)])
            start += len(morph)
        pieces[0] = word[: len(word) - len(letters)] + pieces[0]
        return SegmentedWord(tuple(pieces), tuple(pieces))


class MorfessorTrees:
    """Trees from the binary splits that Morfessor stores for its training words, from the word down to its morphs.

    Other words are segmented into morphs by Viterbi and split at the morph boundary whose rarer side is most
    frequent in Morfessor's analyses, the last boundary on ties; each side is then treated as a word of its own.
    Inside morphs, which Morfessor does not analyse, trees are left-branching: the best trivial choice for English.
    """

    def __init__(self, model: BaselineModel) -> None:
        self._model = model
        self._analyses = model._analyses

    def morphs(self, letters: str) -> list[str]:
        morphs: list[str] = self._model.viterbi_segment(letters, SMOOTHING, MAX_MORPH_LENGTH)[0]
        return morphs

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        return [self._scores(word) for word in words]

    def _scores(self, word: str) -> list[float]:
        scores = [0.0] * (len(word) - 1)
        spans = [(0, len(word), 0)]
        while spans:
            start, end, depth = spans.pop()
            if end - start < 2:
                continue
            middle = start + self._split(word[start:end])
            if middle == end:
                # A morph is left-branching: splits closer to its end are higher in the tree.
                for distance, split in enumerate(range(end - 2, start - 1, -1)):
                    scores[split] = -(depth + distance)
            else:
                scores[middle - 1] = -depth
                spans += [(start, middle, depth + 1), (middle, end, depth + 1)]
        return scores

    def _split(self, letters: str) -> int:
        """Length of the left side of the split of a string; the whole length where it is a morph."""
        known = self._analyses.get(letters)
        if known is not None:
            return known.splitloc or len(letters)
        morphs = self.morphs(letters)
        best, best_count, length = len(letters), -1, 0
        for morph in morphs[:-1]:
            length += len(morph)
            count = min(self._count(letters[:length]), self._count(letters[length:]))
            if count >= best_count:
                best, best_count = length, count
        return best

    def _count(self, letters: str) -> int:
        known = self._analyses.get(letters)
        return 0 if known is None else known.count

"""Morfessor Baseline: a lexicon of morphs found by minimum description length, and the trees it leaves.

It is trained on types of words, in the form that TreeTok reads trees off (in `lossless`: lower-cased and without
a leading space; words are then cut at the same places). How many morphs there are is its own choice. Contractions
that the profile cuts off (`'s`) stay whole: each is but one type, and Morfessor would cut it for being like no
other.

Time grows with the number of types: 1.3 to 2 ms for each on one core, so that the default of 100 000 types takes
two to three minutes. Cutting takes 15 microseconds a word.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from treetok.errors import TreetokError, whole_number
from treetok.evaluate.rivals.wordwise import CONTRACTION, CutWord, WordwiseContestant
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
# What the command line of Morfessor cuts with: no smoothing, and no morph longer than this.
SMOOTHING, LONGEST_MORPH = 0, 30
MOST_TYPES = 100_000


def train_morfessor(
    word_counts: Mapping[str, int],
    profile: str | Profile,
    *,
    dampening: Dampening = "ones",
    most_types: int | None = MOST_TYPES,
    seed: int = 0,
) -> MorfessorContestant:
    """Train Morfessor Baseline on words and their counts.

    dampening: what a word counts for: "ones" as one, whatever its count (Morfessor's default); "log" as the
        logarithm of its count; "none" as its count.
    most_types: only so many of the most frequent types are learned from; None is all of them.
    seed: for the order in which words are gone through.
    """
    try:
        import morfessor
    except ImportError:
        raise TreetokError("the rival Morfessor needs morfessor: pip install 'treetok[eval]'") from None
    if dampening not in DAMPENINGS:
        raise TreetokError(
            f"unknown dampening {dampening!r} of counts: choose one of {', '.join(map(repr, DAMPENINGS))}"
        )
    profile = profile_named(profile) if isinstance(profile, str) else profile
    counts: dict[str, int] = {}
    for word, times in word_counts.items():
        if times > 0:
            letters = profile.letters(word)
            counts[letters] = counts.get(letters, 0) + times
    contractions = frozenset(filter(CONTRACTION.fullmatch, counts))
    types = sorted(counts.keys() - contractions, key=lambda word: (-counts[word], word))
    if not types:
        raise TreetokError("there are no words to train Morfessor on")
    of_types = len(types)
    if most_types is not None:
        types = types[: whole_number("most_types", most_types, least=1)]
    model = morfessor.BaselineModel()
    model.load_data([(counts[word], word) for word in sorted(types)], count_modifier=DAMPENINGS[dampening])
    with quiet_and_seeded(whole_number("seed", seed, least=0)):
        model.train_batch()
    return MorfessorContestant(
        model, profile, contractions, learned_from=len(types), of_types=of_types, dampening=dampening
    )


@contextmanager
def quiet_and_seeded(seed: int) -> Iterator[None]:
    """Morfessor draws from the random numbers that everybody shares, and paints dots: neither is to be noticed."""
    from morfessor import utils

    state, shown = random.getstate(), utils.show_progress_bar
    random.seed(seed)
    utils.show_progress_bar = False
    try:
        yield
    finally:
        random.setstate(state)
        utils.show_progress_bar = shown


class MorfessorContestant(WordwiseContestant):
    """Cuts words by Viterbi over the morphs, known words like unknown ones; `trees` are its trees.

    `vocabulary_size` is the number of its morphs, or None where the profile keeps case and spaces, since one morph
    then stands for several tokens.
    """

    def __init__(
        self,
        model: BaselineModel,
        profile: Profile,
        contractions: frozenset[str],
        *,
        learned_from: int,
        of_types: int,
        dampening: str,
    ) -> None:
        self.model = model
        self.trees = MorfessorTrees(model)
        self.contractions = contractions
        self.lexicon_size: int = model.types + len(contractions)
        self.learned_from, self.of_types = learned_from, of_types
        notes = [f"{self.lexicon_size} morphs"]
        if learned_from < of_types:
            notes.append(f"from the {learned_from} most frequent types")
        if dampening != "ones":
            notes.append({"log": "logarithms of counts", "none": "counts as they are"}[dampening])
        entries = None if profile.byte_fallback else self.lexicon_size
        super().__init__(f"Morfessor Baseline ({', '.join(notes)})", entries, profile, self._cut_letters)

    def _cut_letters(self, word: str) -> CutWord:
        letters = self.profile.letters(word)
        morphs = [letters] if letters in self.contractions else self.trees.morphs(letters)
        # The letters are the last characters of the word: a leading space stays with the first morph.
        pieces, start = [], len(word) - len(letters)
        for morph in morphs:
            pieces.append(word[start : start + len(morph)])
            start += len(morph)
        pieces[0] = word[: len(word) - len(letters)] + pieces[0]
        return CutWord(tuple(pieces), tuple(pieces))


class MorfessorTrees:
    """The binary splits that Morfessor keeps of every word it was trained on, from the word down to the morphs.

    A word it was not trained on has none: it is cut into morphs by Viterbi, and split between those where the
    rarer side is most frequent among all that Morfessor has split or kept, else before the last morph; each side
    goes on as a word by itself. Morfessor says nothing about the inside of morphs: there trees are
    left-branching, which is the best of the trivial choices on English.
    """

    def __init__(self, model: BaselineModel) -> None:
        self._model = model
        self._analyses = model._analyses

    def morphs(self, letters: str) -> list[str]:
        morphs: list[str] = self._model.viterbi_segment(letters, SMOOTHING, LONGEST_MORPH)[0]
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
                # A morph: the nearer a split is to the end, the higher it lies.
                for distance, split in enumerate(range(end - 2, start - 1, -1)):
                    scores[split] = -(depth + distance)
            else:
                scores[middle - 1] = -depth
                spans += [(start, middle, depth + 1), (middle, end, depth + 1)]
        return scores

    def _split(self, letters: str) -> int:
        """How many letters the left side of a string has; all of them where it is a morph."""
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

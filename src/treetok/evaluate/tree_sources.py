"""Sources of trees under comparison, each a `treetok.sources.TreeSource`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from treetok.corpus.counts_by_letters import counts_by_letters
from treetok.sources import CountTrees, TreeSource, scores_of_words
from treetok.text import Profile, profile_named
from treetok.tree import split_depths

if TYPE_CHECKING:
    from treetok.evaluate.baselines.morfessor_baseline import MorfessorTokenizer
    from treetok.evaluate.interface import NamedTreeTokenizer


class LeftBranching:
    """[[[[l o] w] e] r]: all inner spans start where the word starts.

    >>> LeftBranching().split_scores(["lower"])
    [[0, 1, 2, 3]]
    """

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        return [list(range(len(word) - 1)) for word in words]


class RightBranching:
    """[l [o [w [e r]]]]: all inner spans end where the word ends.

    >>> RightBranching().split_scores(["lower"])
    [[0, -1, -2, -3]]
    """

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        return [[-p for p in range(len(word) - 1)] for word in words]


class Balanced:
    """Every span is halved; where its length is odd, the left half is one letter longer.

    >>> from treetok import Tree
    >>> Tree("lower", Balanced().split_scores(["lower"])[0]).brackets()
    '[[[l o] w] [e r]]'
    """

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        return [self._scores(len(word)) for word in words]

    def _scores(self, length: int) -> list[float]:
        scores = [0.0] * max(0, length - 1)
        spans = [(0, length - 1, 0)]
        while spans:
            first, last, depth = spans.pop()
            if first < last:
                middle = (first + last) // 2
                scores[middle] = -depth
                spans += [(first, middle, depth + 1), (middle + 1, last, depth + 1)]
        return scores


class Random:
    """Every span is split at a uniformly random position. A word always gets the same tree for the same seed.

    >>> Random(seed=1).split_scores(["lower", "low"])[1] == Random(seed=1).split_scores(["low"])[0]
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        # Scores are independent and uniform, so in every span each split is equally likely to be the highest.
        return [self._scores(random.Random(f"{self.seed} {word}"), len(word) - 1) for word in words]

    def _scores(self, generator: random.Random, splits: int) -> list[float]:
        return [generator.random() for _ in range(splits)]


class OverStrings:
    """Trees over strings that a profile may split into several words: word boundaries are the topmost splits.

    The source sees bare words in the form that trees are built over. A split next to a character that the profile
    drops is the lowest of all.

    >>> from treetok import Tree
    >>> over_strings = OverStrings(LeftBranching(), "uncased")
    >>> Tree("Boy's", over_strings.split_scores(["Boy's"])[0]).brackets()
    "[[[B o] y] [' s]]"
    """

    def __init__(self, source: TreeSource, profile: str | Profile) -> None:
        self.source = source
        self.profile = profile_named(profile) if isinstance(profile, str) else profile

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        split = [self.profile.split_with_offsets(string) for string in words]
        letters = dict.fromkeys(self.profile.letters(word) for parts, _ in split for word in parts)
        # Depths, because scores of different words need not be on the same scale.
        depths = {word: split_depths(s) for word, s in scores_of_words(self.source, list(letters)).items()}
        return [
            self._scores(string, parts, places, depths)
            for string, (parts, places) in zip(words, split, strict=True)
        ]

    def _scores(
        self,
        string: str,
        words: list[str],
        places: list[list[tuple[int, int]]],
        depths: Mapping[str, list[int]],
    ) -> list[float]:
        lowest, highest = -len(string) - 1.0, 1.0
        scores = [lowest] * (len(string) - 1)
        for number, (word, places_of_word) in enumerate(zip(words, places, strict=True)):
            letters = self.profile.letters(word)
            # One score for the split before each character. All word boundaries tie; ties go left.
            before_word = [highest if number else lowest]
            after_space = [lowest] * (len(word) - len(letters))
            before = [*before_word, *after_space, *(float(-depth) for depth in depths[letters])]
            for score, (start, _) in zip(before, places_of_word, strict=True):
                if start > 0:
                    # One character may be normalised to several letters.
                    scores[start - 1] = max(scores[start - 1], score)
        return scores


def tree_sources(
    profile: str | Profile,
    *,
    tokenizers: Iterable[NamedTreeTokenizer] = (),
    morfessor: MorfessorTokenizer | None = None,
    word_counts: Mapping[str, int] | None = None,
    seed: int = 0,
    pre_tokenize: bool = True,
) -> dict[str, TreeSource]:
    """Sources of trees by name: tokenizers first, then trivial trees, counts and Morfessor.

    word_counts: of the training text, as the profile splits it; needed for trees from counts.
    pre_tokenize: split strings into words as the profile does first, as a tokenizer would.
    """
    profile = profile_named(profile) if isinstance(profile, str) else profile
    sources: dict[str, TreeSource] = {}
    for named in tokenizers:
        sources[named.name] = named.tokenizer.state
        sources[f"{named.name}, parser alone"] = named.tokenizer.state.source
    sources |= {
        "left-branching": LeftBranching(),
        "right-branching": RightBranching(),
        "balanced": Balanced(),
        "random": Random(seed),
    }
    if word_counts is not None:
        sources["counts"] = count_trees(word_counts, profile)
    if morfessor is not None:
        sources["Morfessor"] = morfessor.trees
    if not pre_tokenize:
        return sources
    return {name: OverStrings(source, profile) for name, source in sources.items()}


def count_trees(word_counts: Mapping[str, int], profile: Profile) -> CountTrees:
    """Trees from n-gram counts."""
    return CountTrees.from_words(counts_by_letters(word_counts, profile))

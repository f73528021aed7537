"""Trees that are compared: every source has `split_scores(words)`, as `treetok.sources.TreeSource` says."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from treetok.sources import CountTrees, TreeSource, scores_of_words
from treetok.text import Profile, profile_named
from treetok.tree import split_depths

if TYPE_CHECKING:
    from treetok.evaluate.rivals.morfessor_baseline import MorfessorContestant
    from treetok.evaluate.rivals.treetok_tokenizer import TreeTokContestant
    from treetok.tokenizer import TreeTokenizer


class LeftBranching:
    """[[[[l o] w] e] r]: spans begin where the word begins.

    >>> LeftBranching().split_scores(["lower"])
    [[0, 1, 2, 3]]
    """

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        return [list(range(len(word) - 1)) for word in words]


class RightBranching:
    """[l [o [w [e r]]]]: spans end where the word ends.

    >>> RightBranching().split_scores(["lower"])
    [[0, -1, -2, -3]]
    """

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        return [[-p for p in range(len(word) - 1)] for word in words]


class Balanced:
    """Every span is halved; of an odd number of letters the left half has one more.

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
    """Every span is split anywhere with equal chances. A word has the same tree whatever stands beside it.

    >>> Random(seed=1).split_scores(["lower", "low"])[1] == Random(seed=1).split_scores(["low"])[0]
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def split_scores(self, words: Sequence[str]) -> list[list[float]]:
        # The highest of independent scores is as likely to be the one as the other, in every span.
        return [self._scores(random.Random(f"{self.seed} {word}"), len(word) - 1) for word in words]

    def _scores(self, generator: random.Random, splits: int) -> list[float]:
        return [generator.random() for _ in range(splits)]


class TokenizerTrees:
    """The trees a tokenizer cuts words by: those of its lexicon, and of its parser for words it does not know.

    They are trees over bare words, as `OverStrings` hands them on.
    """

    def __init__(self, tokenizer: TreeTokenizer) -> None:
        self.tokenizer = tokenizer

    def split_scores(self, words: Sequence[str]) -> list[Sequence[float]]:
        lexicon = self.tokenizer.state.lexicon
        known = {word: lexicon.scores(word) if len(word) > 1 else [] for word in dict.fromkeys(words)}
        unseen = scores_of_words(self.tokenizer.state.source, [word for word in known if known[word] is None])
        return [unseen[word] if (scores := known[word]) is None else scores for word in words]


class OverStrings:
    """Trees over strings that a profile cuts into several words: the cuts between them are the topmost splits.

    The source is asked for the bare words in the form that trees are read off. A split beside a character of which
    the profile leaves nothing is the lowest of all.

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
        # Depths, because the scores of two sources, or of two words, may lie on any scale.
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
            # One score for the split before each character; of those before words, ties go left.
            before_word = [highest if number else lowest]
            behind_space = [lowest] * (len(word) - len(letters))
            before = [*before_word, *behind_space, *(float(-depth) for depth in depths[letters])]
            for score, (start, _) in zip(before, places_of_word, strict=True):
                if start > 0:
                    # Several letters may come from one character.
                    scores[start - 1] = max(scores[start - 1], score)
        return scores


def trees_of_contest(
    profile: str | Profile,
    *,
    word_counts: Mapping[str, int] | None = None,
    tokenizers: Iterable[TreeTokContestant] = (),
    morfessor: MorfessorContestant | None = None,
    seed: int = 0,
    cut_first: bool = True,
) -> dict[str, TreeSource]:
    """The sources of trees by name, the trivial ones first.

    word_counts: of the text, as the profile gives its words; trees from counts need them.
    cut_first: strings that the profile cuts into words are cut there first, which is what a tokenizer does. False
        takes every string as one word, as published figures of trivial trees do; tokenizers have no such trees.
    """
    profile = profile_named(profile) if isinstance(profile, str) else profile
    sources: dict[str, TreeSource] = {
        "left-branching": LeftBranching(),
        "right-branching": RightBranching(),
        "balanced": Balanced(),
        "random": Random(seed),
    }
    if word_counts is not None:
        sources["counts"] = count_trees(word_counts, profile)
    if morfessor is not None:
        sources["Morfessor"] = morfessor.trees
    for contestant in tokenizers:
        sources[contestant.name] = TokenizerTrees(contestant.tokenizer)
        sources[f"{contestant.name}, parser alone"] = contestant.tokenizer.state.source
    if not cut_first:
        return sources
    return {name: OverStrings(source, profile) for name, source in sources.items()}


def count_trees(word_counts: Mapping[str, int], profile: Profile) -> CountTrees:
    """Trees from the counts of n-grams, in the form that trees are read off."""
    letters: dict[str, int] = {}
    for word, times in word_counts.items():
        form = profile.letters(word)
        letters[form] = letters.get(form, 0) + times
    return CountTrees.from_words(letters)

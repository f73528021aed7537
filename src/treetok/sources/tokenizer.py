"""A tokenizer as a source of trees: its lexicon, and its own source for all other words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treetok.state import TokenizerState
from treetok.text import profile_named


class TokenizerTrees:
    """The trees of a tokenizer that exists, for words of any profile: they are looked up in the letters that the
    tokenizer knows, one for one, so that `Café` has the tree of `cafe` where accents are stripped."""

    def __init__(self, state: TokenizerState) -> None:
        self.state = state
        self._profile = profile_named(state.profile)

    def split_scores(self, words: Sequence[str]) -> list[Any]:
        letters = [self._profile.align(word) for word in words]
        scores = self.state.scores_of_letters(set(letters))
        return [scores[word] for word in letters]

"""What a tokenizer is made of: plain data that is trained, saved, loaded and sent to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from treetok.lexicon import Lexicon
from treetok.segment import Segmenter
from treetok.sources import TreeSource, scores_of_words
from treetok.text import profile_named
from treetok.token_table import Entry, TokenTable


@dataclass(frozen=True)
class TokenizerState:
    profile: str
    # Tokens and their counts, in the order of their ids; special tokens stand apart, with theirs.
    entries: list[tuple[Entry, int]]
    special_tokens: Mapping[str, int]
    # Trees of known words, and where the trees of all others come from.
    lexicon: Lexicon
    source: TreeSource
    # Whether post-merge looks for the fewest tokens first, or for the lowest entropies, as in the paper.
    fewest_tokens: bool = False
    # How it was trained, for people to read.
    settings: Mapping[str, Any] = field(default_factory=dict)
    card: str | None = None

    def segmenter(self) -> Segmenter:
        counts = {entry: count for entry, count in self.entries if isinstance(entry, str)}
        return Segmenter(counts, self.fewest_tokens)

    def scores_of_letters(self, letters: Iterable[str]) -> dict[str, Sequence[float]]:
        """The split scores of words, given by the letters their trees are read off: from the lexicon, and for all
        words outside it in one call of the source."""
        scores: dict[str, Sequence[float]] = {}
        unseen = []
        for word in letters:
            known = self.lexicon.scores(word) if len(word) > 1 else []
            if known is None:
                unseen.append(word)
            else:
                scores[word] = known
        # In order: the last digits of a score may depend on what it is computed together with.
        return scores | scores_of_words(self.source, sorted(unseen))

    def split_scores(self, words: Sequence[str]) -> list[Sequence[float]]:
        """A tokenizer is a source of trees, also for words of another profile: they are looked up in the letters
        that this tokenizer knows, so that `Café` has the tree of `cafe` where accents are stripped."""
        align = profile_named(self.profile).align
        letters = [align(word) for word in words]
        scores = self.scores_of_letters(dict.fromkeys(letters))
        return [scores[word] for word in letters]

    @cached_property
    def table(self) -> TokenTable:
        """Tokens by id and ids by token, worked out once."""
        byte_fallback = profile_named(self.profile).byte_fallback
        return TokenTable([entry for entry, _ in self.entries], self.special_tokens, byte_fallback)

"""What a tokenizer is made of: plain data that is trained, saved, loaded and sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from treetok.lexicon import Lexicon
from treetok.segment import Segmenter
from treetok.sources import TreeSource
from treetok.text import profile_named
from treetok.tokens import Entry, TokenTable


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

    @cached_property
    def table(self) -> TokenTable:
        """Tokens by id and ids by token, worked out once."""
        byte_fallback = profile_named(self.profile).byte_fallback
        return TokenTable([entry for entry, _ in self.entries], self.special_tokens, byte_fallback)

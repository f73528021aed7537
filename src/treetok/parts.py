"""What a tokenizer is made of: plain data that is trained, saved, loaded and sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treetok.lexicon import Lexicon
from treetok.sources import TreeSource
from treetok.tokens import Entry


@dataclass(frozen=True)
class TokenizerParts:
    profile: str
    # Tokens and their counts, in the order of their ids; special tokens stand apart, with theirs.
    entries: list[tuple[Entry, int]]
    special_tokens: Mapping[str, int]
    # Trees of known words, and where the trees of all others come from.
    lexicon: Lexicon
    source: TreeSource
    # How it was trained, for people to read.
    settings: Mapping[str, Any] = field(default_factory=dict)
    card: str | None = None

"""What a tokenizer must offer to be compared, and TreeTok behind that interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from treetok.tokenizer import TreeTokenizer


@runtime_checkable
class EvalTokenizer(Protocol):
    """A tokenizer under comparison."""

    name: str
    # Number of entries, or None where it is not defined. Renyi efficiency is normalised by it.
    vocabulary_size: int | None

    def segment(self, word: str) -> list[str]:
        """Split one bare word into pieces, as it would be split inside a sentence, without markers. The pieces
        join to the word as the tokenizer normalises it."""

    def tokenize(self, text: str) -> Sequence[str]:
        """Split running text into tokens. Equal tokens are equal strings; how they are written does not matter."""


class NamedTreeTokenizer:
    """A TreeTokenizer with a name for tables."""

    def __init__(self, tokenizer: TreeTokenizer, name: str = "TreeTok") -> None:
        self.tokenizer = tokenizer
        self.name = name
        self.vocabulary_size: int | None = tokenizer.vocab_size

    def __repr__(self) -> str:
        return f"<{self.name}: {self.vocabulary_size} entries>"

    def segment(self, word: str) -> list[str]:
        return self.tokenizer.segment(word)

    def tokenize(self, text: str) -> list[str]:
        return self.tokenizer.tokenize(text)

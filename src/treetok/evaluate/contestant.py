"""What is compared: anything that cuts words and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Contestant(Protocol):
    """A tokenizer under the one interface of the evaluation."""

    name: str
    # Entries it may use; None where nobody can say. It is what Renyi efficiency is divided by.
    vocabulary_size: int | None

    def segment(self, word: str) -> list[str]:
        """One bare word to its pieces, as it would be cut inside a sentence, without markers. They join to the
        word as the contestant's own normalisation leaves it."""

    def tokenize(self, text: str) -> Sequence[str]:
        """Running text to its tokens; equal tokens are equal strings. How a token is written is its own affair."""

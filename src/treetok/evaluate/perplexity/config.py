"""The size of the language model and how it is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass

from treetok.errors import TreetokError, whole_number

LARGEST = {"layers": 64, "heads": 128, "dimension": 8192}


@dataclass(frozen=True)
class PerplexityConfig:
    """
    context_length: tokens that the model sees at once. Longer sentences are split for training; when measured,
        every token beyond the first context is preceded by at least half a context.
    characters: how much text to train on; a shorter text is repeated.
    characters_per_step: how much of it per optimizer step.
    warm_up: share of the steps in which the learning rate rises.
    """

    layers: int = 4
    heads: int = 4
    dimension: int = 256
    context_length: int = 512
    dropout: float = 0.0
    characters: int = 20_000_000
    characters_per_step: int = 32_768
    learning_rate: float = 1e-3
    warm_up: float = 0.05
    weight_decay: float = 0.1
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("context_length", "characters", "characters_per_step"):
            whole_number(name, getattr(self, name), least=1)
        whole_number("seed", self.seed, least=0)
        for name, largest in LARGEST.items():
            if not 1 <= (number := getattr(self, name)) <= largest:
                raise TreetokError(f"{name} must be from 1 to {largest}, not {number}")
        if self.dimension % self.heads:
            raise TreetokError(
                f"dimension must be a multiple of {self.heads}, the number of heads, not {self.dimension}"
            )
        if not 0 < self.learning_rate < math.inf:
            raise TreetokError(f"learning_rate must be above 0 and finite, not {self.learning_rate}")

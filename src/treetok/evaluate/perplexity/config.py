"""The size of the language model and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass


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

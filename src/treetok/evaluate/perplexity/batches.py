"""Which sentences go into which training step: the same for every tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treetok.evaluate.perplexity.config import PerplexityConfig

# Sentences are sorted by length within this many batches, so that batches have little padding.
BATCHES_PER_POOL = 50


def plan_batches(lengths: Sequence[int], config: PerplexityConfig) -> list[list[int]]:
    """Sentence numbers for every step: about `characters_per_step` in each, until the budget is used up. Lengths
    are in characters, so the plan does not depend on the tokenizer.

    >>> plan_batches([5, 5, 5, 5], PerplexityConfig(characters=20, characters_per_step=10))
    [[1, 3], [2, 0]]
    """
    random = np.random.default_rng(config.seed)
    batches: list[list[int]] = []
    left = config.characters
    while left > 0:
        order = random.permutation(len(lengths))
        pool: list[int] = []
        characters = 0
        for number in order.tolist():
            pool.append(number)
            characters += lengths[number]
            left -= lengths[number]
            if characters >= BATCHES_PER_POOL * config.characters_per_step or left <= 0:
                batches += batches_of_pool(pool, lengths, config.characters_per_step, random)
                pool, characters = [], 0
            if left <= 0:
                break
        if pool:
            batches += batches_of_pool(pool, lengths, config.characters_per_step, random)
    return batches


def batches_of_pool(
    pool: list[int], lengths: Sequence[int], characters_per_step: int, random: np.random.Generator
) -> list[list[int]]:
    """Batches of sentences of similar length, in random order."""
    batches: list[list[int]] = [[]]
    characters = 0
    for number in sorted(pool, key=lengths.__getitem__):
        if characters >= characters_per_step:
            batches.append([])
            characters = 0
        batches[-1].append(number)
        characters += lengths[number]
    return [batches[number] for number in random.permutation(len(batches))]

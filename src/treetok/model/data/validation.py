"""The end of the corpus is held back: what was never trained on says how much of what was learned is general."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import torch

from treetok.errors import TreetokError
from treetok.model.data.batches import BatchMaker
from treetok.model.losses.objectives import Batch

MOST_BATCHES = 4
# A text of which a single batch would be more than this has nothing to spare.
LARGEST_SHARE = 0.1


def words_held_back(running_words: int, share: float, words_per_batch: int) -> int:
    """How many words at the end of a text are held back: a share of it, but at least a batch; 0 if it is small.

    >>> words_held_back(1_000_000, 0.005, 2000), words_held_back(100_000, 0.005, 2000)
    (5000, 2000)
    >>> words_held_back(10_000, 0.005, 2000), words_held_back(1_000_000, 0.0, 2000)
    (0, 0)
    """
    if not 0 <= share < 1:
        raise TreetokError(f"validation_share must be a number from 0 to below 1, not {share!r}")
    wanted = math.ceil(share * running_words)
    held = max(wanted, words_per_batch)
    return held if share and held <= max(wanted, LARGEST_SHARE * running_words) else 0


def split_numbers(numbers: np.ndarray, share: float, words_per_batch: int) -> tuple[np.ndarray, np.ndarray]:
    """The word numbers of a text to train on, and those held back."""
    at = len(numbers) - words_held_back(len(numbers), share, words_per_batch)
    if not (numbers[at:] >= 0).any():
        # Nothing but words too long for a chart.
        at = len(numbers)
    return numbers[:at], numbers[at:]


def fixed_batches(maker: BatchMaker) -> Sequence[Batch]:
    """A few batches from evenly spaced places of a text, the same ones for every seed; no two of them share a
    running word."""
    at_once = maker.sequences * maker.words_per_sequence
    batches = min(MOST_BATCHES, len(maker.numbers) // at_once)
    sequences = batches * maker.sequences
    last = len(maker.numbers) - maker.words_per_sequence
    starts = torch.arange(sequences) * last // max(1, sequences - 1)
    places = starts[:, None] + torch.arange(maker.words_per_sequence)
    order = torch.randperm(at_once, generator=torch.Generator().manual_seed(0)).to(maker.device)
    running = maker.numbers[places.to(maker.device)].long().view(batches, maker.sequences, -1)
    return [maker.batch_of(running_BT, order) for running_BT in running]


class BatchesPlannedAnew(Sequence[Batch]):
    """The fixed batches of a text, planned each time they are looked at: pruned charts change with the parser."""

    def __init__(self, maker: BatchMaker) -> None:
        self.maker = maker
        self._batches = len(fixed_batches(maker))

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        return iter(fixed_batches(self.maker))

    @overload
    def __getitem__(self, which: int) -> Batch: ...

    @overload
    def __getitem__(self, which: slice) -> Sequence[Batch]: ...

    def __getitem__(self, which: int | slice) -> Batch | Sequence[Batch]:
        return fixed_batches(self.maker)[which]

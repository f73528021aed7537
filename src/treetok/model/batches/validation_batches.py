"""Validation on held-out text: the end of the corpus, which is never trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import torch

from treetok.model.batches.batch import Batch
from treetok.model.batches.maker import BatchMaker

MAX_BATCHES = 4
# Nothing is held out of a text if a single batch would be more than this share of it.
MAX_SHARE = 0.1


def held_out_words(running_words: int, share: float, words_per_batch: int) -> int:
    """The number of words to hold out at the end of a text: a share of it, but at least a batch; 0 if it is small.

    >>> held_out_words(1_000_000, 0.005, 2000), held_out_words(100_000, 0.005, 2000)
    (5000, 2000)
    >>> held_out_words(10_000, 0.005, 2000), held_out_words(1_000_000, 0.0, 2000)
    (0, 0)
    """
    wanted = math.ceil(share * running_words)
    held_out = max(wanted, words_per_batch)
    return held_out if share and held_out <= max(wanted, MAX_SHARE * running_words) else 0


def split_held_out(word_ids: np.ndarray, share: float, words_per_batch: int) -> tuple[np.ndarray, np.ndarray]:
    """The part of a text to train on, and the held-out part."""
    at = len(word_ids) - held_out_words(len(word_ids), share, words_per_batch)
    if not (word_ids[at:] >= 0).any():
        # All held-out words are too long for a chart.
        at = len(word_ids)
    return word_ids[:at], word_ids[at:]


def make_validation_batches(maker: BatchMaker) -> Sequence[Batch]:
    """A few batches from evenly spaced positions in a text, independent of the seed; none of them overlap."""
    words_per_batch = maker.sequences * maker.words_per_sequence
    batches = min(MAX_BATCHES, len(maker.word_ids) // words_per_batch)
    sequences = batches * maker.sequences
    last = len(maker.word_ids) - maker.words_per_sequence
    starts = torch.arange(sequences) * last // max(1, sequences - 1)
    positions = starts[:, None] + torch.arange(maker.words_per_sequence)
    order = torch.randperm(words_per_batch, generator=torch.Generator().manual_seed(0)).to(maker.device)
    running = maker.word_ids[positions.to(maker.device)].long().view(batches, maker.sequences, -1)
    return [maker.batch_of(running_BT, order) for running_BT in running]


class ReplannedValidationBatches(Sequence[Batch]):
    """The validation batches of a text, with charts planned anew at every access: pruned charts change with the
    parser."""

    def __init__(self, maker: BatchMaker) -> None:
        self.maker = maker
        self._batches = len(make_validation_batches(maker))

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        return iter(make_validation_batches(self.maker))

    @overload
    def __getitem__(self, which: int) -> Batch: ...

    @overload
    def __getitem__(self, which: slice) -> Sequence[Batch]: ...

    def __getitem__(self, which: int | slice) -> Batch | Sequence[Batch]:
        return make_validation_batches(self.maker)[which]

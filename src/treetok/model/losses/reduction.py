"""How losses are reduced over a batch: the hook that data-parallel training overrides."""

from __future__ import annotations

from torch import Tensor

from treetok.model.batches.batch import Batch


class BatchReduction:
    """Gathers vectors and averages losses over a batch that is all in this process. Where processes share a batch,
    they exchange what the others have (`training/data_parallel.py`)."""

    def gather_words(self, words_WD: Tensor, batch: Batch) -> Tensor:
        """The vectors of all distinct words of the batch."""
        return words_WD

    def gather_states(self, states_BTD: Tensor, batch: Batch) -> Tensor:
        """The language model's states of all sequences of the batch."""
        return states_BTD

    def mean(self, losses: Tensor, weights: Tensor) -> Tensor:
        """The weighted mean; 0 where there are no weights."""
        return (losses * weights).sum() / weights.sum().clamp_min(1e-9)

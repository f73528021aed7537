"""Batches of running text, sampled at random; a batch depends on the seed and the step alone.

Shapes: W distinct words, B sequences of T words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokError
from treetok.model.batches.batch import Batch, targets_of
from treetok.model.charts.plan import ChartPlan

TOO_LONG = -1


def mixed_seed(seed: int, step: int) -> int:
    """One seed from two numbers, unrelated for neighbouring steps."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def chart_numbers(sequence: WordSequence, words: list[str]) -> np.ndarray:
    """The sequence as indices into `words`, TOO_LONG for words that are not among them."""
    id_of_word = {word: word_id for word_id, word in enumerate(words)}
    new_ids = np.array([id_of_word.get(word, TOO_LONG) for word in sequence.words], dtype=np.int32)
    ids: np.ndarray = new_ids[sequence.numbers]
    return ids


@dataclass(frozen=True)
class DrawnWords:
    """A batch before its charts are planned: the ids of its distinct words, longest first, and the running words
    as in `Batch`."""

    distinct_W: Tensor
    words_BT: Tensor
    chosen_W: Tensor
    count_W: Tensor


class BatchMaker:
    """Samples sequences of words and plans the charts of their distinct words.

    word_ids: the running text, as made by `chart_numbers`.
    lengths: the length of each word.
    """

    def __init__(
        self,
        word_ids: np.ndarray,
        lengths: np.ndarray,
        plan: Callable[[Tensor], ChartPlan],
        sequences: int,
        words_per_sequence: int,
        seed: int,
        device: torch.device | str,
    ) -> None:
        if len(word_ids) < 2 or not (word_ids >= 0).any():
            raise TreetokError("the corpus is too small to train on: it needs at least two words")
        self.word_ids = torch.from_numpy(word_ids).to(device)
        self.lengths = torch.from_numpy(lengths).to(device)
        self.plan = plan
        self.sequences, self.words_per_sequence = sequences, min(words_per_sequence, len(word_ids))
        self.seed, self.device = seed, device

    def draw(self, step: int) -> Batch:
        """The batch of a step."""
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, step))
        last = len(self.word_ids) - self.words_per_sequence
        starts = torch.randint(0, last + 1, (self.sequences, 1), generator=generator).to(self.device)
        order = torch.randperm(self.sequences * self.words_per_sequence, generator=generator).to(self.device)
        running = self.word_ids[starts + torch.arange(self.words_per_sequence, device=self.device)].long()
        return self.batch_of(running, order)

    def batch_of(self, running_BT: Tensor, order: Tensor) -> Batch:
        """The batch of given running words. Of the positions of a word, the last one in `order` is chosen."""
        return self.planned(self.deduplicated(running_BT, order))

    def deduplicated(self, running_BT: Tensor, order: Tensor) -> DrawnWords:
        """The distinct words of running text, and the text as indices into them."""
        distinct, index_BT, count = torch.unique(running_BT, return_inverse=True, return_counts=True)
        has_long = int(distinct[0] == TOO_LONG)
        words = distinct[has_long:]
        by_length = torch.argsort(self.lengths[words], descending=True, stable=True)
        rank = torch.empty_like(by_length)
        rank[by_length] = torch.arange(len(words), device=words.device)
        if has_long:
            rank = torch.cat([rank.new_full((1,), len(words)), rank])
        words_BT = rank[index_BT]
        chosen = torch.zeros(len(words) + 1, dtype=torch.int64, device=words.device)
        # Sorted by word, then by order, so that every word is written once: duplicate indices would race on a GPU.
        flat = words_BT.reshape(-1)[order]
        by_word = torch.argsort(flat, stable=True)
        sorted_words = flat[by_word]
        is_last = torch.ones_like(sorted_words, dtype=torch.bool)
        is_last[:-1] = sorted_words[1:] != sorted_words[:-1]
        chosen[sorted_words[is_last]] = order[by_word[is_last]]
        return DrawnWords(words[by_length], words_BT, chosen[: len(words)], count[has_long:][by_length])

    def planned(self, drawn: DrawnWords) -> Batch:
        """The batch of these words, with charts and targets."""
        plan = self.plan(drawn.distinct_W)
        characters, spans = targets_of(plan)
        is_candidate = torch.ones(len(drawn.distinct_W) + 1, dtype=torch.bool, device=drawn.distinct_W.device)
        return Batch(plan, drawn.words_BT, drawn.chosen_W, drawn.count_W, characters, spans, is_candidate)

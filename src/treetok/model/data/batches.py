"""Batches of running text, drawn at random; which one is drawn depends on the seed and the step alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokError
from treetok.model.charts.chart import ChartPlan
from treetok.model.losses.objectives import Batch, targets_of

TOO_LONG = -1


def mixed_seed(seed: int, step: int) -> int:
    """One number from two, well apart for neighbouring steps."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def chart_numbers(sequence: WordSequence, words: list[str]) -> np.ndarray:
    """The sequence with words numbered as in `words`, TOO_LONG where a word is not among them."""
    place = {word: number for number, word in enumerate(words)}
    renumber = np.array([place.get(word, TOO_LONG) for word in sequence.words], dtype=np.int32)
    numbers: np.ndarray = renumber[sequence.numbers]
    return numbers


@dataclass(frozen=True)
class DrawnWords:
    """The words of a batch before their charts are planned: the numbers of its distinct words, the longest first,
    and what `Batch` says of running words."""

    distinct_W: Tensor
    words_BT: Tensor
    chosen_W: Tensor
    count_W: Tensor


class BatchMaker:
    """Draws sequences of words and plans the charts of their distinct words."""

    def __init__(
        self,
        numbers: np.ndarray,
        lengths: np.ndarray,
        plan: Callable[[Tensor], ChartPlan],
        sequences: int,
        words_per_sequence: int,
        seed: int,
        device: torch.device | str,
    ) -> None:
        if len(numbers) < 2 or not (numbers >= 0).any():
            raise TreetokError("the corpus is too small to train on: it needs at least two words")
        self.numbers = torch.from_numpy(numbers).to(device)
        self.lengths = torch.from_numpy(lengths).to(device)
        self.plan = plan
        self.sequences, self.words_per_sequence = sequences, min(words_per_sequence, len(numbers))
        self.seed, self.device = seed, device

    def draw(self, step: int) -> Batch:
        """The batch of a step."""
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, step))
        last = len(self.numbers) - self.words_per_sequence
        starts = torch.randint(0, last + 1, (self.sequences, 1), generator=generator).to(self.device)
        order = torch.randperm(self.sequences * self.words_per_sequence, generator=generator).to(self.device)
        running = self.numbers[starts + torch.arange(self.words_per_sequence, device=self.device)].long()
        return self.batch_of(running, order)

    def batch_of(self, running_BT: Tensor, order: Tensor) -> Batch:
        """A batch of given running words. Of the places where a word stands, the last in `order` is chosen."""
        return self.planned(self.in_order(running_BT, order))

    def in_order(self, running_BT: Tensor, order: Tensor) -> DrawnWords:
        """Running words as places among the distinct ones."""
        distinct, place_BT, count = torch.unique(running_BT, return_inverse=True, return_counts=True)
        has_long = int(distinct[0] == TOO_LONG)
        words = distinct[has_long:]
        by_length = torch.argsort(self.lengths[words], descending=True, stable=True)
        rank = torch.empty_like(by_length)
        rank[by_length] = torch.arange(len(words), device=words.device)
        if has_long:
            rank = torch.cat([rank.new_full((1,), len(words)), rank])
        words_BT = rank[place_BT]
        chosen = torch.zeros(len(words) + 1, dtype=torch.int64, device=words.device)
        # Written one after the other, also on a GPU, where equal places would race: sort by word, then by order.
        flat = words_BT.reshape(-1)[order]
        by_word = torch.argsort(flat, stable=True)
        sorted_words = flat[by_word]
        is_last = torch.ones_like(sorted_words, dtype=torch.bool)
        is_last[:-1] = sorted_words[1:] != sorted_words[:-1]
        chosen[sorted_words[is_last]] = order[by_word[is_last]]
        return DrawnWords(words[by_length], words_BT, chosen[: len(words)], count[has_long:][by_length])

    def planned(self, drawn: DrawnWords) -> Batch:
        """The batch of these words, charts and all."""
        plan = self.plan(drawn.distinct_W)
        characters, spans = targets_of(plan)
        is_candidate = torch.ones(len(drawn.distinct_W) + 1, dtype=torch.bool, device=drawn.distinct_W.device)
        return Batch(plan, drawn.words_BT, drawn.chosen_W, drawn.count_W, characters, spans, is_candidate)

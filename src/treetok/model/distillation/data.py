"""The training data of the parser: the trees of words, and their subtrees.

Shapes: N words in total, W words in a batch, S splits, C spans, M new subtrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treetok.errors import TreetokError
from treetok.model.losses.parser_loss import depths_of_splits, parser_loss, splits_of_spans
from treetok.model.network.parser import Parser, ParserTable
from treetok.sources.tree_agreement import SHORTEST_WORD, WORDS_PER_BATCH


class DistillationData:
    """All words and their trees, on the device."""

    def __init__(
        self,
        words: list[str],
        depths_NS: Tensor,
        weights_N: Tensor,
        table: ParserTable,
    ) -> None:
        self.device = depths_NS.device
        self.lengths = np.array([len(word) for word in words], dtype=np.int64)
        self.depths_NS, self.weights_N, self.table = depths_NS, weights_N, table

    def on_device(self, words: npt.NDArray[np.int64]) -> Tensor:
        numbers = torch.from_numpy(words)
        # Does not wait for pending work on the device.
        return numbers.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else numbers

    def loss(self, parser: Parser, words: npt.NDArray[np.int64]) -> Tensor:
        numbers, lengths = self.on_device(words), self.lengths[words]
        widest = int(lengths.max())
        batch = self.table.take(numbers, widest, int(lengths.sum()))
        depths_WS = self.depths_NS[:, : widest - 1].index_select(0, numbers)
        weights_W = self.weights_N.index_select(0, numbers)
        return parser_loss(parser(batch), depths_WS, batch.lengths_W, weights_W)

    @torch.no_grad()
    def agreement(self, parser: Parser, words: npt.NDArray[np.int64], at_once: int) -> float:
        """The share of words whose whole tree the parser predicts correctly."""
        parser.eval()
        agreeing = torch.zeros((), dtype=torch.int64, device=self.device)
        for start in range(0, len(words), at_once):
            numbers = self.on_device(words[start : start + at_once])
            batch = self.table.take(numbers)
            depths_WS = depths_of_splits(parser(batch), batch.lengths_W)
            agreeing += (depths_WS == self.depths_NS.index_select(0, numbers)).all(1).sum()
        parser.train()
        return int(agreeing) / len(words)


def depths_of_words(scores_of_words: Sequence[Any], words: Sequence[str], device: torch.device | str) -> Tensor:
    """The depth of every split of every word, padded with 0."""
    splits = max(map(len, words)) - 1
    if len(scores_of_words) != len(words):
        raise TreetokError(f"the parser's teacher gave {len(scores_of_words)} answers for {len(words)} words")
    depths_NS = torch.zeros((len(words), splits), dtype=torch.int16, device=device)
    for start in range(0, len(words), WORDS_PER_BATCH):
        batch = words[start : start + WORDS_PER_BATCH]
        scores = scores_of_words[start : start + WORDS_PER_BATCH]
        lengths = np.array([len(word) for word in batch])
        if [len(of_word) for of_word in scores] != (lengths - 1).tolist():
            raise TreetokError("the parser's teacher gave no score for each split of each word")
        scores_WS = np.zeros((len(batch), splits), dtype=np.float64)
        scores_WS[np.arange(splits) < (lengths - 1)[:, None]] = np.concatenate(scores)
        if not np.isfinite(scores_WS).all():
            raise TreetokError("the parser's teacher gave a score that is not a finite number")
        depths_WS = depths_of_splits(torch.from_numpy(scores_WS).to(device), torch.from_numpy(lengths).to(device))
        depths_NS[start : start + len(batch)] = depths_WS.to(torch.int16)
    return depths_NS


def subtrees_of(words: list[str], depths_NS: Tensor, chosen: npt.NDArray[np.int64]) -> tuple[list[str], Tensor]:
    """The subtrees of the chosen words that are not words themselves: their letters and their depths."""
    splits = depths_NS.shape[1]
    known = set(words)
    strings: list[str] = []
    depths: list[Tensor] = []
    for start in range(0, len(chosen), WORDS_PER_BATCH):
        batch = chosen[start : start + WORDS_PER_BATCH]
        of_batch = [words[number] for number in batch.tolist()]
        lengths_W = torch.tensor([len(word) for word in of_batch], device=depths_NS.device)
        depths_WS = depths_NS.index_select(0, torch.from_numpy(batch).to(depths_NS.device))
        in_span_WSS = splits_of_spans(depths_WS, lengths_W)
        word_C, split_C = (in_span_WSS.sum(-1) >= SHORTEST_WORD - 1).nonzero(as_tuple=True)
        in_span_CS = in_span_WSS[word_C, split_C]
        first_C, wide_C = in_span_CS.int().argmax(-1), in_span_CS.sum(-1)
        new = []
        places = zip(word_C.tolist(), first_C.tolist(), (first_C + wide_C).tolist(), strict=True)
        for number, (word, first, last) in enumerate(places):
            string = of_batch[word][first : last + 1]
            if string not in known:
                known.add(string)
                strings.append(string)
                new.append(number)
        new_M = torch.tensor(new, dtype=torch.int64, device=depths_NS.device)
        word_M, split_M, first_M, wide_M = (at_C[new_M] for at_C in (word_C, split_C, first_C, wide_C))
        at_S = torch.arange(splits, device=depths_NS.device)
        depths_MS = depths_WS[word_M].gather(1, (first_M[:, None] + at_S).clamp(max=splits - 1))
        depths_MS = depths_MS - depths_WS[word_M, split_M][:, None]
        depths.append(depths_MS.masked_fill(at_S >= wide_M[:, None], 0))
    return strings, torch.cat(depths)

"""The cells of pruned charts: a parser's scores select spans, so that work is linear in the length of a word.

At first every letter is a block. The split with the lowest score goes first: it merges the two blocks beside it,
and spans that cut through a block are no longer composed. With a window of m, the cells are

* every span of at most m + 1 letters, with all its splits;
* after each merge, until m + 1 blocks are left: every run of m + 1 blocks that contains the new one, with splits
  at the m boundaries between its blocks. The last of these runs is the whole word.

Cells that are neither the whole word nor half of another cell are dropped.

Shapes: W words of at most S + 1 letters, C cells, K = m splits of a cell, B = m + 2 bounds of its blocks,
R = m + 1 runs made by a merge.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from treetok.model.charts.span_index import SpanIndex


@dataclass(frozen=True)
class PrunedCells:
    """The cells of some words.

    bounds_CB: where a cell starts, may be split, and ends; cells with fewer than K splits repeat their end.
    splits_C: how many splits a cell has.
    level_C: 0 for letters; for other cells, one more than the higher level of their halves.
    """

    word_C: Tensor
    bounds_CB: Tensor
    splits_C: Tensor
    level_C: Tensor

    @property
    def start_C(self) -> Tensor:
        return self.bounds_CB[:, 0]

    @property
    def end_C(self) -> Tensor:
        return self.bounds_CB[:, -1]

    @property
    def exists_CK(self) -> Tensor:
        """Which of the K splits a cell has."""
        k = torch.arange(self.bounds_CB.shape[1] - 2, device=self.splits_C.device)
        return k < self.splits_C[:, None]

    def span_ids(self, spans: SpanIndex) -> Tensor:
        return spans.ids(self.word_C, self.end_C - self.start_C, self.start_C)

    def halves(self, spans: SpanIndex) -> tuple[Tensor, Tensor]:
        """The span ids of the left and the right half of every split."""
        return halves(spans, self.word_C, self.bounds_CB)


def halves(spans: SpanIndex, word_C: Tensor, bounds_CB: Tensor) -> tuple[Tensor, Tensor]:
    word_C1, inner_CK = word_C[:, None], bounds_CB[:, 1:-1]
    start_C1, end_C1 = bounds_CB[:, :1], bounds_CB[:, -1:]
    return spans.ids(word_C1, inner_CK - start_C1, start_C1), spans.ids(word_C1, end_C1 - inner_CK, inner_CK)


def short_cells(lengths_W: Tensor, longest: int, window: int) -> PrunedCells:
    """Every span of at most m + 1 letters."""
    device = lengths_W.device
    width_1R1 = torch.arange(1, window + 2, device=device)[None, :, None]
    start_11L = torch.arange(longest, device=device)[None, None]
    word_C, splits_C, start_C = (start_11L + width_1R1 <= lengths_W[:, None, None]).nonzero().unbind(1)
    steps_B = torch.arange(window + 2, device=device)
    bounds_CB = start_C[:, None] + torch.minimum(steps_B, splits_C[:, None] + 1)
    return PrunedCells(word_C, bounds_CB, splits_C, splits_C)


def merge_order(scores_WS: Tensor, lengths_W: Tensor) -> Tensor:
    """The splits of every word by rising score, ties from left to right; splits past a word's end come last."""
    splits_S = torch.arange(scores_WS.shape[1], device=scores_WS.device)
    beyond_WS = splits_S >= lengths_W[:, None] - 1
    # NaN sorts after infinity, and must not come after the padding.
    return scores_WS.nan_to_num().masked_fill(beyond_WS, torch.inf).argsort(dim=1, stable=True)


def runs_of_merges(
    order_WS: Tensor, lengths_W: Tensor, longest: int, window: int
) -> tuple[Tensor, Tensor, list[int]]:
    """Every run of m + 1 blocks that contains the block a merge has just made: its word and its bounds, merge by
    merge; and how many runs each of the merges makes, until m + 1 blocks are left of the longest word."""
    device = order_WS.device
    merges, words = max(longest - window - 1, 0), len(lengths_W)
    at_L = torch.arange(longest + 1, device=device)
    merge_M = torch.arange(merges, device=device)[:, None, None]
    # When the boundary at a place goes; the ends of a word stay, and there is none past it.
    gone_WL = torch.full((words, longest + 1), longest, device=device)
    gone_WL.scatter_(1, order_WS + 1, torch.arange(longest - 1, device=device).expand_as(order_WS))
    gone_WL = gone_WL.masked_fill(at_L == lengths_W[:, None], longest).masked_fill(at_L > lengths_W[:, None], -1)
    is_left_MWL = gone_WL > merge_M
    before_MWL = torch.cumsum(is_left_MWL, 2)
    # The bounds of all blocks, padded by repeating the end of the word; entry L is for what is not left.
    bounds_MWL = lengths_W[None, :, None].expand(merges, -1, longest + 2).contiguous()
    place_MWL = torch.where(is_left_MWL, before_MWL - 1, longest + 1)
    bounds_MWL = bounds_MWL.scatter(2, place_MWL, at_L.expand_as(place_MWL))[..., :-1]
    # The block that a merge makes ends at the first bound after the one that goes.
    new_MW = before_MWL.gather(2, (order_WS[:, :merges].t() + 1)[..., None])
    first_MWR = new_MW - 1 - window + torch.arange(window + 1, device=device)
    blocks_MW1 = lengths_W[None, :, None] - 1 - merge_M
    exists_MWR = (first_MWR >= 0) & (first_MWR + window + 1 <= blocks_MW1)
    merge_C, word_C, run_C = exists_MWR.nonzero().unbind(1)
    first_C = first_MWR[merge_C, word_C, run_C]
    steps_B = torch.arange(window + 2, device=device)
    bounds_CB = bounds_MWL[merge_C[:, None], word_C[:, None], first_C[:, None] + steps_B]
    return word_C, bounds_CB, torch.bincount(merge_C, minlength=merges).tolist()


def pruned_cells(lengths_W: Tensor, scores_WS: Tensor, window: int) -> PrunedCells:
    """The cells of words whose splits have these scores.

    With a window of 1 they are the spans of the tree that the scores stand for:
    >>> cells = pruned_cells(torch.tensor([4]), torch.tensor([[0.3, 0.1, 0.2]]), window=1)
    >>> sorted(zip(cells.start_C.tolist(), cells.end_C.tolist()))
    [(0, 1), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (3, 4)]
    """
    longest = scores_WS.shape[1] + 1
    spans = SpanIndex(lengths_W)
    short = short_cells(lengths_W, longest, window)
    if longest <= window + 1:
        return short
    level_of_span = torch.zeros(spans.total, dtype=torch.int64, device=lengths_W.device)
    level_of_span[short.span_ids(spans)] = short.level_C
    order_WS = merge_order(scores_WS, lengths_W)
    word_C, bounds_CB, runs_of_merge = runs_of_merges(order_WS, lengths_W, longest, window)
    halves_CK = torch.cat(halves(spans, word_C, bounds_CB), 1)
    span_C = spans.ids(word_C, bounds_CB[:, -1] - bounds_CB[:, 0], bounds_CB[:, 0])
    # The halves of a run are short, or runs of earlier merges.
    levels = []
    for first, end in pairwise(accumulate(runs_of_merge, initial=0)):
        levels.append(level_of_span[halves_CK[first:end]].amax(1) + 1)
        level_of_span[span_C[first:end]] = levels[-1]
    cells = PrunedCells(
        torch.cat([short.word_C, word_C]),
        torch.cat([short.bounds_CB, bounds_CB]),
        torch.cat([short.splits_C, torch.full_like(word_C, window)]),
        torch.cat([short.level_C, *levels]),
    )
    return needed_cells(cells, spans)


def needed_cells(cells: PrunedCells, spans: SpanIndex) -> PrunedCells:
    """Drops cells that are neither half of another cell nor a whole word."""
    exists_CK = cells.exists_CK
    # Splits that do not exist write to one extra entry past all spans.
    is_half = torch.zeros(spans.total + 1, dtype=torch.bool, device=exists_CK.device)
    for half_CK in cells.halves(spans):
        is_half[half_CK.where(exists_CK, spans.total)] = True
    is_word_C = cells.end_C - cells.start_C == spans.lengths[cells.word_C]
    needed = (is_half[cells.span_ids(spans)] | is_word_C).nonzero()[:, 0]
    return PrunedCells(
        cells.word_C[needed], cells.bounds_CB[needed], cells.splits_C[needed], cells.level_C[needed]
    )

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


class Blocks:
    """The blocks of all words, merged one pair at a time."""

    def __init__(self, lengths_W: Tensor, longest: int, window: int) -> None:
        self.lengths_W, self.window = lengths_W, window
        # Padded by repeating the end of the word.
        self.bounds = torch.minimum(torch.arange(longest + 1, device=lengths_W.device), lengths_W[:, None])
        self.merges = 0

    def merge(self, split_W: Tensor) -> tuple[Tensor, Tensor]:
        """Merge the two blocks beside a split of every word. Returns the bounds of the R runs that contain the new
        block, and which of them exist."""
        device = split_W.device
        # Remove the boundary that the two blocks share.
        at_W1 = (self.bounds <= split_W[:, None] + 1).sum(1, keepdim=True) - 1
        columns = torch.arange(self.bounds.shape[1] - 1, device=device)
        self.bounds = self.bounds.gather(1, columns + (columns >= at_W1))
        self.merges += 1
        first_WR = at_W1 - 1 - self.window + torch.arange(self.window + 1, device=device)
        blocks_W1 = self.lengths_W[:, None] - self.merges
        exists_WR = (first_WR >= 0) & (first_WR + self.window + 1 <= blocks_W1)
        at_WRB = first_WR[..., None] + torch.arange(self.window + 2, device=device)
        at_WRB = at_WRB.clamp(0, self.bounds.shape[1] - 1)
        return self.bounds.gather(1, at_WRB.flatten(1)).view(at_WRB.shape), exists_WR


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
    # Runs that do not exist write to one extra entry past all spans.
    nowhere = spans.total
    level_of_span = torch.zeros(nowhere + 1, dtype=torch.int64, device=lengths_W.device)
    level_of_span[short.span_ids(spans)] = short.level_C

    order_WS = merge_order(scores_WS, lengths_W)
    blocks = Blocks(lengths_W, longest, window)
    word_C = torch.arange(len(lengths_W), device=lengths_W.device).repeat_interleave(window + 1)
    run_bounds, run_exists, run_levels = [], [], []
    for step in range(longest - window - 1):
        bounds_WRB, exists_WR = blocks.merge(order_WS[:, step])
        bounds_CB, exists_C = bounds_WRB.flatten(0, 1), exists_WR.reshape(-1)
        halves_CK = torch.cat(halves(spans, word_C, bounds_CB), 1).where(exists_C[:, None], nowhere)
        level_C = level_of_span[halves_CK].amax(1) + 1
        span_C = spans.ids(word_C, bounds_CB[:, -1] - bounds_CB[:, 0], bounds_CB[:, 0])
        level_of_span[span_C.where(exists_C, nowhere)] = level_C
        run_bounds.append(bounds_CB)
        run_exists.append(exists_C)
        run_levels.append(level_C)
    if not run_bounds:
        return short
    runs = torch.cat(run_exists).nonzero()[:, 0]
    cells = PrunedCells(
        torch.cat([short.word_C, (runs // (window + 1)) % len(lengths_W)]),
        torch.cat([short.bounds_CB, torch.cat(run_bounds)[runs]]),
        torch.cat([short.splits_C, torch.full_like(runs, window)]),
        torch.cat([short.level_C, torch.cat(run_levels)[runs]]),
    )
    return needed_cells(cells, spans)


def needed_cells(cells: PrunedCells, spans: SpanIndex) -> PrunedCells:
    """Drops cells that are neither half of another cell nor a whole word."""
    exists_CK = cells.exists_CK
    left_CK, right_CK = cells.halves(spans)
    is_half = torch.zeros(spans.total, dtype=torch.bool, device=exists_CK.device)
    is_half[left_CK[exists_CK]] = True
    is_half[right_CK[exists_CK]] = True
    is_word_C = cells.end_C - cells.start_C == spans.lengths[cells.word_C]
    needed = is_half[cells.span_ids(spans)] | is_word_C
    return PrunedCells(
        cells.word_C[needed], cells.bounds_CB[needed], cells.splits_C[needed], cells.level_C[needed]
    )

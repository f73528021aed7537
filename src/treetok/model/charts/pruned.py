"""Pruned charts: a parser's scores say which spans of a word get a cell, so that work is linear in its length.

The lowest score is merged first. At first every letter is a block; each merge makes one block of two, and a span
that cuts through a block is never composed any more. With a window of m, cells are

* every span of at most m + 1 letters, split anywhere;
* after each merge, until m + 1 blocks are left: every run of m + 1 blocks with the new block in it, split at the m
  boundaries between its blocks. The last of them is the whole word.

A cell that is half of no other cell and not the whole word is left out. Spans of at most m + 1 letters have the
same splits in all words and are shared between them, as in complete charts; longer ones belong to one word each.

Shapes: W words of at most S + 1 letters, C cells, K = m ways to split a cell, B = m + 2 bounds of its blocks,
R = m + 1 runs that a merge makes, E pairs of a cell and one of its halves, P parents of a cell,
Q rows of the outside table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treetok.errors import TreetokError
from treetok.model.charts.chart import ChartPlan, InsideLevel, OutsideLevel
from treetok.model.data.substrings import SubstringTable
from treetok.spans import spans_before_width


class Spans:
    """A number for every span of some words: word by word, by width and start."""

    def __init__(self, lengths_W: Tensor) -> None:
        self.lengths_W = lengths_W
        sizes_W = lengths_W * (lengths_W + 1) // 2
        self.first_W = torch.cumsum(sizes_W, 0) - sizes_W
        self.total = int(sizes_W.sum())

    def number(self, word: Tensor, start: Tensor, end: Tensor) -> Tensor:
        number: Tensor = self.first_W[word] + spans_before_width(self.lengths_W[word], end - start) + start
        return number

    def halves(self, word_C: Tensor, bounds_CB: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers of the left and the right half of every split of cells."""
        word_C1, inner_CK = word_C[:, None], bounds_CB[:, 1:-1]
        return (
            self.number(word_C1, bounds_CB[:, :1], inner_CK),
            self.number(word_C1, inner_CK, bounds_CB[:, -1:]),
        )


@dataclass(frozen=True)
class PrunedCells:
    """The cells of some words. `bounds_CB[c]` is where cell c starts, where it may be split and where it ends; a
    cell with fewer than K ways to split it repeats its end. `level_C` is 0 for letters and one more than that of
    the highest half for others."""

    word_C: Tensor
    bounds_CB: Tensor
    ways_C: Tensor
    level_C: Tensor

    @property
    def start_C(self) -> Tensor:
        return self.bounds_CB[:, 0]

    @property
    def end_C(self) -> Tensor:
        return self.bounds_CB[:, -1]


def short_cells(lengths_W: Tensor, longest: int, window: int) -> PrunedCells:
    """Every span of at most m + 1 letters."""
    device = lengths_W.device
    width_1R1 = torch.arange(1, window + 2, device=device)[None, :, None]
    start_11L = torch.arange(longest, device=device)[None, None]
    word_C, narrower_C, start_C = (start_11L + width_1R1 <= lengths_W[:, None, None]).nonzero().unbind(1)
    steps_B = torch.arange(window + 2, device=device)
    bounds_CB = start_C[:, None] + torch.minimum(steps_B, narrower_C[:, None] + 1)
    return PrunedCells(word_C, bounds_CB, narrower_C, narrower_C)


def merge_order(scores_WS: Tensor, lengths_W: Tensor) -> Tensor:
    """The splits of every word, the lowest score first, the left one first where scores are equal. Splits beyond
    a word's end come last."""
    splits_S = torch.arange(scores_WS.shape[1], device=scores_WS.device)
    beyond_WS = splits_S >= lengths_W[:, None] - 1
    # What is no number must not come after what is beyond the end.
    return scores_WS.nan_to_num().masked_fill(beyond_WS, torch.inf).argsort(dim=1, stable=True)


def pruned_cells(lengths_W: Tensor, scores_WS: Tensor, window: int) -> PrunedCells:
    """The cells that scores leave of the charts of words.

    With a window of 1 they are the spans of the one tree that the scores stand for:
    >>> cells = pruned_cells(torch.tensor([4]), torch.tensor([[0.3, 0.1, 0.2]]), window=1)
    >>> sorted(zip(cells.start_C.tolist(), cells.end_C.tolist()))
    [(0, 1), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (3, 4)]
    """
    device = lengths_W.device
    longest = scores_WS.shape[1] + 1
    spans = Spans(lengths_W)
    short = short_cells(lengths_W, longest, window)
    word_W1 = torch.arange(len(lengths_W), device=device)[:, None]
    # One place more than there are spans takes what is written for runs that do not exist.
    nowhere = spans.total
    level_of_span = torch.zeros(nowhere + 1, dtype=torch.int64, device=device)
    level_of_span[spans.number(short.word_C, short.start_C, short.end_C)] = short.level_C

    order_WS = merge_order(scores_WS, lengths_W)
    bounds_of_blocks = torch.minimum(torch.arange(longest + 1, device=device), lengths_W[:, None])
    made_bounds, made_exist, made_levels = [], [], []
    for step in range(longest - window - 1):
        # The bound that the two blocks have in common goes.
        at_W1 = (bounds_of_blocks <= order_WS[:, step, None] + 1).sum(1, keepdim=True) - 1
        columns = torch.arange(longest - step, device=device)
        bounds_of_blocks = bounds_of_blocks.gather(1, columns + (columns >= at_W1))
        first_WR = at_W1 - 1 - window + torch.arange(window + 1, device=device)
        blocks_W1 = lengths_W[:, None] - 1 - step
        exists_WR = (first_WR >= 0) & (first_WR + window + 1 <= blocks_W1)
        at_WRB = first_WR[..., None] + torch.arange(window + 2, device=device)
        at_WRB = at_WRB.clamp(0, longest - step - 1)
        bounds_WRB = bounds_of_blocks.gather(1, at_WRB.flatten(1)).view(at_WRB.shape)
        word_C, bounds_CB = word_W1.expand_as(exists_WR).reshape(-1), bounds_WRB.flatten(0, 1)
        exists_C = exists_WR.reshape(-1)
        halves_CK = torch.cat(spans.halves(word_C, bounds_CB), 1).where(exists_C[:, None], nowhere)
        level_C = level_of_span[halves_CK].amax(1) + 1
        span_C = spans.number(word_C, bounds_CB[:, 0], bounds_CB[:, -1])
        level_of_span[span_C.where(exists_C, nowhere)] = level_C
        made_bounds.append(bounds_CB)
        made_exist.append(exists_C)
        made_levels.append(level_C)
    if not made_bounds:
        return short
    made = torch.cat(made_exist).nonzero()[:, 0]
    cells = PrunedCells(
        torch.cat([short.word_C, (made // (window + 1)) % len(lengths_W)]),
        torch.cat([short.bounds_CB, torch.cat(made_bounds)[made]]),
        torch.cat([short.ways_C, torch.full_like(made, window)]),
        torch.cat([short.level_C, torch.cat(made_levels)[made]]),
    )
    return needed_cells(cells, spans)


def needed_cells(cells: PrunedCells, spans: Spans) -> PrunedCells:
    """Without the cells that are neither half of a cell nor a whole word."""
    ways = cells.bounds_CB.shape[1] - 2
    exists_CK = torch.arange(ways, device=cells.ways_C.device) < cells.ways_C[:, None]
    left_CK, right_CK = spans.halves(cells.word_C, cells.bounds_CB)
    span_C = spans.number(cells.word_C, cells.start_C, cells.end_C)
    is_half = torch.zeros(spans.total, dtype=torch.bool, device=span_C.device)
    is_half[left_CK[exists_CK]] = True
    is_half[right_CK[exists_CK]] = True
    needed = is_half[span_C] | (cells.end_C - cells.start_C == spans.lengths_W[cells.word_C])
    return PrunedCells(cells.word_C[needed], cells.bounds_CB[needed], cells.ways_C[needed], cells.level_C[needed])


# Cells of a level with at most 3, 6, 12, ... parents are computed together. In words of about 9 letters with
# a window of 4 this adds 0.4 of padding to every parent; one group a level would add 2, finer groups are many.
LIKE_NUMBERS_OF_PARENTS = [3, 6, 12, 24, 48, 96, 192]


@dataclass(frozen=True)
class PrunedPlan(ChartPlan):
    # The words by number, and how many letters each has.
    word_numbers: Tensor
    lengths_W: Tensor
    longest: int
    # Of every outside row: where its span starts and ends in its word.
    start_of_outside: Tensor
    end_of_outside: Tensor


class PrunedCharts:
    """Makes pruned plans for any choice of words out of one table of substrings, on any device. `scores` gives,
    for the numbers of W words, a score for each of their splits: W rows as wide as the longest word has splits."""

    def __init__(
        self,
        table: SubstringTable,
        morpheme_of_substring: np.ndarray,
        device: torch.device | str,
        window: int,
        scores: Callable[[Tensor], Tensor],
    ) -> None:
        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        if window < 1:
            raise TreetokError(f"a pruned chart needs a window of at least 1, not {window}")
        self.lengths, self.first_span = put(table.lengths), put(table.first_span)
        self.substring_of_span = put(table.substring_of_span)
        self.morpheme_of_substring = put(morpheme_of_substring.astype(np.int32))
        self.substrings = len(table)
        self.window, self.scores = window, scores

    @torch.no_grad()
    def plan(self, words: Tensor) -> PrunedPlan:
        """A plan for some words, given by number."""
        n = self.lengths[words]
        longest = max(n.tolist(), default=1)
        cells = pruned_cells(n, self.scores(words)[:, : longest - 1], self.window)
        spans = Spans(n)
        span_C = spans.number(cells.word_C, cells.start_C, cells.end_C)
        cell_of_span = span_C.new_zeros(spans.total)
        cell_of_span[span_C] = torch.arange(len(span_C), device=span_C.device)

        # Rows of the inside table: short cells once for all words, by their letters.
        width_C, word_C = cells.end_C - cells.start_C, words[cells.word_C]
        at = self.first_span[word_C] + spans_before_width(self.lengths[word_C], width_C) + cells.start_C
        substring_C = self.substring_of_span[at].long()
        key_C = torch.where(width_C <= self.window + 1, substring_C, self.substrings + span_C)
        keys, key_number_C = torch.unique(key_C, return_inverse=True)
        # Any cell of a row does: all have the same letters, and halves in the same rows.
        cell_of_key = torch.zeros_like(keys)
        cell_of_key[key_number_C] = torch.arange(len(key_C), device=key_C.device)
        keys_by_level = torch.argsort(cells.level_C[cell_of_key], stable=True)
        cell_of_row = cell_of_key[keys_by_level]
        row_of_key = torch.empty_like(keys_by_level)
        row_of_key[keys_by_level] = torch.arange(len(keys), device=keys.device)
        row_C = row_of_key[key_number_C]

        left_CK, right_CK = spans.halves(cells.word_C, cells.bounds_CB)
        exists_CK = torch.arange(self.window, device=row_C.device) < cells.ways_C[:, None]
        left_CK, right_CK = (cell_of_span[half.where(exists_CK, 0)] for half in (left_CK, right_CK))
        rows_of_level = torch.bincount(cells.level_C[cell_of_row], minlength=1).tolist()
        inside_levels, split_of_row = [], [row_C.new_zeros(rows_of_level[0])]
        first_row, splits = rows_of_level[0], 0
        for level, rows in enumerate(rows_of_level[1:], start=1):
            ways = min(level, self.window)
            cell = cell_of_row[first_row : first_row + rows]
            inside_levels.append(InsideLevel(row_C[left_CK[cell, :ways]], row_C[right_CK[cell, :ways]]))
            split_of_row.append(splits + ways * torch.arange(rows, device=row_C.device))
            first_row, splits = first_row + rows, splits + ways * rows
        first_split_C = torch.cat(split_of_row)[row_C]

        edges = halves_of_cells(left_CK, right_CK, exists_CK, row_C, first_split_C)
        roots_W = cell_of_span[spans.number(torch.arange(len(words), device=n.device), torch.zeros_like(n), n)]
        cell_of_outside, outside_levels = outside_of(cells.level_C, roots_W, edges)
        return PrunedPlan(
            self.morpheme_of_substring[substring_C[cell_of_row]].long(),
            rows_of_level[0],
            inside_levels,
            row_C[cell_of_outside],
            cells.word_C[cell_of_outside],
            outside_levels,
            len(words),
            words,
            n,
            longest,
            cells.start_C[cell_of_outside],
            cells.end_C[cell_of_outside],
        )


@dataclass(frozen=True)
class Halves:
    """Every cell that is half of a cell, as often as it is: cells by number, the inside row of the other half,
    where the split's weight stands, and on which side the other half is (0: right)."""

    child_E: Tensor
    parent_E: Tensor
    sibling_row_E: Tensor
    split_E: Tensor
    side_E: Tensor


def halves_of_cells(
    left_CK: Tensor, right_CK: Tensor, exists_CK: Tensor, row_C: Tensor, first_split_C: Tensor
) -> Halves:
    parent, k = exists_CK.nonzero().unbind(1)
    left, right = left_CK[parent, k], right_CK[parent, k]
    split = first_split_C[parent] + k
    return Halves(
        torch.cat([left, right]),
        torch.cat([parent, parent]),
        row_C[torch.cat([right, left])],
        torch.cat([split, split]),
        torch.cat([torch.zeros_like(left), torch.ones_like(right)]),
    )


def outside_of(level_C: Tensor, roots_W: Tensor, halves: Halves) -> tuple[Tensor, list[OutsideLevel]]:
    """The cells of the outside table in order, and its levels. A cell's parents are on higher levels, so the
    highest level comes first; cells of one level are grouped by how many parents they have."""
    device = level_C.device
    parents_C = torch.bincount(halves.child_E, minlength=len(level_C))
    like_number_C = torch.bucketize(parents_C, torch.tensor(LIKE_NUMBERS_OF_PARENTS, device=device))
    group_C = like_number_C - level_C * (len(LIKE_NUMBERS_OF_PARENTS) + 1)
    is_root_C = torch.zeros_like(level_C, dtype=torch.bool)
    is_root_C[roots_W] = True
    others = (~is_root_C).nonzero()[:, 0]
    others = others[torch.argsort(group_C[others], stable=True)]
    cell_of_outside = torch.cat([roots_W, others])
    outside_of_C = torch.empty_like(level_C)
    outside_of_C[cell_of_outside] = torch.arange(len(level_C), device=device)

    child_E = outside_of_C[halves.child_E]
    by_child = torch.argsort(child_E, stable=True)
    child_E = child_E[by_child]
    edges_4E = torch.stack([outside_of_C[halves.parent_E], halves.sibling_row_E, halves.split_E, halves.side_E])
    edges_4E = edges_4E[:, by_child]
    parents_Q = parents_C[cell_of_outside]
    end_of_parents_Q = torch.cumsum(parents_Q, 0)
    rank_E = torch.arange(len(child_E), device=device) - (end_of_parents_Q - parents_Q)[child_E]

    _, number, cells = torch.unique_consecutive(group_C[others], return_inverse=True, return_counts=True)
    end_of_group = len(roots_W) + torch.cumsum(cells, 0)
    most_parents = torch.zeros_like(cells).scatter_reduce(0, number, parents_C[others], "amax")
    groups = torch.stack([end_of_group, end_of_parents_Q[end_of_group - 1], most_parents], 1).tolist()
    levels = []
    first_span, first_edge = len(roots_W), 0
    for end_cell, end_edge, room in groups:
        shape = (end_cell - first_span, room)
        at = (child_E[first_edge:end_edge] - first_span) * room + rank_E[first_edge:end_edge]
        padded = edges_4E.new_zeros(4, shape[0] * room)
        padded[:, at] = edges_4E[:, first_edge:end_edge]
        parent_CP, sibling_CP, split_CP, side_CP = padded.view(4, *shape).unbind(0)
        exists_CP = None
        if end_edge - first_edge < shape[0] * room:
            exists_CP = torch.zeros(shape[0] * room, dtype=torch.bool, device=device)
            exists_CP[at] = True
            exists_CP = exists_CP.view(shape)
        levels.append(OutsideLevel(parent_CP, sibling_CP, split_CP, side_CP, exists_CP))
        first_span, first_edge = end_cell, end_edge
    return cell_of_outside, levels

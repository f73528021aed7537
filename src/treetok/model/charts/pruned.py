"""Plans for pruned charts, whose cells a parser's scores select (`pruned_cells.py`).

Spans of at most m + 1 letters have the same splits in all words and are shared between them, as in complete
charts; longer ones belong to one word each.

Shapes: W words of at most S + 1 letters, C cells, K = m splits of a cell, E pairs of a cell and one of its halves,
Q rows of the outside table, R of the inside table, L levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from treetok.errors import TreetokError
from treetok.model.charts.plan import ChartPlan, InsideLevel, OutsideLevel, PairsOfCells
from treetok.model.charts.pruned_cells import PrunedCells, pruned_cells
from treetok.model.charts.span_index import SpanIndex, SubstringIndex
from treetok.model.data.substrings import SubstringTable


@dataclass(frozen=True)
class PrunedPlan(ChartPlan):
    word_ids: Tensor
    lengths_W: Tensor
    longest: int
    letters: int
    # For every outside row: the start and end of its span in its word.
    start_of_outside: Tensor
    end_of_outside: Tensor


@dataclass(frozen=True)
class InsideRows:
    """The inside rows of cells, and one of the cells of every row; rows go by level."""

    row_C: Tensor
    cell_of_row: Tensor
    rows_of_level: list[int]


@dataclass(frozen=True)
class Edges:
    """Every pair of a cell and one of its halves: the cells, the inside row of the other half, the position of the
    split's weight, and the side of the other half (0: right, 1: left)."""

    child_E: Tensor
    parent_E: Tensor
    sibling_row_E: Tensor
    split_E: Tensor
    side_E: Tensor


class PrunedCharts:
    """Makes plans for any selection of the words of a substring table. `scores` maps W word ids to the scores of
    their splits, padded to the longest word of the table: [W, S]."""

    def __init__(
        self,
        table: SubstringTable,
        morpheme_of_substring: np.ndarray,
        device: torch.device | str,
        window: int,
        scores: Callable[[Tensor], Tensor],
    ) -> None:
        if window < 1:
            raise TreetokError(f"a pruned chart needs a window of at least 1, not {window}")
        self.index = SubstringIndex(table, morpheme_of_substring, device)
        self.substrings = len(table)
        self.window, self.scores = window, scores

    @torch.no_grad()
    def plan(self, words: Tensor) -> PrunedPlan:
        """A plan for some word ids."""
        n = self.index.lengths[words]
        lengths = n.tolist()
        longest = max(lengths, default=1)
        cells = pruned_cells(n, self.scores(words)[:, : longest - 1], self.window)
        spans = SpanIndex(n)
        span_C = cells.span_ids(spans)
        cell_of_span = span_C.new_zeros(spans.total)
        cell_of_span[span_C] = torch.arange(len(span_C), device=span_C.device)
        exists_CK = cells.exists_CK
        left_CK, right_CK = (cell_of_span[half.where(exists_CK, 0)] for half in cells.halves(spans))

        width_C = cells.end_C - cells.start_C
        substring_C = self.index.substrings(words[cells.word_C], width_C, cells.start_C)
        # Short cells share a row with all cells of the same letters, longer ones have a row each.
        key_C = torch.where(width_C <= self.window + 1, substring_C, self.substrings + span_C)
        rows = inside_rows(key_C, cells)
        inside_levels, first_split_C = self._inside_levels(rows, cells.level_C, left_CK, right_CK)
        edges = edges_of(left_CK, right_CK, exists_CK, rows.row_C, first_split_C)
        root_W = cell_of_span[spans.ids(torch.arange(len(words), device=n.device), n, torch.zeros_like(n))]
        cell_of_outside, outside_levels = outside_table(cells.level_C, len(rows.rows_of_level), root_W, edges)
        return PrunedPlan(
            self.index.morpheme_of_substring[substring_C[rows.cell_of_row]].long(),
            rows.rows_of_level[0],
            inside_levels,
            rows.row_C[cell_of_outside],
            cells.word_C[cell_of_outside],
            outside_levels,
            len(words),
            words,
            n,
            longest,
            sum(lengths),
            cells.start_C[cell_of_outside],
            cells.end_C[cell_of_outside],
        )

    def _inside_levels(
        self, rows: InsideRows, level_C: Tensor, left_CK: Tensor, right_CK: Tensor
    ) -> tuple[list[InsideLevel], Tensor]:
        """The levels, and the position of the first split of every cell among all splits."""
        splits_R = level_C[rows.cell_of_row].clamp(max=self.window)
        first_split_R = torch.cumsum(splits_R, 0) - splits_R
        left_RK, right_RK = (rows.row_C[half_CK[rows.cell_of_row]] for half_CK in (left_CK, right_CK))
        levels = []
        ends = list(accumulate(rows.rows_of_level))
        for level, (first, end) in enumerate(pairwise(ends), start=1):
            splits = min(level, self.window)
            halves = (half_RK[first:end, :splits].contiguous() for half_RK in (left_RK, right_RK))
            levels.append(InsideLevel(*halves))
        return levels, first_split_R[rows.row_C]


def inside_rows(key_C: Tensor, cells: PrunedCells) -> InsideRows:
    """One inside row for all cells with the same key, sorted by level."""
    keys, key_of_cell_C = torch.unique(key_C, return_inverse=True)
    # Any cell of a key will do: all have the same letters, and halves in the same rows.
    cell_of_key = torch.zeros_like(keys)
    cell_of_key[key_of_cell_C] = torch.arange(len(key_C), device=key_C.device)
    keys_by_level = torch.argsort(cells.level_C[cell_of_key], stable=True)
    row_of_key = torch.empty_like(keys_by_level)
    row_of_key[keys_by_level] = torch.arange(len(keys), device=keys.device)
    cell_of_row = cell_of_key[keys_by_level]
    rows_of_level = torch.bincount(cells.level_C[cell_of_row], minlength=1).tolist()
    return InsideRows(row_of_key[key_of_cell_C], cell_of_row, rows_of_level)


def edges_of(left_CK: Tensor, right_CK: Tensor, exists_CK: Tensor, row_C: Tensor, first_split_C: Tensor) -> Edges:
    parent, k = exists_CK.nonzero().unbind(1)
    left, right = left_CK[parent, k], right_CK[parent, k]
    split = first_split_C[parent] + k
    return Edges(
        torch.cat([left, right]),
        torch.cat([parent, parent]),
        row_C[torch.cat([right, left])],
        torch.cat([split, split]),
        torch.cat([torch.zeros_like(left), torch.ones_like(right)]),
    )


def outside_table(level_C: Tensor, levels: int, root_W: Tensor, edges: Edges) -> tuple[Tensor, list[OutsideLevel]]:
    """The cell of every outside row, and the levels. A cell's parents are on higher levels, so the highest level
    comes first; cells of one level are sorted by their number of parents, so that neighbors take equally long."""
    device = level_C.device
    parents_C = torch.bincount(edges.child_E, minlength=len(level_C))
    is_root_C = torch.zeros_like(level_C, dtype=torch.bool)
    is_root_C[root_W] = True
    others = (~is_root_C).nonzero()[:, 0]
    order_C = parents_C - level_C * (len(edges.child_E) + 1)
    cell_of_outside = torch.cat([root_W, others[torch.argsort(order_C[others], stable=True)]])
    outside_of_C = torch.empty_like(level_C)
    outside_of_C[cell_of_outside] = torch.arange(len(level_C), device=device)

    child_E, by_child = torch.sort(outside_of_C[edges.child_E], stable=True)
    edges_4E = torch.stack([outside_of_C[edges.parent_E], edges.sibling_row_E, edges.split_E, edges.side_E])
    edges_4E = edges_4E[:, by_child]
    pairs_Q = parents_C[cell_of_outside]
    level_Q = level_C[cell_of_outside]
    # By level, the highest first: how many cells it has without the roots, and how many pairs.
    cells_L = torch.bincount(levels - 1 - level_Q[len(root_W) :], minlength=levels)
    pairs_L = torch.zeros_like(cells_L).index_add(0, levels - 1 - level_Q, pairs_Q)
    # Within their level.
    first_L = torch.cumsum(pairs_L, 0) - pairs_L
    first_Q = torch.cumsum(pairs_Q, 0) - pairs_Q - first_L[levels - 1 - level_Q]
    first_row_L = len(root_W) + torch.cumsum(cells_L, 0) - cells_L
    cell_E = child_E - first_row_L[levels - 1 - level_Q[child_E]]

    outside_levels = []
    row, pair = len(root_W), 0
    for cells, pairs in torch.stack([cells_L, pairs_L], 1).tolist():
        rows, edges_of_level = slice(row, row + cells), slice(pair, pair + pairs)
        if cells:
            pairs_of_cells = PairsOfCells(first_Q[rows], pairs_Q[rows], cell_E[edges_of_level])
            parent_N, sibling_N, split_N, side_N = edges_4E[:, edges_of_level].unbind(0)
            outside_levels.append(OutsideLevel(parent_N, sibling_N, split_N, side_N, cells, pairs_of_cells))
        row, pair = rows.stop, edges_of_level.stop
    return cell_of_outside, outside_levels

"""Plans for pruned charts, whose cells a parser's scores select (`pruned_cells.py`).

Spans of at most m + 1 letters have the same splits in all words and are shared between them, as in complete
charts; longer ones belong to one word each.

Shapes: W words of at most S + 1 letters, C cells, K = m splits of a cell, E pairs of a cell and one of its halves,
P parents of a cell, Q rows of the outside table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treetok.errors import TreetokError
from treetok.model.charts.plan import ChartPlan, InsideLevel, OutsideLevel
from treetok.model.charts.pruned_cells import PrunedCells, pruned_cells
from treetok.model.charts.span_index import SpanIndex, SubstringIndex
from treetok.model.data.substrings import SubstringTable

# Cells of a level with at most 3, 6, 12, ... parents are computed together. With words of about 9 letters and a
# window of 4 that pads every parent by 0.4 entries, a single bucket by 2; finer buckets make more levels.
PARENT_BUCKETS = [3, 6, 12, 24, 48, 96, 192]
# Buckets of a level are joined where that takes no more padding than this: the kernels of a small bucket take
# longer to launch than the padding to compute.
MOST_PADDING_TO_JOIN = 32_768


@dataclass(frozen=True)
class PrunedPlan(ChartPlan):
    word_ids: Tensor
    lengths_W: Tensor
    longest: int
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
        longest = max(n.tolist(), default=1)
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
        inside_levels, first_split_C = self._inside_levels(rows, left_CK, right_CK)
        edges = edges_of(left_CK, right_CK, exists_CK, rows.row_C, first_split_C)
        root_W = cell_of_span[spans.ids(torch.arange(len(words), device=n.device), n, torch.zeros_like(n))]
        cell_of_outside, outside_levels = outside_table(cells.level_C, root_W, edges)
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
            cells.start_C[cell_of_outside],
            cells.end_C[cell_of_outside],
        )

    def _inside_levels(
        self, rows: InsideRows, left_CK: Tensor, right_CK: Tensor
    ) -> tuple[list[InsideLevel], Tensor]:
        """The levels, and the position of the first split of every cell among all splits."""
        row_C = rows.row_C
        first_row, first_split = rows.rows_of_level[0], 0
        levels, split_of_row = [], [row_C.new_zeros(first_row)]
        for level, size in enumerate(rows.rows_of_level[1:], start=1):
            splits = min(level, self.window)
            cell = rows.cell_of_row[first_row : first_row + size]
            levels.append(InsideLevel(row_C[left_CK[cell, :splits]], row_C[right_CK[cell, :splits]]))
            split_of_row.append(first_split + splits * torch.arange(size, device=row_C.device))
            first_row, first_split = first_row + size, first_split + splits * size
        return levels, torch.cat(split_of_row)[row_C]


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


def outside_table(level_C: Tensor, root_W: Tensor, edges: Edges) -> tuple[Tensor, list[OutsideLevel]]:
    """The cell of every outside row, and the levels. A cell's parents are on higher levels, so the highest level
    comes first; cells of one level are grouped by their number of parents."""
    device = level_C.device
    parents_C = torch.bincount(edges.child_E, minlength=len(level_C))
    bucket_C = torch.bucketize(parents_C, torch.tensor(PARENT_BUCKETS, device=device))
    group_C = bucket_C - level_C * (len(PARENT_BUCKETS) + 1)
    is_root_C = torch.zeros_like(level_C, dtype=torch.bool)
    is_root_C[root_W] = True
    others = (~is_root_C).nonzero()[:, 0]
    others = others[torch.argsort(group_C[others], stable=True)]
    cell_of_outside = torch.cat([root_W, others])
    outside_of_C = torch.empty_like(level_C)
    outside_of_C[cell_of_outside] = torch.arange(len(level_C), device=device)

    by_child = torch.argsort(outside_of_C[edges.child_E], stable=True)
    edges_4E = torch.stack([outside_of_C[edges.parent_E], edges.sibling_row_E, edges.split_E, edges.side_E])
    edges_4E = edges_4E[:, by_child]
    parents_Q = parents_C[cell_of_outside]
    end_of_parents_Q = torch.cumsum(parents_Q, 0)

    _, group, cells = torch.unique_consecutive(group_C[others], return_inverse=True, return_counts=True)
    level, most, fewest = (
        torch.zeros_like(cells).scatter_reduce(0, group, of_C[others], limit, include_self=False)
        for of_C, limit in ((level_C, "amax"), (parents_C, "amax"), (parents_C, "amin"))
    )
    levels = []
    first = len(root_W)
    for bucket in joined_buckets([Bucket(*row) for row in torch.stack([level, cells, most, fewest], 1).tolist()]):
        end = first + bucket.cells
        parents_B, ends_B = parents_Q[first:end], end_of_parents_Q[first:end]
        levels.append(padded_level(edges_4E, ends_B - parents_B, parents_B, bucket))
        first = end
    return cell_of_outside, levels


@dataclass(frozen=True)
class Bucket:
    """Some cells of a level, one after the other, and how many parents they have."""

    level: int
    cells: int
    most: int
    fewest: int

    @property
    def size(self) -> int:
        """The number of edges, with padding."""
        return self.cells * self.most


def joined_buckets(buckets: list[Bucket]) -> list[Bucket]:
    """
    >>> joined_buckets([Bucket(2, 10, 3, 1), Bucket(2, 5, 6, 4), Bucket(1, 7, 3, 3)])
    [Bucket(level=2, cells=15, most=6, fewest=1), Bucket(level=1, cells=7, most=3, fewest=3)]
    """
    joined: list[Bucket] = []
    for bucket in buckets:
        before = joined[-1] if joined else None
        if before is None or before.level != bucket.level:
            joined.append(bucket)
            continue
        both = Bucket(
            bucket.level,
            before.cells + bucket.cells,
            max(before.most, bucket.most),
            min(before.fewest, bucket.fewest),
        )
        if both.size - before.size - bucket.size <= MOST_PADDING_TO_JOIN:
            joined[-1] = both
        else:
            joined.append(bucket)
    return joined


def padded_level(edges_4E: Tensor, first_C: Tensor, parents_C: Tensor, bucket: Bucket) -> OutsideLevel:
    """A level of C cells, whose edges lie one after the other from `first_C` on. Where a cell has fewer of them
    than others, the last one is repeated: gradients of padding, which are zeros, are then not all added to one
    row."""
    place_P = torch.arange(bucket.most, device=first_C.device)
    at_CP = first_C[:, None] + torch.minimum(place_P, parents_C[:, None] - 1)
    exists_CP = place_P < parents_C[:, None] if bucket.fewest < bucket.most else None
    parent_CP, sibling_CP, split_CP, side_CP = edges_4E[:, at_CP].unbind(0)
    return OutsideLevel(parent_CP, sibling_CP, split_CP, side_CP, exists_CP)

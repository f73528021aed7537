"""Complete charts: every span of every word. Substrings are shared between words; the outside pass goes by depth.

The depth of a span of width w in a word of n letters is d = n - w. Every span at depth d has exactly d pairs of
parent and sibling, whatever n is, so that one dense level serves words of all lengths. Words are sorted by length,
longest first, so that those that reach depth d are a prefix.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from treetok.model.charts.plan import ChartPlan, InsideLevel, OutsideLevel
from treetok.model.charts.span_index import SubstringIndex, to_device
from treetok.model.data.substrings import SubstringTable


class SplitIndex:
    """The position of a split among all splits of a plan. Cells of width w have consecutive rows and w - 1 splits
    each; `width_ends[w - 1]` is where the rows of width w end."""

    def __init__(self, width_ends: list[int], device: torch.device) -> None:
        first_row = [0, 0, *width_ends[:-1]]
        first_split = [0, 0]
        for width in range(2, len(width_ends) + 1):
            narrower = first_row[width] - first_row[width - 1]
            first_split.append(first_split[-1] + narrower * (width - 2))
        self.first_row = torch.tensor(first_row, device=device)
        self.first_split = torch.tensor(first_split, device=device)

    def positions(self, row: Tensor, width: Tensor, left_width: Tensor) -> Tensor:
        before = self.first_split[width] + (row - self.first_row[width]) * (width - 1)
        return before + left_width - 1


class CompleteCharts:
    """Makes plans for any selection of the words of a substring table."""

    def __init__(
        self, table: SubstringTable, morpheme_of_substring: np.ndarray, device: torch.device | str
    ) -> None:
        self.index = SubstringIndex(table, morpheme_of_substring, device)
        self.word_of_substring = to_device(table.word_of_substring, device)
        self.start_of_substring = to_device(table.start_of_substring, device)
        self.width_starts = to_device(table.width_starts, device)
        # The inside row of every substring in the current plan.
        self._row_of_substring = torch.zeros(len(table), dtype=torch.int64, device=device)

    def plan(self, words: Tensor, outside: bool = True) -> ChartPlan:
        """A plan for some word ids, sorted by length, longest first. Without `outside` only the roots are in the
        outside table: enough to induce trees."""
        used = self._used_substrings(words)
        self._row_of_substring[used] = torch.arange(len(used), device=words.device)
        # Rows are sorted by width because substring ids are.
        width_ends = torch.searchsorted(used, self.width_starts[1:]).tolist()
        row_of_outside, word_of_outside, outside_levels = self._outside_table(
            words, SplitIndex(width_ends, words.device), outside
        )
        return ChartPlan(
            self.index.morpheme_of_substring[used].long(),
            width_ends[0],
            self._inside_levels(used, width_ends),
            row_of_outside,
            word_of_outside,
            outside_levels,
            len(words),
        )

    def _rows(self, word: Tensor, width: Tensor | int, start: Tensor) -> Tensor:
        """The inside rows of spans."""
        return self._row_of_substring[self.index.substrings(word, width, start)]

    def _used_substrings(self, words: Tensor) -> Tensor:
        """The sorted ids of all substrings of some words."""
        n = self.index.lengths[words]
        spans = n * (n + 1) // 2
        owner = torch.repeat_interleave(torch.arange(len(words), device=words.device), spans)
        within = torch.arange(len(owner), device=words.device) - (torch.cumsum(spans, 0) - spans)[owner]
        span_ids = self.index.spans.first_span[words][owner] + within
        used: Tensor = torch.unique(self.index.substring_of_span[span_ids]).long()
        return used

    def _inside_levels(self, used: Tensor, width_ends: list[int]) -> list[InsideLevel]:
        """One level for each width from 2 on that has cells. The halves of a substring are looked up in one word
        that contains it."""
        levels = []
        for width in range(2, len(width_ends) + 1):
            of_width = used[width_ends[width - 2] : width_ends[width - 1]]
            if not len(of_width):
                continue
            word_C1 = self.word_of_substring[of_width].long()[:, None]
            start_C1 = self.start_of_substring[of_width].long()[:, None]
            k_1K = torch.arange(1, width, device=used.device)[None]
            levels.append(
                InsideLevel(
                    self._rows(word_C1, k_1K, start_C1), self._rows(word_C1, width - k_1K, start_C1 + k_1K)
                )
            )
        return levels

    def _outside_table(
        self, words: Tensor, splits: SplitIndex, outside: bool
    ) -> tuple[Tensor, Tensor, list[OutsideLevel]]:
        """For every outside row its inside row and its word; the levels, one for each depth from 1 on."""
        n = self.index.lengths[words]
        lengths = n.tolist()
        levels: list[OutsideLevel] = []
        rows = [self._rows(words, n, torch.zeros_like(n))]
        owners = [torch.arange(len(words), device=words.device)]
        first_of_depth = [0]
        reaching = len(words)
        for depth in range(1, max(lengths, default=1) if outside else 1):
            first_of_depth.append(first_of_depth[-1] + reaching * depth)
            while lengths[reaching - 1] <= depth:
                reaching -= 1
            levels.append(self._outside_level(depth, words[:reaching], n[:reaching], first_of_depth, splits))
            starts = torch.arange(depth + 1, device=words.device)[None]
            rows.append(self._rows(words[:reaching, None], n[:reaching, None] - depth, starts).reshape(-1))
            owners.append(torch.arange(reaching, device=words.device).repeat_interleave(depth + 1))
        return torch.cat(rows), torch.cat(owners), levels

    def _outside_level(
        self, depth: int, words: Tensor, n: Tensor, first_of_depth: list[int], splits: SplitIndex
    ) -> OutsideLevel:
        """The cells at one depth, of words that all reach it: [word, start, pair of parent and sibling]."""
        device = words.device
        word, letters = words[:, None, None], n[:, None, None]
        start = torch.arange(depth + 1, device=device)[:, None]
        j = torch.arange(depth, device=device)[None]
        # The first depth - start pairs of the span at `start` extend it to the right, the others to the left.
        right = j < depth - start
        parent_depth = torch.where(right, start + j, j)
        sibling_width = depth - parent_depth
        parent_start = torch.where(right, start, start - sibling_width)
        sibling_start = torch.where(right, start + letters - depth, parent_start)
        place = torch.arange(len(words), device=device)[:, None, None]
        first = torch.tensor(first_of_depth, device=device)
        parent = first[parent_depth] + place * (parent_depth + 1) + parent_start
        parent_width = letters - parent_depth
        parent_row = self._rows(word, parent_width, parent_start)
        left_width = torch.where(right, letters - depth, sibling_width)
        return OutsideLevel(
            parent.reshape(-1),
            self._rows(word, sibling_width, sibling_start).reshape(-1),
            splits.positions(parent_row, parent_width, left_width).reshape(-1),
            (~right).long().expand(len(words), -1, -1).reshape(-1),
            len(words) * (depth + 1),
        )

"""Complete charts: every span of every word. Substrings are shared; the outside is walked by depth.

The depth of a span of width w in a word of n letters is d = n - w. Every span at depth d has exactly d pairs of
parent and sibling, whatever n is, so that one dense level serves words of all lengths; words are sorted by length,
longest first, so that those that reach depth d are the first ones.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from treetok.model.charts.chart import ChartPlan, InsideLevel, OutsideLevel
from treetok.model.data.substrings import SubstringTable
from treetok.spans import spans_before_width


class CompleteCharts:
    """Makes plans for any choice of words out of one table of substrings, on any device."""

    def __init__(
        self, table: SubstringTable, morpheme_of_substring: np.ndarray, device: torch.device | str
    ) -> None:
        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        self.lengths, self.first_span = put(table.lengths), put(table.first_span)
        self.substring_of_span = put(table.substring_of_span)
        self.word_of_substring, self.start_of_substring = (
            put(table.word_of_substring),
            put(table.start_of_substring),
        )
        self.morpheme_of_substring = put(morpheme_of_substring.astype(np.int32))
        self.width_starts = put(table.width_starts)
        # For every substring its row in the plan under way.
        self._row = torch.zeros(len(table), dtype=torch.int64, device=device)

    def _rows(self, word: Tensor, width: Tensor | int, start: Tensor) -> Tensor:
        """The inside rows of spans."""
        cell = self.first_span[word] + spans_before_width(self.lengths[word], width) + start
        return self._row[self.substring_of_span[cell].long()]

    def plan(self, words: Tensor, outside: bool = True) -> ChartPlan:
        """A plan for some words, given by number and sorted by length, the longest first; trees alone do not
        need the outside."""
        device = words.device
        n = self.lengths[words]
        sizes = n * (n + 1) // 2
        owner = torch.repeat_interleave(torch.arange(len(words), device=device), sizes)
        within = torch.arange(len(owner), device=device) - (torch.cumsum(sizes, 0) - sizes)[owner]
        used = torch.unique(self.substring_of_span[self.first_span[words][owner] + within]).long()
        self._row[used] = torch.arange(len(used), device=device)
        width_ends = torch.searchsorted(used, self.width_starts[1:]).tolist()

        inside_levels = []
        flat_of_width, row_of_width = [0, 0], [0, 0]
        for width in range(2, len(width_ends) + 1):
            first, end = width_ends[width - 2], width_ends[width - 1]
            # The rows of the width before have width - 2 splits each.
            flat_of_width.append(flat_of_width[-1] + (first - row_of_width[-1]) * (width - 2))
            row_of_width.append(first)
            if first == end:
                continue
            at_word = self.word_of_substring[used[first:end]].long()[:, None]
            at_start = self.start_of_substring[used[first:end]].long()[:, None]
            k = torch.arange(1, width, device=device)[None]
            inside_levels.append(
                InsideLevel(self._rows(at_word, k, at_start), self._rows(at_word, width - k, at_start + k))
            )
        flat = torch.tensor(flat_of_width, device=device)
        first_row = torch.tensor(row_of_width, device=device)

        lengths = n.tolist()
        outside_levels: list[OutsideLevel] = []
        rows = [self._rows(words, n, torch.zeros_like(n))]
        owners = [torch.arange(len(words), device=device)]
        base = [0]
        alive = len(words)
        for depth in range(1, max(lengths, default=1) if outside else 1):
            base.append(base[-1] + alive * depth)
            while lengths[alive - 1] <= depth:
                alive -= 1
            word, letters = words[:alive, None, None], n[:alive, None, None]
            start = torch.arange(depth + 1, device=device)[:, None]
            j = torch.arange(depth, device=device)[None]
            # Of the pairs of the span (depth, start), the first depth - start extend it to the right.
            right = j < depth - start
            parent_depth = torch.where(right, start + j, j)
            sibling_width = depth - parent_depth
            parent_start = torch.where(right, start, start - sibling_width)
            sibling_start = torch.where(right, start + letters - depth, parent_start)
            place = torch.arange(alive, device=device)[:, None, None]
            base_of = torch.tensor(base, device=device)
            parent = base_of[parent_depth] + place * (parent_depth + 1) + parent_start
            parent_width = letters - parent_depth
            parent_row = self._rows(word, parent_width, parent_start)
            width_of_left = torch.where(right, letters - depth, sibling_width)
            split = flat[parent_width] + (parent_row - first_row[parent_width]) * (parent_width - 1)
            cells = alive * (depth + 1)
            outside_levels.append(
                OutsideLevel(
                    parent.reshape(cells, depth),
                    self._rows(word, sibling_width, sibling_start).reshape(cells, depth),
                    (split + width_of_left - 1).reshape(cells, depth),
                    (~right).long().expand(alive, -1, -1).reshape(cells, depth),
                )
            )
            starts = torch.arange(depth + 1, device=device)[None]
            rows.append(self._rows(words[:alive, None], n[:alive, None] - depth, starts).reshape(-1))
            owners.append(torch.arange(alive, device=device).repeat_interleave(depth + 1))
        return ChartPlan(
            self.morpheme_of_substring[used].long(),
            width_ends[0],
            inside_levels,
            torch.cat(rows),
            torch.cat(owners),
            outside_levels,
            len(words),
        )

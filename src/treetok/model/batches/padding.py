"""Padding of batches to one shape, so that a training step can be captured once as a CUDA graph and replayed.

Shapes hardly vary from batch to batch. Every level of a chart is padded to a fixed number of cells; padding refers
to row 0 and has no weight. Only complete charts can be padded: their levels are identified by the number of splits
or parents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from treetok.model.batches.batch import Batch, Targets
from treetok.model.charts.plan import ChartPlan, InsideLevel, OutsideLevel

SLACK = 1.04


@dataclass(frozen=True)
class BatchShape:
    """The number of cells of each inside level, by width from 1, and of each outside level, by depth from 0; the
    number of targets."""

    inside_cells: tuple[int, ...]
    outside_cells: tuple[int, ...]
    characters: int
    spans: int

    @property
    def words(self) -> int:
        return self.outside_cells[0]

    def fits(self, capacity: BatchShape) -> bool:
        pairs = [*zip(self.inside_cells, capacity.inside_cells, strict=False)]
        pairs += zip(self.outside_cells, capacity.outside_cells, strict=False)
        pairs += [(self.characters, capacity.characters), (self.spans, capacity.spans)]
        has_more_levels = len(self.inside_cells) > len(capacity.inside_cells) or len(self.outside_cells) > len(
            capacity.outside_cells
        )
        return not has_more_levels and all(size <= limit for size, limit in pairs)


def shape_of(batch: Batch) -> BatchShape:
    """The shape of one batch. A plan leaves out levels without cells, so widths come from the number of splits
    (width - 1), depths from the number of parents."""
    plan = batch.plan
    inside = {1: plan.characters} | {
        level.left_CK.shape[1] + 1: len(level.left_CK) for level in plan.inside_levels
    }
    outside = {0: plan.words} | {level.parents: level.cells for level in plan.outside_levels}
    return BatchShape(
        tuple(inside.get(width, 0) for width in range(1, max(inside) + 1)),
        tuple(outside.get(depth, 0) for depth in range(max(outside) + 1)),
        len(batch.characters.rows),
        len(batch.spans.rows),
    )


def capacity_for(shapes: Iterable[BatchShape], multiple: int = 64) -> BatchShape:
    """A shape that batches like these nearly always fit."""
    seen = list(shapes)

    def capacity(sizes: Iterable[int], unit: int = 1) -> int:
        with_slack = int(max(sizes) * SLACK) + 24 * unit
        return -(-with_slack // (multiple * unit)) * multiple * unit

    def column(rows: list[tuple[int, ...]], at: int) -> list[int]:
        return [row[at] if at < len(row) else 0 for row in rows]

    inside = [shape.inside_cells for shape in seen]
    outside = [shape.outside_cells for shape in seen]
    return BatchShape(
        tuple(capacity(column(inside, at)) for at in range(max(map(len, inside)))),
        # At depth d every word has d + 1 cells, so padding adds whole words.
        tuple(capacity(column(outside, at), unit=at + 1) for at in range(max(map(len, outside)))),
        capacity(shape.characters for shape in seen),
        capacity(shape.spans for shape in seen),
    )


def padded_positions(counts: list[int], capacities: list[int], device: torch.device) -> Tensor:
    """The new position of every row when consecutive groups of `counts` rows are padded to `capacities`.

    >>> padded_positions([2, 1], [3, 4], torch.device("cpu")).tolist()
    [0, 1, 3]
    """
    count = torch.tensor(counts, device=device)
    start = torch.cumsum(torch.tensor([0, *capacities[:-1]], device=device), 0)
    group = torch.repeat_interleave(torch.arange(len(counts), device=device), count)
    within = torch.arange(len(group), device=device) - (torch.cumsum(count, 0) - count)[group]
    return start[group] + within


def pad_rows(values: Tensor, rows: int) -> Tensor:
    """Appends zeros along the first dimension."""
    padded = values.new_zeros((rows, *values.shape[1:]))
    padded[: len(values)] = values
    return padded


def scatter_rows(values: Tensor, positions: Tensor, rows: int) -> Tensor:
    """Zeros, but for `values` at some positions."""
    scattered = values.new_zeros(rows)
    scattered[positions] = values
    return scattered


class PlanPadding:
    """Pads one plan to a capacity: where its inside rows, outside rows and splits go."""

    def __init__(self, plan: ChartPlan, shape: BatchShape, capacity: BatchShape) -> None:
        self.plan, self.capacity = plan, capacity
        self.device = plan.morpheme_of_row.device
        widths, depths = len(capacity.inside_cells), len(capacity.outside_cells)
        inside = [*shape.inside_cells, *[0] * (widths - len(shape.inside_cells))]
        outside = [*shape.outside_cells, *[0] * (depths - len(shape.outside_cells))]
        self.inside_row = padded_positions(inside, list(capacity.inside_cells), self.device)
        self.outside_row = padded_positions(outside, list(capacity.outside_cells), self.device)
        # A cell of width w, which is entry w - 1, has w - 1 splits.
        self.split = padded_positions(
            [inside[splits] * splits for splits in range(1, widths)] or [0],
            [capacity.inside_cells[splits] * splits for splits in range(1, widths)] or [0],
            self.device,
        )

    def padded_plan(self) -> ChartPlan:
        plan, capacity = self.plan, self.capacity
        inside_rows, outside_rows = sum(capacity.inside_cells), sum(capacity.outside_cells)
        return ChartPlan(
            scatter_rows(plan.morpheme_of_row, self.inside_row, inside_rows),
            capacity.inside_cells[0],
            self._inside_levels(),
            scatter_rows(self.inside_row[plan.row_of_outside], self.outside_row, outside_rows),
            scatter_rows(plan.word_of_outside, self.outside_row, outside_rows),
            self._outside_levels(),
            capacity.words,
        )

    def _inside_levels(self) -> list[InsideLevel]:
        by_splits = {level.left_CK.shape[1]: level for level in self.plan.inside_levels}
        levels = []
        for splits, cells in enumerate(self.capacity.inside_cells[1:], start=1):
            none_CK = torch.zeros((0, splits), dtype=torch.int64, device=self.device)
            level = by_splits.get(splits, InsideLevel(none_CK, none_CK))
            left_CK, right_CK = self.inside_row[level.left_CK], self.inside_row[level.right_CK]
            levels.append(InsideLevel(pad_rows(left_CK, cells), pad_rows(right_CK, cells)))
        return levels

    def _outside_levels(self) -> list[OutsideLevel]:
        by_depth = {level.parents: level for level in self.plan.outside_levels}
        none_N = torch.zeros(0, dtype=torch.int64, device=self.device)
        levels = []
        for depth, cells in enumerate(self.capacity.outside_cells[1:], start=1):
            level = by_depth.get(depth, OutsideLevel(none_N, none_N, none_N, none_N, 0))
            pairs = cells * depth
            levels.append(
                OutsideLevel(
                    pad_rows(self.outside_row[level.parent_N], pairs),
                    pad_rows(self.inside_row[level.sibling_N], pairs),
                    pad_rows(self.split[level.split_N], pairs),
                    pad_rows(level.side_N, pairs),
                    cells,
                )
            )
        return levels

    def padded_targets(self, targets: Targets, rows: int) -> Targets:
        return Targets(
            pad_rows(self.outside_row[targets.rows], rows),
            pad_rows(targets.morphemes, rows),
            pad_rows(targets.words, rows),
            pad_rows(targets.exists, rows),
        )


def pad_batch(batch: Batch, capacity: BatchShape) -> Batch:
    """The same batch with tensors of exactly the shapes of `capacity`, and the same losses."""
    words = batch.plan.words
    padding = PlanPadding(batch.plan, shape_of(batch), capacity)
    is_candidate = torch.zeros(capacity.words + 1, dtype=torch.bool, device=padding.device)
    is_candidate[:words] = True
    is_candidate[-1] = True
    return Batch(
        padding.padded_plan(),
        # The index of a word stays; the one that stands for words too long changes.
        torch.where(batch.words_BT == words, capacity.words, batch.words_BT),
        pad_rows(batch.chosen_W, capacity.words),
        pad_rows(batch.count_W, capacity.words),
        padding.padded_targets(batch.characters, capacity.characters),
        padding.padded_targets(batch.spans, capacity.spans),
        is_candidate,
    )

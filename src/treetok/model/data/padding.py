"""Batches of one fixed size, so that a whole training step can be recorded once and replayed.

The sizes of a step hardly vary from batch to batch. Each level of a chart is filled up to a fixed number of cells;
what is added refers to row 0 and has no weight. A batch that does not fit is drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from treetok.model.charts.chart import ChartPlan, InsideLevel, OutsideLevel
from treetok.model.losses.objectives import Batch, Targets

SLACK = 1.04


@dataclass(frozen=True)
class BatchShape:
    """How many there are of everything: inside levels by width from 1, outside levels by depth from 0 (cells)."""

    inside_cells: tuple[int, ...]
    outside_cells: tuple[int, ...]
    characters: int
    spans: int

    @property
    def words(self) -> int:
        return self.outside_cells[0]


def sizes_of(batch: Batch) -> BatchShape:
    """The sizes of one batch; levels without cells are left out of a plan, so that widths come from the ways to
    split (width - 1) and depths from the number of parents."""
    plan = batch.plan
    inside = {1: plan.characters} | {
        level.left_CK.shape[1] + 1: len(level.left_CK) for level in plan.inside_levels
    }
    outside = {0: plan.words} | {level.parent_CP.shape[1]: len(level.parent_CP) for level in plan.outside_levels}
    return BatchShape(
        tuple(inside.get(width, 0) for width in range(1, max(inside) + 1)),
        tuple(outside.get(depth, 0) for depth in range(max(outside) + 1)),
        len(batch.characters.rows),
        len(batch.spans.rows),
    )


def enough_for(batches: Iterable[BatchShape], multiple: int = 64) -> BatchShape:
    """Sizes into which batches like these nearly always fit."""
    seen = list(batches)

    def room(sizes: Iterable[int], unit: int = 1) -> int:
        largest = max(sizes)
        padded = int(largest * SLACK) + 24 * unit
        return -(-padded // (multiple * unit)) * multiple * unit

    def column(rows: list[tuple[int, ...]], at: int) -> list[int]:
        return [row[at] if at < len(row) else 0 for row in rows]

    inside = [sizes.inside_cells for sizes in seen]
    outside = [sizes.outside_cells for sizes in seen]
    return BatchShape(
        tuple(room(column(inside, at)) for at in range(max(map(len, inside)))),
        # At depth d every word has d + 1 cells: whole words are added.
        tuple(room(column(outside, at), unit=at + 1) for at in range(max(map(len, outside)))),
        room(sizes.characters for sizes in seen),
        room(sizes.spans for sizes in seen),
    )


def fits(sizes: BatchShape, room: BatchShape) -> bool:
    pairs = [*zip(sizes.inside_cells, room.inside_cells, strict=False)]
    pairs += zip(sizes.outside_cells, room.outside_cells, strict=False)
    pairs += [(sizes.characters, room.characters), (sizes.spans, room.spans)]
    longer = len(sizes.inside_cells) > len(room.inside_cells) or len(sizes.outside_cells) > len(room.outside_cells)
    return not longer and all(has <= may for has, may in pairs)


def moved(counts: list[int], room: list[int], device: torch.device) -> Tensor:
    """For rows that stand in groups of `counts`: where each is when the groups are filled up to `room`.

    >>> moved([2, 1], [3, 4], torch.device("cpu")).tolist()
    [0, 1, 3]
    """
    count = torch.tensor(counts, device=device)
    start = torch.cumsum(torch.tensor([0, *room[:-1]], device=device), 0)
    group = torch.repeat_interleave(torch.arange(len(counts), device=device), count)
    within = torch.arange(len(group), device=device) - (torch.cumsum(count, 0) - count)[group]
    return start[group] + within


def filled(values: Tensor, rows: int) -> Tensor:
    """A tensor with zeros added to the end of its first dimension."""
    padded = values.new_zeros((rows, *values.shape[1:]))
    padded[: len(values)] = values
    return padded


def pad_batch(batch: Batch, room: BatchShape) -> Batch:
    """The same batch at a fixed size: equal losses, and every tensor has the shape that `room` says."""
    plan, sizes = batch.plan, sizes_of(batch)
    device = plan.morpheme_of_row.device
    widths, depths = len(room.inside_cells), len(room.outside_cells)
    inside_cells = [*sizes.inside_cells, *[0] * (widths - len(sizes.inside_cells))]
    outside_cells = [*sizes.outside_cells, *[0] * (depths - len(sizes.outside_cells))]
    inside_row = moved(inside_cells, list(room.inside_cells), device)
    outside_row = moved(outside_cells, list(room.outside_cells), device)
    ways = range(1, widths)
    split = moved(
        [inside_cells[way] * way for way in ways] or [0],
        [room.inside_cells[way] * way for way in ways] or [0],
        device,
    )
    # A word's place does not change; the number that stands for words too long does.
    words_BT = torch.where(batch.words_BT == plan.words, room.words, batch.words_BT)

    morpheme_of_row = plan.morpheme_of_row.new_zeros(sum(room.inside_cells))
    morpheme_of_row[inside_row] = plan.morpheme_of_row
    row_of_outside = plan.row_of_outside.new_zeros(sum(room.outside_cells))
    row_of_outside[outside_row] = inside_row[plan.row_of_outside]
    word_of_outside = plan.word_of_outside.new_zeros(sum(room.outside_cells))
    word_of_outside[outside_row] = plan.word_of_outside

    by_width = {level.left_CK.shape[1]: level for level in plan.inside_levels}
    by_depth = {level.parent_CP.shape[1]: level for level in plan.outside_levels}
    nothing = torch.zeros(0, dtype=torch.int64, device=device)
    inside_levels = []
    for way in ways:
        inner = by_width.get(way, InsideLevel(nothing.view(0, way), nothing.view(0, way)))
        rows = room.inside_cells[way]
        left, right = filled(inside_row[inner.left_CK], rows), filled(inside_row[inner.right_CK], rows)
        inside_levels.append(InsideLevel(left, right))
    outside_levels = []
    for depth in range(1, depths):
        empty = nothing.view(0, depth)
        outer = by_depth.get(depth, OutsideLevel(empty, empty, empty, empty))
        rows = room.outside_cells[depth]
        outside_levels.append(
            OutsideLevel(
                filled(outside_row[outer.parent_CP], rows),
                filled(inside_row[outer.sibling_CP], rows),
                filled(split[outer.split_CP], rows),
                filled(outer.side_CP, rows),
            )
        )

    def targets(exact: Targets, rows: int) -> Targets:
        at = filled(outside_row[exact.rows], rows)
        return Targets(at, filled(exact.morphemes, rows), filled(exact.words, rows), filled(exact.exists, rows))

    is_candidate = torch.zeros(room.words + 1, dtype=torch.bool, device=device)
    is_candidate[: plan.words] = True
    is_candidate[-1] = True
    return Batch(
        ChartPlan(
            morpheme_of_row,
            room.inside_cells[0],
            inside_levels,
            row_of_outside,
            word_of_outside,
            outside_levels,
            room.words,
        ),
        words_BT,
        filled(batch.chosen_W, room.words),
        filled(batch.count_W, room.words),
        targets(batch.characters, room.characters),
        targets(batch.spans, room.spans),
        is_candidate,
    )

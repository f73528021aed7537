"""Chart plans: the indices that the inside and outside pass gather by, as plain tensors.

Complete and pruned charts differ only in how a plan is made.

Shapes: C cells of a level, K splits of each, P parents of each.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class InsideLevel:
    """Cells whose halves are all in earlier rows of the inside table; they become its next rows."""

    left_CK: Tensor
    right_CK: Tensor


@dataclass(frozen=True)
class OutsideLevel:
    """Cells whose parents are all in earlier rows of the outside table; they become its next rows.

    parent_CP: rows of the outside table.
    sibling_CP: rows of the inside table.
    split_CP: the index, among all split weights, of the split of the parent that yields the cell.
    side_CP: 0 where the sibling is on the right, 1 where it is on the left.
    exists_CP: False where a cell has fewer parents than others of its level; None if all have the same number.
    """

    parent_CP: Tensor
    sibling_CP: Tensor
    split_CP: Tensor
    side_CP: Tensor
    exists_CP: Tensor | None = None


@dataclass(frozen=True)
class ChartPlan:
    """The inside table has one row per distinct character, then those of the levels. The outside table has one row
    per word (its root), then those of the levels."""

    # For every inside row: the id of its morpheme (or character), 0 if it is not one.
    morpheme_of_row: Tensor
    characters: int
    inside_levels: list[InsideLevel]
    # For every outside row: the inside row of the same span, and the word it belongs to.
    row_of_outside: Tensor
    word_of_outside: Tensor
    outside_levels: list[OutsideLevel]
    words: int

    @property
    def root_rows(self) -> Tensor:
        """The inside rows of whole words."""
        return self.row_of_outside[: self.words]

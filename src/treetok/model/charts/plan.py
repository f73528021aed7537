"""Chart plans: the indices that the inside and outside pass gather by, as plain tensors.

Complete and pruned charts differ only in how a plan is made.

Shapes: C cells of a level, K splits of each, N pairs of a cell and one of its parents.
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
class PairsOfCells:
    """For every cell of a level the first of its pairs and their number, for every pair its cell."""

    first_C: Tensor
    pairs_C: Tensor
    cell_N: Tensor


@dataclass(frozen=True)
class OutsideLevel:
    """Cells whose parents are all in earlier rows of the outside table; they become its next rows. The pairs of a
    cell lie one after the other.

    parent_N: rows of the outside table.
    sibling_N: rows of the inside table.
    split_N: the index, among all split weights, of the split of the parent that yields the cell.
    side_N: 0 where the sibling is on the right, 1 where it is on the left.
    pairs_of_cells: where the pairs of each cell are; None if all cells have the same number of parents.
    """

    parent_N: Tensor
    sibling_N: Tensor
    split_N: Tensor
    side_N: Tensor
    cells: int
    pairs_of_cells: PairsOfCells | None = None

    @property
    def parents(self) -> int:
        """How many parents every cell has, if all have the same number."""
        return len(self.parent_N) // self.cells

    def sums(self, x_N: Tensor) -> Tensor:
        """The sum over the pairs of every cell; x may have further dimensions."""
        if self.pairs_of_cells is None:
            return x_N.view(self.cells, self.parents, *x_N.shape[1:]).sum(1)
        return x_N.new_zeros((self.cells, *x_N.shape[1:])).index_add(0, self.pairs_of_cells.cell_N, x_N)

    def highest(self, x_N: Tensor) -> Tensor:
        """The highest value among the pairs of every cell."""
        if self.pairs_of_cells is None:
            return x_N.view(self.cells, self.parents).amax(1)
        cell_N = self.pairs_of_cells.cell_N
        return x_N.new_zeros(self.cells).scatter_reduce(0, cell_N, x_N, "amax", include_self=False)

    def softmax(self, score_N: Tensor) -> Tensor:
        """The softmax over the pairs of every cell."""
        if self.pairs_of_cells is None:
            return score_N.view(self.cells, self.parents).softmax(-1).view(-1)
        cell_N = self.pairs_of_cells.cell_N
        power_N = (score_N - self.highest(score_N.detach()).index_select(0, cell_N)).exp()
        return power_N / self.sums(power_N).index_select(0, cell_N)


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

"""A binary tree over the n characters of a word, represented by n-1 split scores.

Split p is between characters p and p+1. Every span is split at its highest score; ties go left. Any list of
numbers is therefore a valid tree, and any model that predicts numbers can predict trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError

LEAF = -1


@dataclass(frozen=True, slots=True)
class Splits:
    """The inner nodes of a tree, each identified by its split: `left[p]` and `right[p]` are the splits of its
    children, or LEAF if the child is a single character. `root` is LEAF for a word of one character.
    """

    root: int
    left: list[int]
    right: list[int]


def arrange_splits(scores: Sequence[float]) -> Splits:
    """Turn split scores into nodes, in linear time and without recursion.

    >>> arrange_splits([1, 3, 2])
    Splits(root=1, left=[-1, 0, -1], right=[-1, 2, -1])
    """
    n = len(scores)
    left, right = [LEAF] * n, [LEAF] * n
    open_splits: list[int] = []  # non-increasing scores; each is in the right subtree of the one before
    for p in range(n):
        below = LEAF
        while open_splits and scores[open_splits[-1]] < scores[p]:
            below = open_splits.pop()
        left[p] = below
        if open_splits:
            right[open_splits[-1]] = p
        open_splits.append(p)
    return Splits(open_splits[0] if open_splits else LEAF, left, right)


def walk_spans(scores: Sequence[float]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, split) of every node, parents before children, left before right; split is LEAF
    for single characters.

    >>> list(walk_spans([1, 2]))
    [(0, 3, 1), (0, 2, 0), (0, 1, -1), (1, 2, -1), (2, 3, -1)]
    """
    splits = arrange_splits(scores)
    stack = [(0, len(scores) + 1, splits.root)]
    while stack:
        start, end, p = stack.pop()
        yield start, end, p
        if p != LEAF:
            stack.append((p + 1, end, splits.right[p]))
            stack.append((start, p + 1, splits.left[p]))


def split_depths(scores: Sequence[float]) -> list[int]:
    """Depth of each split in the tree (0 at the root): a canonical form, equal for all scores that describe the
    same tree. The negated depths are themselves scores of that tree.

    >>> split_depths([0.3, 0.9, 0.1])
    [1, 0, 1]
    """
    splits = arrange_splits(scores)
    depths = [0] * len(scores)
    stack = [splits.root] if splits.root != LEAF else []
    while stack:
        p = stack.pop()
        for child in (splits.left[p], splits.right[p]):
            if child != LEAF:
                depths[child] = depths[p] + 1
                stack.append(child)
    return depths


def join_scores(scores_of_words: Sequence[Sequence[float]]) -> list[float]:
    """Scores of the tree over several consecutive words: the boundaries between words are the topmost splits.

    >>> join_scores([[1, 2], [], [5]])
    [1, 2, inf, inf, 5]
    """
    joined: list[float] = []
    for number, scores in enumerate(scores_of_words):
        if number:
            joined.append(math.inf)
        joined.extend(scores)
    return joined


def with_leading_space(scores: Sequence[float]) -> list[float]:
    """Scores of the tree of a word with a leading space, which forms a subtree with the first letter.

    >>> with_leading_space([3, 1])
    [-inf, 3, 1]
    """
    return [-math.inf, *scores]


class Tree:
    """A binary tree over the characters of `text`. Trees are equal if text and shape are equal.

    >>> tree = Tree("asking", [1, 2, 9, 2, 1])
    >>> tree.brackets()
    '[[[a s] k] [i [n g]]]'
    """

    __slots__ = ("_depths", "text")

    text: str
    _depths: tuple[int, ...]

    def __init__(self, text: str, scores: Sequence[float] | npt.NDArray[np.floating]) -> None:
        if not isinstance(text, str) or not text:
            raise TreetokError("a tree needs a text of at least one character")
        if not hasattr(scores, "__len__") or not all(isinstance(score, Real) for score in scores):
            raise TreetokError(f"the scores of the tree over {text!r} are not a sequence of numbers")
        if len(scores) != len(text) - 1:
            raise TreetokError(f"a tree over {len(text)} characters has {len(text) - 1} scores, not {len(scores)}")
        values = [float(score) for score in scores]
        if any(map(math.isnan, values)):
            raise TreetokError(f"a score of the tree over {text!r} is NaN")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "_depths", tuple(split_depths(values)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Tree is immutable")

    def __reduce__(self) -> tuple[type[Tree], tuple[str, list[int]]]:
        return Tree, (self.text, self.scores())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (self.text, self._depths) == (other.text, other._depths)

    def __hash__(self) -> int:
        return hash((self.text, self._depths))

    def __repr__(self) -> str:
        return f"Tree({self.text!r}, {self.scores()})"

    def __str__(self) -> str:
        from treetok.drawing import draw_text

        return draw_text(self)

    def scores(self) -> list[int]:
        """Scores of this tree: minus the depth of each split."""
        return [-depth for depth in self._depths]

    def nodes(self) -> Iterator[tuple[int, int, int]]:
        """(start, end, split) of every node, parents before children; split is -1 for single characters."""
        return walk_spans(self.scores())

    def spans(self) -> list[tuple[int, int]]:
        """All (start, end) pairs, end exclusive, leaves and root included, parents before children.

        >>> Tree("ask", [1, 2]).spans()
        [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]
        """
        return [(start, end) for start, end, _ in self.nodes()]

    def brackets(self) -> str:
        """The tree as one line of text, as in the paper: `[[b [o o]] k]`."""
        opened, closed = [0] * len(self.text), [0] * len(self.text)
        for start, end, split in self.nodes():
            if split != LEAF:
                opened[start] += 1
                closed[end - 1] += 1
        leaves = ["[" * opened[i] + self.text[i] + "]" * closed[i] for i in range(len(self.text))]
        return " ".join(leaves)

    def svg(self) -> str:
        """The tree as an SVG picture."""
        from treetok.drawing import draw_svg

        return draw_svg(self)

    def _repr_html_(self) -> str:
        """A picture, in notebooks. As a part of the page it has the page's colour, light or dark."""
        from treetok.drawing import draw_html

        return draw_html(self)

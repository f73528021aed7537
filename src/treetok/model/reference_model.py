"""The composition model by plain recursion over strings: slow, and the reference that charts are tested
against."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from treetok.model.network.composition import CompositionModel
from treetok.model.network.functional import norm


class RecursiveModel:
    """Inside and outside vectors, split weights and span weights of single words, straight from the equations.

    `morpheme` maps a string to its id in the morpheme vocabulary, 0 if it has none.
    """

    def __init__(self, model: CompositionModel, morpheme: Callable[[str], int]) -> None:
        self.model, self.morpheme = model, morpheme
        self.inside = cache(self._inside)
        self.outside = cache(self._outside)

    def _embedding(self, string: str) -> Tensor:
        return self.model.embedding.weight[self.morpheme(string)]

    def _inside(self, string: str) -> tuple[Tensor, Tensor]:
        """The vector of a string and the weights of its splits (eq. 1)."""
        if len(string) == 1:
            return norm(self._embedding(string)), torch.zeros(0)
        scores, vectors = [], []
        for k in range(1, len(string)):
            score, vector = self.model.inside(
                self.inside(string[:k])[0][None], self.inside(string[k:])[0][None], self._embedding(string)[None]
            )
            scores.append(score[0])
            vectors.append(vector[0])
        weights = torch.stack(scores).softmax(0)
        return (weights[:, None] * torch.stack(vectors)).sum(0), weights

    def _outside(self, word: str, start: int, end: int, root: Tensor) -> Tensor:
        """The vector of the context of word[start:end] (appendix, "The neural outside pass")."""
        if end - start == len(word):
            return root
        scores, vectors = [], []
        parents = [(start, k, end, k, 0) for k in range(end + 1, len(word) + 1)]
        parents += [(k, end, k, start, 1) for k in range(start)]
        for parent_start, parent_end, sibling_start, sibling_end, side in parents:
            score, vector = self.model.outside(
                self.outside(word, parent_start, parent_end, root)[None],
                self.inside(word[sibling_start:sibling_end])[0][None],
                torch.tensor([side]),
            )
            scores.append(score[0])
            vectors.append(vector[0])
        weights = torch.stack(scores).softmax(0)
        return (weights[:, None] * torch.stack(vectors)).sum(0)

    def span_weight(self, word: str, start: int, end: int) -> float:
        """The probability p_ij that word[start:end] is in the tree (appendix, "Span weights")."""
        if end - start == len(word):
            return 1.0
        total = 0.0
        for k in range(end + 1, len(word) + 1):
            split = self.inside(word[start:k])[1][end - start - 1]
            total += self.span_weight(word, start, k) * split.item()
        for k in range(start):
            split = self.inside(word[k:end])[1][start - k - 1]
            total += self.span_weight(word, k, end) * split.item()
        return total

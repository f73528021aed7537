"""Ids of the spans of words, and of the substrings they are, as tensors on a device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from treetok.model.data.substrings import SubstringTable
from treetok.span_table import spans_before_width


def to_device(array: np.ndarray, device: torch.device | str) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


class SpanIndex:
    """Consecutive ids for the spans of words: word by word, then by width, then by start, as in
    `treetok.span_table.SpanTable`."""

    def __init__(self, lengths: Tensor) -> None:
        self.lengths = lengths
        sizes = lengths * (lengths + 1) // 2
        self.first_span = torch.cumsum(sizes, 0) - sizes
        self.total = int(sizes.sum())

    def ids(self, word: Tensor, width: Tensor | int, start: Tensor) -> Tensor:
        ids: Tensor = self.first_span[word] + spans_before_width(self.lengths[word], width) + start
        return ids


class SubstringIndex:
    """A table of substrings and the morphemes among them, on a device."""

    def __init__(
        self, table: SubstringTable, morpheme_of_substring: np.ndarray, device: torch.device | str
    ) -> None:
        self.lengths = to_device(table.lengths, device)
        self.spans = SpanIndex(self.lengths)
        self.substring_of_span = to_device(table.substring_of_span, device)
        self.morpheme_of_substring = to_device(morpheme_of_substring.astype(np.int32), device)

    def substrings(self, word: Tensor, width: Tensor | int, start: Tensor) -> Tensor:
        """The ids of the substrings that spans are."""
        return self.substring_of_span[self.spans.ids(word, width, start)].long()

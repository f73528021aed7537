"""The distinct substrings of words, found on the device, with the parts of each and given strings among them.

`tabulate_substrings` does this once for the words of a text. When trees are decoded, batch after batch, sorting on
the CPU would take longer than all that follows. Strings are compared by 64-bit hashes, polynomials in the hashes
of their characters, with wrap-around.

Shapes: W words, S spans, U distinct substrings, C cells (substrings of one width), K splits of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treetok.model.charts.span_index import SpanIndex, to_device
from treetok.span_table import HASH_BASE, character_hashes, string_hashes

BASE = int(np.int64(np.uint64(HASH_BASE).view(np.int64)))


@dataclass(frozen=True)
class BatchSubstrings:
    """Substrings are numbered by width; those of width w are from `width_starts[w - 1]` to `width_starts[w]`."""

    spans: SpanIndex
    substring_of_span: Tensor
    width_starts: list[int]
    hash_U: Tensor
    # One occurrence of each substring.
    word_U: Tensor
    start_U: Tensor

    def __len__(self) -> int:
        return self.width_starts[-1]

    @property
    def widest(self) -> int:
        return len(self.width_starts) - 1

    @classmethod
    def of_words(cls, words: Sequence[str], device: torch.device | str) -> BatchSubstrings:
        lengths_W = to_device(np.array([len(word) for word in words], dtype=np.int64), device)
        spans = SpanIndex(lengths_W)
        codes = to_device(character_hashes(words).view(np.int64), device)
        word = torch.repeat_interleave(torch.arange(len(words), device=codes.device), lengths_W)
        at = torch.arange(len(codes), device=codes.device)
        start = at - (torch.cumsum(lengths_W, 0) - lengths_W)[word]
        substring_of_span = torch.zeros(spans.total, dtype=torch.int64, device=codes.device)
        width_starts = [0]
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        hashes = torch.zeros_like(codes)
        width = 1
        while len(at):
            hashes = hashes * BASE + codes[at + (width - 1)]
            distinct, number = torch.unique(hashes, return_inverse=True)
            substring_of_span[spans.ids(word, width, start)] = number + width_starts[-1]
            # Any occurrence would do; the first, so that results do not depend on the order of writing.
            first = torch.full_like(distinct, len(at)).scatter_reduce(
                0, number, torch.arange(len(at), device=at.device), "amin"
            )
            found.append((distinct, word[first], start[first]))
            width_starts.append(width_starts[-1] + len(distinct))
            longer = start + width < lengths_W[word]
            word, start, at, hashes = word[longer], start[longer], at[longer], hashes[longer]
            width += 1
        hash_U, word_U, start_U = (torch.cat(parts) for parts in zip(*found, strict=True))
        return cls(spans, substring_of_span, width_starts, hash_U, word_U, start_U)

    def halves(self, width: int, first: int, last: int) -> tuple[Tensor, Tensor]:
        """The two parts of every split of the substrings from `first` to `last`, which have this width: [C, K]
        each."""
        word_C1, start_C1 = self.word_U[first:last, None], self.start_U[first:last, None]
        k_1K = torch.arange(1, width, device=word_C1.device)[None]
        left = self.spans.ids(word_C1, k_1K, start_C1)
        right = self.spans.ids(word_C1, width - k_1K, start_C1 + k_1K)
        return self.substring_of_span[left], self.substring_of_span[right]

    def first_splits(self) -> Tensor:
        """For every substring, the number of splits of all substrings before it; at the end that of all."""
        widths = torch.repeat_interleave(
            torch.arange(self.widest, device=self.hash_U.device),
            torch.tensor(np.diff(self.width_starts), device=self.hash_U.device),
        )
        return torch.cat([widths.new_zeros(1), torch.cumsum(widths, 0)])


class StringIndex:
    """A list of distinct strings, by their hashes."""

    def __init__(self, strings: Sequence[str], device: torch.device | str) -> None:
        self._hashes, self._order = to_device(string_hashes(strings).view(np.int64), device).sort()

    def places(self, substrings: BatchSubstrings) -> Tensor:
        """The place of every substring in the list, [U]; -1 for those that are not in it."""
        if not len(self._hashes):
            return torch.full_like(substrings.hash_U, -1)
        at = torch.searchsorted(self._hashes, substrings.hash_U).clamp(max=len(self._hashes) - 1)
        return torch.where(self._hashes[at] == substrings.hash_U, self._order[at], -1)

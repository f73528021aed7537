"""The morphemes among the substrings of a batch, on a device: `MorphemeVocabulary.of_substrings`."""

from __future__ import annotations

import torch
from torch import Tensor

from treetok.model.charts.batch_substrings import BatchSubstrings, StringIndex
from treetok.model.data.morpheme_vocabulary import EMPTY, UNKNOWN_CHARACTER, MorphemeVocabulary


class MorphemeIndex:
    """The morphemes of a vocabulary by the hash of their string."""

    def __init__(self, morphemes: MorphemeVocabulary, device: torch.device | str) -> None:
        self._strings = StringIndex([*morphemes.characters, *morphemes.longer], device)

    def of_substrings(self, substrings: BatchSubstrings) -> Tensor:
        """The id of every substring, [U]."""
        place_U = self._strings.places(substrings)
        otherwise_U = torch.full_like(place_U, EMPTY)
        otherwise_U[: substrings.width_starts[1]] = UNKNOWN_CHARACTER
        # The id of a string is its place among characters and longer strings, after EMPTY and UNKNOWN_CHARACTER.
        return torch.where(place_U >= 0, place_U + 2, otherwise_U)

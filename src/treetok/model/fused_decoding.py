"""Decoding trees on a GPU: `CompositionTrees` by the fused kernels, in 16 bits where that is enough.

Where the best tree of a word is hardly ahead of the next best, 16 bits might choose the wrong one: such words are
decoded again in 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treetok.model.charts.batch_substrings import BatchSubstrings
from treetok.model.charts.morpheme_index import MorphemeIndex
from treetok.model.charts.piece_index import PieceIndex
from treetok.model.data.piece_model import PieceModel
from treetok.model.decoding import LEAST_PROBABILITY, DecodingConfig
from treetok.model.ensemble import EnsembleMember
from treetok.model.kernels.inside_scores import InsideScores
from treetok.model.kernels.mbr_trees import add_log_probabilities, best_trees

# Splits of all words of a batch, those of shared substrings counted again and again: bounds the memory.
SPLITS_PER_BATCH = 16_000_000
# A tree is decoded again if its logarithm is not ahead by this much per member (docs/lab-notes.md).
NEAR_TIE = 0.004


Results = tuple[Sequence[int], list[npt.NDArray[np.float32]], npt.NDArray[np.float32]]


class OnTheWay:
    """A tensor that is copied from the device as soon as it is computed, without waiting for what comes after."""

    def __init__(self, tensor: Tensor) -> None:
        on_gpu = tensor.device.type == "cuda"
        self._copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=on_gpu)
        self._copy.copy_(tensor, non_blocking=True)
        self._copied = torch.cuda.Event() if on_gpu else None  # type: ignore[no-untyped-call]
        if self._copied is not None:
            self._copied.record()

    def array(self) -> npt.NDArray[Any]:
        if self._copied is not None:
            self._copied.synchronize()
        array: npt.NDArray[Any] = self._copy.numpy()
        return array


class FusedTrees:
    """An ensemble of composition models as a source of trees, on a GPU, by MBR decoding over complete charts."""

    def __init__(
        self,
        members: Sequence[EnsembleMember],
        device: torch.device | str,
        morph_overriding: bool = True,
        decoding: DecodingConfig | None = None,
        pieces: PieceModel | None = None,
    ) -> None:
        self.members, self.device = members, device
        self.morph_overriding, self.decoding = morph_overriding, decoding or DecodingConfig()
        self._morphemes = [MorphemeIndex(member.morphemes, device) for member in members]
        self._pieces = None if pieces is None else PieceIndex(pieces, device)

    def split_scores(self, words: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """The negative depth of every split in the best tree of each word."""
        found: list[npt.NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(words)
        near_ties: list[int] = []
        # Neighbours in the alphabet share most of their substrings.
        order = sorted((number for number, word in enumerate(words) if len(word) > 1), key=words.__getitem__)
        threshold = NEAR_TIE * len(self.members)
        for numbers, trees, margins in self._decode(words, order, torch.float16):
            for number, tree in zip(numbers, trees, strict=True):
                found[number] = tree
            near_ties += [numbers[at] for at in np.flatnonzero(margins < threshold).tolist()]
        for numbers, trees, _ in self._decode(words, near_ties, torch.float32):
            for number, tree in zip(numbers, trees, strict=True):
                found[number] = tree
        return found

    @torch.no_grad()
    def _decode(self, words: Sequence[str], order: Sequence[int], dtype: torch.dtype) -> Iterator[Results]:
        """Batch by batch: the numbers of words, their trees, and how far each is ahead of the next best."""
        options = self.morph_overriding, self.decoding.own_morpheme
        scorers = [InsideScores(member.composition, *options, dtype) for member in self.members]
        before: tuple[Sequence[int], list[str], list[OnTheWay]] | None = None
        for numbers in limited_batches(order, [len(word) for word in words], SPLITS_PER_BATCH):
            batch = [words[number] for number in numbers]
            found = [OnTheWay(tensor) for tensor in self._best_trees(scorers, batch)]
            # While the device works on this batch, the trees of the one before are taken over.
            if before is not None:
                yield results_of(*before)
            before = numbers, batch, found
        if before is not None:
            yield results_of(*before)

    def _best_trees(self, scorers: Sequence[InsideScores], words: list[str]) -> tuple[Tensor, Tensor]:
        substrings = BatchSubstrings.of_words(words, self.device)
        of_span_S = torch.zeros(substrings.spans.total, dtype=torch.float32, device=substrings.hash_U.device)
        for scorer, morphemes in zip(scorers, self._morphemes, strict=True):
            score_P = scorer.of_substrings(substrings, morphemes.of_substrings(substrings))
            add_log_probabilities(substrings, score_P, self.decoding.temperature, LEAST_PROBABILITY, of_span_S)
        if self._pieces is not None:
            score_P = self._pieces.split_scores(words, substrings)
            temperature = self.decoding.piece_temperature
            add_log_probabilities(substrings, score_P, temperature, LEAST_PROBABILITY, of_span_S)
        return best_trees(substrings, of_span_S)


def results_of(numbers: Sequence[int], words: Sequence[str], found: Sequence[OnTheWay]) -> Results:
    depths, margins = (on_the_way.array() for on_the_way in found)
    return numbers, as_scores(depths, words), margins


def limited_batches(order: Sequence[int], lengths: Sequence[int], most_splits: int) -> Iterator[Sequence[int]]:
    """Runs of words with at most this many splits in the charts of all; a word that has more comes alone.

    >>> list(limited_batches([2, 0, 1], [4, 3, 2], 12))
    [[2, 0], [1]]
    """
    start, splits = 0, 0
    for end, number in enumerate(order):
        n = lengths[number]
        of_word = (n**3 - n) // 6
        if end > start and splits + of_word > most_splits:
            yield order[start:end]
            start, splits = end, 0
        splits += of_word
    if start < len(order):
        yield order[start:]


def as_scores(depths: npt.NDArray[np.uint8], words: Sequence[str]) -> list[npt.NDArray[np.float32]]:
    """Minus the depths of every word, without padding."""
    splits = np.array([len(word) - 1 for word in words])
    exists = np.arange(depths.shape[1]) < splits[:, None]
    return np.split(-depths[exists].astype(np.float32), np.cumsum(splits)[:-1])

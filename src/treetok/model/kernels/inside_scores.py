"""The scores of all splits of all substrings, by the fused kernels: the inside pass without what training keeps.

The encoders run over a limited number of pairs at a time: memory grows with substrings and splits alone.

Shapes: U substrings, C cells, K splits of each, P splits in total, N pairs of an encoder, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from treetok.model.charts.batch_substrings import BatchSubstrings
from treetok.model.kernels.encoder import EncoderForward, weights_of
from treetok.model.kernels.gather import take_rows
from treetok.model.kernels.weighted_split_sum import combine_candidates
from treetok.model.network.composition import CompositionModel
from treetok.model.network.functional import norm

# An encoder takes about five kilobytes per pair in 16 bits.
PAIRS_AT_ONCE = 1 << 19


class InsideScores:
    """Computes the scores of the splits of a batch's substrings with one model.

    own_morpheme: whether a substring's own embedding is used for its own scores, too (`DecodingConfig`).
    """

    def __init__(
        self, model: CompositionModel, morph_overriding: bool, own_morpheme: bool, dtype: torch.dtype
    ) -> None:
        self.embedding = model.embedding.weight.detach().to(dtype)
        layers: list[Any] = list(model.inside.layers)
        self.layers = [weights_of(layer, dtype) for layer in layers]
        self.heads: int = layers[0].heads
        # Scores stay in 32 bits: softmax and sums of probabilities need them.
        self.score_weight_D = model.inside.score.weight[0].detach().float()
        self.score_bias = model.inside.score.bias[0].detach().float()
        self.morph_overriding, self.own_morpheme = morph_overriding, own_morpheme

    def of_substrings(self, substrings: BatchSubstrings, morpheme_U: Tensor) -> Tensor:
        """The scores of all splits, [P], in the order of `BatchSubstrings.first_splits`."""
        characters, d = substrings.width_starts[1], self.embedding.shape[1]
        if not self.morph_overriding:
            morpheme_U = torch.cat([morpheme_U[:characters], torch.zeros_like(morpheme_U[characters:])])
        table_UD = self.embedding.new_empty((len(substrings), d))
        table_UD[:characters] = norm(self.embedding[morpheme_U[:characters]])
        sizes = [last - first for first, last in pairwise(substrings.width_starts)]
        splits = [size * splits for splits, size in enumerate(sizes)]
        score_P = torch.empty(sum(splits), dtype=torch.float32, device=table_UD.device)
        # At least one substring at a time.
        pairs = max(min(PAIRS_AT_ONCE, max(splits)), substrings.widest - 1)
        encoder = EncoderForward(self.layers, self.heads, pairs, 3, self.embedding)
        parts = list(parts_of_levels(substrings.width_starts, pairs))
        own_U = morpheme_U.nonzero().squeeze(1)
        # The device is waited for once, not once per level.
        bounds = torch.tensor([at for _, cells in parts for at in (cells.start, cells.stop)], device=own_U.device)
        first_own = torch.searchsorted(own_U, bounds).tolist()
        done = 0
        for number, (width, cells) in enumerate(parts):
            count = cells.stop - cells.start
            score_CK = score_P[done : done + count * (width - 1)].view(count, width - 1)
            own = own_U[slice(*first_own[2 * number : 2 * number + 2])] - cells.start
            self._level(encoder, table_UD, substrings, width, cells, morpheme_U[cells], own, score_CK)
            done += score_CK.numel()
        return score_P

    def _level(
        self,
        encoder: EncoderForward,
        table_UD: Tensor,
        substrings: BatchSubstrings,
        width: int,
        cells: slice,
        morpheme_C: Tensor,
        own: Tensor,
        score_CK: Tensor,
    ) -> None:
        """Writes the vectors of some substrings of one width, and the scores of their splits. `own` are those that
        have an embedding of their own."""
        left_CK, right_CK = substrings.halves(width, cells.start, cells.stop)
        weight_CK = torch.empty_like(score_CK)
        out_NTD = self._encode(encoder, table_UD, left_CK, right_CK, self.embedding[morpheme_C])
        score_CK.copy_(self._scores(out_NTD).view_as(score_CK))
        combine_candidates(out_NTD, score_CK, weight_CK, table_UD[cells])
        if self.own_morpheme or not self.morph_overriding:
            return
        if len(own):
            empty = self.embedding[:1].expand(len(own), -1)
            out_NTD = self._encode(encoder, table_UD, left_CK[own], right_CK[own], empty)
            score_CK[own] = self._scores(out_NTD).view(len(own), -1)

    def _encode(
        self, encoder: EncoderForward, table_UD: Tensor, left_CK: Tensor, right_CK: Tensor, morpheme_CD: Tensor
    ) -> Tensor:
        pairs = left_CK.numel()
        x_NTD = encoder.x_NTD[:pairs]
        take_rows(table_UD, left_CK, x_NTD, 0)
        take_rows(table_UD, right_CK, x_NTD, 1)
        x_NTD[:, 2].view(*left_CK.shape, -1).copy_(morpheme_CD[:, None])
        return encoder.forward(pairs)

    def _scores(self, out_NTD: Tensor) -> Tensor:
        return out_NTD[:, 2].float() @ self.score_weight_D + self.score_bias


def parts_of_levels(width_starts: Sequence[int], pairs: int) -> Iterator[tuple[int, slice]]:
    """Widths from 2 on, and as many substrings of that width as have at most `pairs` splits.

    >>> list(parts_of_levels([0, 3, 6, 8], 2))
    [(2, slice(3, 5, None)), (2, slice(5, 6, None)), (3, slice(6, 7, None)), (3, slice(7, 8, None))]
    """
    for width, (first, last) in enumerate(pairwise(width_starts[1:]), start=2):
        cells = pairs // (width - 1)
        for start in range(first, last, cells):
            yield width, slice(start, min(start + cells, last))

"""The composition model: f_alpha for the inside pass (eq. 1), f_beta for the outside pass (appendix).

Shapes: N pairs, D dimensions, T tokens of one small encoder (3 inside, 2 outside), H heads; C cells of a level,
K splits of each.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from treetok.model.config import CompositionConfig
from treetok.model.network.functional import gelu, linear, norm, precise, take_rows


class EncoderLayer(nn.Module):
    """A post-norm Transformer layer over two or three tokens, each with a role (left, right, morpheme, ...)."""

    def __init__(self, config: CompositionConfig, roles: int) -> None:
        super().__init__()
        d = config.dimension
        self.heads = config.heads
        self.role = nn.Parameter(torch.randn(roles, d) * 0.02)
        self.qkv = nn.Linear(d, 3 * d)
        self.attended = nn.Linear(d, d)
        self.hidden = nn.Linear(d, config.hidden)
        self.output = nn.Linear(config.hidden, d)

    def forward(self, x_NTD: Tensor) -> Tensor:
        n, t, d = x_NTD.shape
        qkv = linear(self.qkv, x_NTD + self.role.to(x_NTD.dtype)).view(n, t, 3, self.heads, d // self.heads)
        q_NTHd, k_NTHd, v_NTHd = qkv.unbind(2)
        # With three tokens, elementwise products and sums fuse better than a batched 3 x 3 matrix product.
        scores_NTTH = (q_NTHd.unsqueeze(2) * k_NTHd.unsqueeze(1)).sum(-1) * (d // self.heads) ** -0.5
        weights_NTTH = precise(scores_NTTH).softmax(2).to(v_NTHd.dtype)
        mixed_NTD = (weights_NTTH.unsqueeze(-1) * v_NTHd.unsqueeze(1)).sum(2).reshape(n, t, d)
        x_NTD = norm(x_NTD + linear(self.attended, mixed_NTD))
        fed_NTD = linear(self.output, gelu(linear(self.hidden, x_NTD)))
        return norm(x_NTD + fed_NTD)


def weighted_sum(weight_CK: Tensor, vector_ND: Tensor) -> Tensor:
    """The weighted sum of the K vectors of each of C cells."""
    vector_CKD = vector_ND.view(*weight_CK.shape, -1)
    return (weight_CK.unsqueeze(-1).to(vector_ND.dtype) * vector_CKD).sum(1)


class Inside(nn.Module):
    """f_alpha with MorphOverriding: the two halves of a span and its morpheme embedding to a compatibility score
    and a composition vector."""

    def __init__(self, config: CompositionConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config, roles=3) for _ in range(config.inside_layers))
        self.score = nn.Linear(config.dimension, 1)

    def forward(self, left_ND: Tensor, right_ND: Tensor, morpheme_ND: Tensor) -> tuple[Tensor, Tensor]:
        x_NTD = torch.stack((left_ND, right_ND, morpheme_ND), 1)
        for layer in self.layers:
            x_NTD = layer(x_NTD)
        return linear(self.score, x_NTD[:, 2]).squeeze(-1), norm(x_NTD[:, 0] + x_NTD[:, 1])


class ScoreHalf(nn.Module):
    """One factor of phi_beta, which is a dot product of two small networks."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(dimension, dimension), nn.Linear(dimension, 64)

    def forward(self, x_ND: Tensor) -> Tensor:
        return linear(self.output, gelu(linear(self.hidden, x_ND)))


class Outside(nn.Module):
    """f_beta and phi_beta: a parent's outside vector and a sibling's inside vector to a vector and a score.

    `side_N` is 0 where the sibling is on the right, 1 where it is on the left.
    """

    def __init__(self, config: CompositionConfig) -> None:
        super().__init__()
        d = config.dimension
        self.side = nn.Parameter(torch.randn(2, d) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(config, roles=2) for _ in range(config.outside_layers))
        self.score_of_parent = ScoreHalf(d)
        self.score_of_sibling = ScoreHalf(d)

    def forward(self, parent_ND: Tensor, sibling_ND: Tensor, side_N: Tensor) -> tuple[Tensor, Tensor]:
        side_ND = self.side.to(sibling_ND.dtype).index_select(0, side_N)
        x_NTD = torch.stack((parent_ND, sibling_ND + side_ND), 1)
        for layer in self.layers:
            x_NTD = layer(x_NTD)
        score_N = (self.score_of_parent(x_NTD[:, 0]) * self.score_of_sibling(x_NTD[:, 1])).sum(-1) / 8
        return score_N, norm(x_NTD[:, 0] + x_NTD[:, 1])


class CompositionModel(nn.Module):
    """The parameters of the inside and the outside pass.

    Row 0 of `embedding` is E_empty, for spans that are not morphemes; row 1 is for unknown characters.
    """

    def __init__(self, config: CompositionConfig, morphemes: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(morphemes, config.dimension)
        nn.init.normal_(self.embedding.weight, std=0.1)
        nn.init.zeros_(self.embedding.weight.data[0])
        self.inside = Inside(config)
        self.outside = Outside(config)
        # The outside vector of a word's root where the context does not provide one.
        self.root = nn.Parameter(torch.randn(config.dimension) * 0.02)

    def inside_level(
        self, table: Tensor, morpheme_CD: Tensor, left_CK: Tensor, right_CK: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One level of the inside pass: scores and weights of the splits of C cells, and the cells' vectors."""
        cells, splits = left_CK.shape
        left_ND = take_rows(table, left_CK.reshape(-1))
        right_ND = take_rows(table, right_CK.reshape(-1))
        morpheme_ND = morpheme_CD.unsqueeze(1).expand(cells, splits, -1).reshape(cells * splits, -1)
        score_N, vector_ND = self.inside(left_ND, right_ND, morpheme_ND)
        score_CK = precise(score_N.view(cells, splits))
        weight_CK = score_CK.softmax(-1)
        return score_CK, weight_CK, weighted_sum(weight_CK, vector_ND)

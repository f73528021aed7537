"""The composition model: f_alpha composes two halves, f_beta looks at a span from outside (eq. 1, appendix).

Shapes: N pairs, D dimensions, T tokens of one small encoder (3 inside, 2 outside), H heads.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.model.config import CompositionConfig


class EncoderLayer(nn.Module):
    """One Transformer layer over a handful of tokens that each have a role (left, right, morpheme, ...)."""

    def __init__(self, sizes: CompositionConfig, roles: int) -> None:
        super().__init__()
        d = sizes.dimension
        self.heads = sizes.heads
        self.role = nn.Parameter(torch.randn(roles, d) * 0.02)
        self.qkv = nn.Linear(d, 3 * d)
        self.attended = nn.Linear(d, d)
        self.hidden = nn.Linear(d, sizes.hidden)
        self.output = nn.Linear(sizes.hidden, d)

    def forward(self, x_NTD: Tensor) -> Tensor:
        n, t, d = x_NTD.shape
        qkv = linear(self.qkv, x_NTD + self.role.to(x_NTD.dtype)).view(n, t, 3, self.heads, d // self.heads)
        q_NTHd, k_NTHd, v_NTHd = qkv.unbind(2)
        # Three tokens: products and sums fuse better than a batched matrix product of three by three.
        scores_NTTH = (q_NTHd.unsqueeze(2) * k_NTHd.unsqueeze(1)).sum(-1) * (d // self.heads) ** -0.5
        weights_NTTH = precise(scores_NTTH).softmax(2).to(v_NTHd.dtype)
        mixed_NTD = (weights_NTTH.unsqueeze(-1) * v_NTHd.unsqueeze(1)).sum(2).reshape(n, t, d)
        x_NTD = norm(x_NTD + linear(self.attended, mixed_NTD))
        fed_NTD = linear(self.output, gelu(linear(self.hidden, x_NTD)))
        return norm(x_NTD + fed_NTD)


class TakeRows(torch.autograd.Function):
    """`index_select` whose gradients are added up in 32 bits: more exact than in 16, which also took a seventh of
    a training step (docs/training.md)."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape, ctx.dtype = table.shape, table.dtype
        return table.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        gradient = precise(gradients[0])
        (rows,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_add(0, rows, gradient).to(ctx.dtype), None


def take_rows(table: Tensor, rows: Tensor) -> Tensor:
    taken: Tensor = TakeRows.apply(table, rows)  # type: ignore[no-untyped-call]
    return taken


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """A linear layer in the precision of its input: parameters stay in 32 bits, work may be done in 16."""
    return F.linear(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype))


def precise(x: Tensor) -> Tensor:
    """Half-precision numbers as 32-bit ones, for softmax and losses; others as they are."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def gelu(x: Tensor) -> Tensor:
    """In the form with tanh, as in GPT-2: far cheaper than the error function."""
    return F.gelu(x, approximate="tanh")


def norm(x: Tensor) -> Tensor:
    """Layer norm without parameters, as everywhere in the original."""
    return F.layer_norm(x, x.shape[-1:])


def weighted_sum(weight_CK: Tensor, vector_ND: Tensor) -> Tensor:
    """For each of C cells the sum of its K vectors, each times its weight."""
    vector_CKD = vector_ND.view(*weight_CK.shape, -1)
    return (weight_CK.unsqueeze(-1).to(vector_ND.dtype) * vector_CKD).sum(1)


class Inside(nn.Module):
    """f_alpha: the halves of a span and its morpheme embedding to a compatibility score and a vector."""

    def __init__(self, sizes: CompositionConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(sizes, roles=3) for _ in range(sizes.inside_layers))
        self.score = nn.Linear(sizes.dimension, 1)

    def forward(self, left_ND: Tensor, right_ND: Tensor, morpheme_ND: Tensor) -> tuple[Tensor, Tensor]:
        x_NTD = torch.stack((left_ND, right_ND, morpheme_ND), 1)
        for layer in self.layers:
            x_NTD = layer(x_NTD)
        return linear(self.score, x_NTD[:, 2]).squeeze(-1), norm(x_NTD[:, 0] + x_NTD[:, 1])


class ScoreHalf(nn.Module):
    """One side of the product phi_beta."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(dimension, dimension), nn.Linear(dimension, 64)

    def forward(self, x_ND: Tensor) -> Tensor:
        return linear(self.output, gelu(linear(self.hidden, x_ND)))


class Outside(nn.Module):
    """f_beta and phi_beta: a parent's outside vector and a sibling's inside vector to a score and a vector.

    `side_N` is 0 where the sibling stands on the right and 1 where it stands on the left.
    """

    def __init__(self, sizes: CompositionConfig) -> None:
        super().__init__()
        d = sizes.dimension
        self.side = nn.Parameter(torch.randn(2, d) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(sizes, roles=2) for _ in range(sizes.outside_layers))
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
    """The parameters of both passes.

    Row 0 of `embedding` is E_empty, used where a span is no morpheme; row 1 is any character never seen.
    """

    def __init__(self, sizes: CompositionConfig, morphemes: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(morphemes, sizes.dimension)
        nn.init.normal_(self.embedding.weight, std=0.1)
        nn.init.zeros_(self.embedding.weight.data[0])
        self.inside = Inside(sizes)
        self.outside = Outside(sizes)
        # The outside vector of a word's root where no context gives it.
        self.root = nn.Parameter(torch.randn(sizes.dimension) * 0.02)

    def inside_level(
        self, table: Tensor, morpheme_CD: Tensor, left_CK: Tensor, right_CK: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One level of the inside pass: scores and weights of the splits of C cells, and the cells' vectors."""
        cells, ways = left_CK.shape
        left_ND = take_rows(table, left_CK.reshape(-1))
        right_ND = take_rows(table, right_CK.reshape(-1))
        morpheme_ND = morpheme_CD.unsqueeze(1).expand(cells, ways, -1).reshape(cells * ways, -1)
        score_N, vector_ND = self.inside(left_ND, right_ND, morpheme_ND)
        score_CK = precise(score_N.view(cells, ways))
        weight_CK = score_CK.softmax(-1)
        return score_CK, weight_CK, weighted_sum(weight_CK, vector_ND)

    def outside_level(
        self,
        table: Tensor,
        inside: Tensor,
        parent_CP: Tensor,
        sibling_CP: Tensor,
        side_CP: Tensor,
        exists_CP: Tensor | None,
    ) -> Tensor:
        """One level of the outside pass: the vectors of C cells."""
        cells, parents = parent_CP.shape
        parent_ND = take_rows(table, parent_CP.reshape(-1))
        sibling_ND = take_rows(inside, sibling_CP.reshape(-1))
        score_N, vector_ND = self.outside(parent_ND, sibling_ND, side_CP.reshape(-1))
        score_CP = precise(score_N.view(cells, parents))
        if exists_CP is not None:
            score_CP = score_CP.masked_fill(~exists_CP, -torch.inf)
        return weighted_sum(score_CP.softmax(-1), vector_ND)

"""The causal language model over composed words, in the manner of GPT-2.

Shapes: B sequences, T words, D dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.model.config import LanguageModelConfig
from treetok.model.network.composition import gelu, linear


def layer_norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
    """A layer norm in the precision of its input."""
    return F.layer_norm(x, x.shape[-1:], layer.weight.to(x.dtype), layer.bias.to(x.dtype))


class Block(nn.Module):
    def __init__(self, dimension: int, sizes: LanguageModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout = sizes.heads, sizes.dropout
        self.norm_before_attention = nn.LayerNorm(dimension)
        self.qkv = nn.Linear(dimension, 3 * dimension)
        self.attended = nn.Linear(dimension, dimension)
        self.norm_before_hidden = nn.LayerNorm(dimension)
        self.hidden = nn.Linear(dimension, 4 * dimension)
        self.output = nn.Linear(4 * dimension, dimension)

    def forward(self, x_BTD: Tensor) -> Tensor:
        b, t, d = x_BTD.shape
        qkv = linear(self.qkv, layer_norm(self.norm_before_attention, x_BTD)).view(
            b, t, 3, self.heads, d // self.heads
        )
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0
        )
        mixed_BTD = mixed.transpose(1, 2).reshape(b, t, d)
        x_BTD = x_BTD + self._drop(linear(self.attended, mixed_BTD))
        hidden = linear(self.hidden, layer_norm(self.norm_before_hidden, x_BTD))
        fed_BTD = linear(self.output, gelu(hidden))
        return x_BTD + self._drop(fed_BTD)

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)


class LanguageModel(nn.Module):
    """The state after each word, from which the next one is to be told."""

    def __init__(self, dimension: int, sizes: LanguageModelConfig) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(sizes.max_sequence_length, dimension) * 0.02)
        self.blocks = nn.ModuleList(Block(dimension, sizes) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(dimension)

    def forward(self, words_BTD: Tensor) -> Tensor:
        x_BTD = words_BTD + self.position[: words_BTD.shape[1]].to(words_BTD.dtype)
        for block in self.blocks:
            x_BTD = block(x_BTD)
        return layer_norm(self.norm, x_BTD)

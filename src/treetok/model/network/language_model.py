"""The causal language model over composed words, GPT-2 style.

Shapes: B sequences, T words, D dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from treetok.model.config import LanguageModelConfig
from treetok.model.network.functional import layer_norm
from treetok.model.network.transformer import TransformerBlock


class LanguageModel(nn.Module):
    """Word embeddings to hidden states h_t, each of which predicts the word after it."""

    def __init__(self, dimension: int, config: LanguageModelConfig) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(config.max_sequence_length, dimension) * 0.02)
        self.blocks = nn.ModuleList(
            TransformerBlock(
                dimension,
                config.heads,
                4 * dimension,
                config.dropout,
                attention_dropout=config.dropout,
                is_causal=True,
            )
            for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(dimension)

    def forward(self, words_BTD: Tensor) -> Tensor:
        x_BTD = words_BTD + self.position[: words_BTD.shape[1]].to(words_BTD.dtype)
        for block in self.blocks:
            x_BTD = block(x_BTD)
        return layer_norm(self.norm, x_BTD)

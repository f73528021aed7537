"""A GPT-2-style language model of tokens.

Shapes: B windows, T tokens, D dimensions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.model.config import LanguageModelConfig
from treetok.model.network.language_model import LanguageModel

# Matrix products of odd sizes take twice as long.
VOCABULARY_MULTIPLE = 128
DIMENSIONS_PER_HEAD = 64


@dataclass(frozen=True)
class NetworkConfig:
    """context: the tokens that the model sees at once."""

    layers: int
    dimension: int
    context: int

    @property
    def heads(self) -> int:
        return max(1, self.dimension // DIMENSIONS_PER_HEAD)

    def parameters(self, vocabulary: int) -> int:
        """Without biases, norms and positions, which hardly count."""
        return 12 * self.layers * self.dimension**2 + vocabulary * self.dimension

    def flops_per_token(self, vocabulary: int) -> int:
        """Of training: six for each parameter, and those of attention, half of which is masked.

        >>> NetworkConfig(12, 768, 1024).flops_per_token(50257) / 1e9
        0.7978...
        """
        return 6 * self.parameters(vocabulary) + 6 * self.layers * self.dimension * self.context


class Gpt(nn.Module):
    """Embeddings, a causal Transformer, and an output layer tied to the embeddings."""

    def __init__(self, vocabulary: int, config: NetworkConfig, precision: torch.dtype) -> None:
        super().__init__()
        self.config, self.precision = config, precision
        sizes = LanguageModelConfig(config.layers, config.heads, 0.0, config.context)
        self.embedding = nn.Embedding(vocabulary + -vocabulary % VOCABULARY_MULTIPLE, config.dimension)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.transformer = LanguageModel(config.dimension, sizes)
        self._nats: Callable[..., Tensor] = nats_of_states

    def compile_parts(self, **options: Any) -> None:
        """Compile the block, once for all layers, and the output layer with its loss, which moves most of the
        memory."""
        for block in self.transformer.blocks:
            block.compile(**options)
        self._nats = torch.compile(nats_of_states, **options)

    def forward(self, input_BT: Tensor, target_BT: Tensor) -> Tensor:
        """-log p of every target, BT."""
        weight_VD = self.embedding.weight.to(self.precision)
        states_BTD = self.transformer(F.embedding(input_BT, weight_VD))
        return self._nats(states_BTD.flatten(0, 1), weight_VD, target_BT.flatten()).view(target_BT.shape)


def nats_of_states(states_ND: Tensor, weight_VD: Tensor, target_N: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(states_ND, weight_VD).float(), target_N, reduction="none")

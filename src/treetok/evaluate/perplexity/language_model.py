"""A small GPT-2-style language model.

Shapes: B windows, T tokens, D dimensions, V vocabulary; N = B * T, of which M have a target.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.evaluate.perplexity.config import PerplexityConfig
from treetok.evaluate.perplexity.windows import IGNORED
from treetok.model.config import LanguageModelConfig
from treetok.model.device import chosen_device
from treetok.model.network.language_model import LanguageModel

# Targets are padded to a multiple of this, so that there are few different shapes and memory is reused.
TARGET_MULTIPLE = 1024


class TokenLanguageModel(nn.Module):
    """Embeddings, a causal Transformer, and an output layer tied to the embeddings."""

    def __init__(self, vocabulary: int, config: PerplexityConfig) -> None:
        super().__init__()
        sizes = LanguageModelConfig(config.layers, config.heads, config.dropout, config.context_length)
        self.embedding = nn.Embedding(vocabulary, config.dimension)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.transformer = LanguageModel(config.dimension, sizes)
        # bfloat16 on a GPU; parameters and losses stay in float32.
        self.precision = torch.bfloat16 if chosen_device(config.device) == "cuda" else torch.float32

    def forward(self, input_BT: Tensor) -> Tensor:
        """Logits of the next token, BTV."""
        weight_VD = self.embedding.weight.to(self.precision)
        return self._logits(self._states(input_BT, weight_VD), weight_VD)

    def _states(self, input_BT: Tensor, weight_VD: Tensor) -> Tensor:
        states_BTD: Tensor = self.transformer(F.embedding(input_BT, weight_VD))
        return states_BTD

    def _logits(self, states: Tensor, weight_VD: Tensor) -> Tensor:
        return F.linear(states, weight_VD).float()

    def nats(self, input_BT: Tensor, target_BT: Tensor) -> Tensor:
        """-log p of every target, 0 for padding."""
        weight_VD = self.embedding.weight.to(self.precision)
        state_ND = self._states(input_BT, weight_VD).flatten(0, 1)
        at_M = (target_BT.flatten() != IGNORED).nonzero().squeeze(1)
        # Logits are by far the largest tensor, so they are computed for targets only.
        padded = F.pad(at_M, (0, -len(at_M) % TARGET_MULTIPLE))
        target_M = F.pad(target_BT.flatten().index_select(0, at_M), (0, len(padded) - len(at_M)), value=IGNORED)
        logits_MV = self._logits(state_ND.index_select(0, padded), weight_VD)
        nats_M = F.cross_entropy(logits_MV, target_M, ignore_index=IGNORED, reduction="none")
        nats_N = nats_M.new_zeros(target_BT.numel()).index_copy(0, at_M, nats_M[: len(at_M)])
        return nats_N.view(target_BT.shape)

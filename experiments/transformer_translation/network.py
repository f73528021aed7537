"""A Transformer with an encoder and a decoder: layers normalised before each part, sinusoidal positions, and one
matrix for the embeddings of the target and for its output layer.

Shapes: B sentences, S source tokens, T target tokens, D dimensions, H heads, E dimensions of a head, V vocabulary.
While translating, a sentence has K hypotheses, which are R = B * K rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_translation.encoded_pairs import END, FIRST_TOKEN, PADDING
from treetok.errors import TreetokError

# The number of outputs is a multiple of this: matrix products of odd sizes take longer.
VOCABULARY_MULTIPLE = 64
KeysValues = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class NetworkConfig:
    """layers: of the encoder, and as many of the decoder."""

    layers: int = 4
    dimension: int = 256
    heads: int = 4
    feed_forward: int = 1024
    dropout: float = 0.3

    def __post_init__(self) -> None:
        # Half of the dimensions of a position are sines.
        if self.dimension % math.lcm(2, self.heads):
            raise TreetokError(
                f"--dimension must be even and a multiple of --heads, {self.heads}, not {self.dimension}"
            )
        if not 0 <= self.dropout < 1:
            raise TreetokError(f"--dropout must be at least 0 and below 1, not {self.dropout}")


class Transformer(nn.Module):
    """source_vocabulary, target_vocabulary: the numbers of tokens of the tokenizers."""

    def __init__(self, config: NetworkConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.outputs = target_vocabulary + FIRST_TOKEN
        self.source_embedding = embedding(source_vocabulary + FIRST_TOKEN, config.dimension)
        self.target_embedding = embedding(self.outputs, config.dimension)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.encoder_norm = nn.LayerNorm(config.dimension)
        self.decoder_norm = nn.LayerNorm(config.dimension)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Logits BTV of the tokens of each target, given those before them."""
        return self.logits(self.target_states(source_BS, target_BT))

    def target_states(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """What the logits are computed from. END stands for the token before the first."""
        memory, mask = self.encode(source_BS)
        input_BT = torch.cat([torch.full_like(target_BT[:, :1], END), target_BT[:, :-1]], 1)
        x_BTD = self.embed(self.target_embedding, input_BT)
        for layer, memory_kv in zip(self.decoder, memory, strict=True):
            x_BTD, _ = layer(x_BTD, memory_kv, mask)
        return self.decoder_norm(x_BTD)

    def logits(self, states: Tensor) -> Tensor:
        return F.linear(states, self.target_embedding.weight).float()

    def encode(self, source_BS: Tensor) -> tuple[list[KeysValues], Tensor]:
        """For each layer of the decoder, the keys and values of the source; and where there are tokens, B11S."""
        mask_B11S = (source_BS != PADDING)[:, None, None]
        x_BSD = self.embed(self.source_embedding, source_BS)
        for layer in self.encoder:
            x_BSD = layer(x_BSD, mask_B11S)
        x_BSD = self.encoder_norm(x_BSD)
        return [layer.cross_attention.keys_values(x_BSD) for layer in self.decoder], mask_B11S

    def embed(self, table: nn.Embedding, ids_BT: Tensor, start: int = 0) -> Tensor:
        """start: the position of the first token."""
        scale = math.sqrt(table.embedding_dim)
        stop = start + ids_BT.shape[1]
        # Of a rounded length, so that few are computed.
        position_TD = sinusoids(stop + -stop % 256, table.embedding_dim, ids_BT.device)[start:stop]
        return self.dropout(table(ids_BT) * scale + position_TD)


class Attention(nn.Module):
    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = linear(config.dimension, config.dimension)
        self.key_value = linear(config.dimension, 2 * config.dimension)
        self.output = linear(config.dimension, config.dimension)

    def keys_values(self, x_BSD: Tensor) -> KeysValues:
        """BHSE each."""
        key_BSD, value_BSD = self.key_value(x_BSD).chunk(2, -1)
        return self._by_head(key_BSD), self._by_head(value_BSD)

    def forward(self, x_BTD: Tensor, kv: KeysValues, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        mixed_BHTE = F.scaled_dot_product_attention(
            self._by_head(self.query(x_BTD)), *kv, attn_mask=mask, is_causal=causal
        )
        return self.output(mixed_BHTE.transpose(1, 2).flatten(2))

    def _by_head(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class EncoderLayer(nn.Module):
    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(config), feed_forward(config)
        self.norms = nn.ModuleList(nn.LayerNorm(config.dimension) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_BSD: Tensor, mask_B11S: Tensor) -> Tensor:
        normed_BSD = self.norms[0](x_BSD)
        kv = self.attention.keys_values(normed_BSD)
        x_BSD = x_BSD + self.dropout(self.attention(normed_BSD, kv, mask_B11S))
        return x_BSD + self.dropout(self.feed_forward(self.norms[1](x_BSD)))


class DecoderLayer(nn.Module):
    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = Attention(config), Attention(config)
        self.feed_forward = feed_forward(config)
        self.norms = nn.ModuleList(nn.LayerNorm(config.dimension) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x_BTD: Tensor, memory_kv: KeysValues, mask_B11S: Tensor, past: KeysValues | None = None
    ) -> tuple[Tensor, KeysValues]:
        """The new states, and the keys and values of all tokens so far.

        past: those of the tokens before; then x is one token of each hypothesis. The hypotheses of a sentence
            attend to its source together, as if they were its tokens, so that the source is not copied.
        """
        normed_BTD = self.norms[0](x_BTD)
        kv = self.self_attention.keys_values(normed_BTD)
        if past is not None:
            kv = (torch.cat([past[0], kv[0]], 2), torch.cat([past[1], kv[1]], 2))
        x_BTD = x_BTD + self.dropout(self.self_attention(normed_BTD, kv, causal=past is None))
        normed_BTD = self.norms[1](x_BTD).reshape(len(mask_B11S), -1, x_BTD.shape[-1])
        crossed_BTD = self.cross_attention(normed_BTD, memory_kv, mask_B11S).reshape(x_BTD.shape)
        x_BTD = x_BTD + self.dropout(crossed_BTD)
        return x_BTD + self.dropout(self.feed_forward(self.norms[2](x_BTD))), kv


class TransformerHypotheses:
    """Hypotheses that grow token by token, for `beam_search`. Keys and values of earlier tokens are kept."""

    def __init__(self, network: Transformer, source_BS: Tensor, width: int) -> None:
        self.network = network
        self.memory, self.mask_B11S = network.encode(source_BS)
        rows = len(source_BS) * width
        self.past = [tuple(kv.new_zeros(rows, kv.shape[1], 0, kv.shape[3]) for kv in both) for both in self.memory]

    def step(self, token_R: Tensor) -> Tensor:
        """Log-probabilities RV of the next token behind these; the first are END."""
        network = self.network
        x_R1D = network.embed(network.target_embedding, token_R[:, None], start=self.past[0][0].shape[2])
        for number, (layer, memory_kv) in enumerate(zip(network.decoder, self.memory, strict=True)):
            x_R1D, self.past[number] = layer(x_R1D, memory_kv, self.mask_B11S, self.past[number])
        logits_RV = network.logits(network.decoder_norm(x_R1D[:, 0]))
        logits_RV[:, network.outputs :] = -torch.inf
        logits_RV[:, PADDING] = -torch.inf
        return logits_RV.log_softmax(-1)

    def keep(self, row_R: Tensor) -> None:
        """Go on from these rows, which may repeat."""
        self.past = [(key.index_select(0, row_R), value.index_select(0, row_R)) for key, value in self.past]


def embedding(vocabulary: int, dimension: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary + -vocabulary % VOCABULARY_MULTIPLE, dimension)
    nn.init.normal_(table.weight, std=dimension**-0.5)
    return table


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def feed_forward(config: NetworkConfig) -> nn.Module:
    return nn.Sequential(
        linear(config.dimension, config.feed_forward),
        nn.ReLU(),
        nn.Dropout(config.dropout),
        linear(config.feed_forward, config.dimension),
    )


@lru_cache(maxsize=16)
def sinusoids(length: int, dimension: int, device: torch.device) -> Tensor:
    """Positions TD as sines and cosines of many frequencies."""
    half = torch.arange(dimension // 2, device=device) / (dimension // 2)
    angle = torch.arange(length, device=device)[:, None] * torch.exp(-math.log(10_000) * half)
    return torch.cat([angle.sin(), angle.cos()], 1)

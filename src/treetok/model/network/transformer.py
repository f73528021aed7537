"""The pre-norm Transformer block of the language model (causal) and of the parser (bidirectional).

Shapes: B sequences, T positions, H heads of d dimensions each, D = H d.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from treetok.model.network.functional import gelu, layer_norm, linear


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)); dropout on both branches.

    attention_dropout: dropout of the attention weights themselves.
    """

    def __init__(
        self,
        dimension: int,
        heads: int,
        hidden: int,
        dropout: float,
        *,
        attention_dropout: float = 0.0,
        is_causal: bool = False,
    ) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.attention_dropout, self.is_causal = attention_dropout, is_causal
        self.norm_before_attention = nn.LayerNorm(dimension)
        self.qkv = nn.Linear(dimension, 3 * dimension)
        self.attended = nn.Linear(dimension, dimension)
        self.norm_before_hidden = nn.LayerNorm(dimension)
        self.hidden = nn.Linear(dimension, hidden)
        self.output = nn.Linear(hidden, dimension)

    def forward(self, x_BTD: Tensor, attention_bias: Tensor | None = None) -> Tensor:
        """`attention_bias` is added to the attention logits."""
        b, t, d = x_BTD.shape
        qkv = linear(self.qkv, layer_norm(self.norm_before_attention, x_BTD))
        q_BHTd, k_BHTd, v_BHTd = qkv.view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed_BHTd = F.scaled_dot_product_attention(
            q_BHTd,
            k_BHTd,
            v_BHTd,
            attention_bias,
            dropout_p=self.attention_dropout if self.training else 0.0,
            is_causal=self.is_causal,
        )
        attended_BTD = linear(self.attended, mixed_BHTd.transpose(1, 2).reshape(b, t, d))
        x_BTD = x_BTD + F.dropout(attended_BTD, self.dropout, self.training)
        hidden = gelu(linear(self.hidden, layer_norm(self.norm_before_hidden, x_BTD)))
        return x_BTD + F.dropout(linear(self.output, hidden), self.dropout, self.training)

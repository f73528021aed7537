"""The pre-norm Transformer block of the language model (causal) and of the parser (bidirectional).

Shapes: B sequences, T positions, H heads of d dimensions each, D = H d.
"""

from __future__ import annotations

from collections.abc import Callable

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

    def forward(
        self,
        x_BTD: Tensor,
        attention_bias: Tensor | None = None,
        attention: Callable[[Tensor, int], Tensor] | None = None,
    ) -> Tensor:
        """`attention_bias` is added to the attention logits. `attention` replaces PyTorch's: it takes the
        projections [..., 3 D] and the number of heads, and returns the mixed values [..., D]."""
        qkv = linear(self.qkv, layer_norm(self.norm_before_attention, x_BTD))
        mixed_BTD = self._attend(qkv, attention_bias) if attention is None else attention(qkv, self.heads)
        x_BTD = x_BTD + F.dropout(linear(self.attended, mixed_BTD), self.dropout, self.training)
        hidden = gelu(linear(self.hidden, layer_norm(self.norm_before_hidden, x_BTD)))
        return x_BTD + F.dropout(linear(self.output, hidden), self.dropout, self.training)

    def _attend(self, qkv: Tensor, attention_bias: Tensor | None) -> Tensor:
        b, t, f = qkv.shape
        d = f // 3
        q_BHTd, k_BHTd, v_BHTd = qkv.view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed_BHTd = F.scaled_dot_product_attention(
            q_BHTd,
            k_BHTd,
            v_BHTd,
            attention_bias,
            dropout_p=self.attention_dropout if self.training else 0.0,
            is_causal=self.is_causal,
        )
        return mixed_BHTd.transpose(1, 2).reshape(b, t, d)

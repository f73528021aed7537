"""A stack of encoder layers over all levels of a chart: one buffer for all, filled level by level.

The gradients of the weights are one product each over the rows of all levels, at the end.

Shapes: N pairs of all levels, T tokens, D dimensions, F = 3 D, H hidden.
"""

from __future__ import annotations

from dataclasses import fields

import torch
from torch import Tensor

from treetok.model.kernels import attention, feed_forward
from treetok.model.kernels.feed_forward import FeedForwardGradients, LayerWeights
from treetok.model.network.composition import EncoderLayer


def weights_of(layer: EncoderLayer, dtype: torch.dtype) -> LayerWeights:
    """A layer's weights; a role's vector is added to the input of the projections, so it becomes a bias there."""
    qkv = layer.qkv
    bias_TF = qkv.bias + layer.role @ qkv.weight.t()
    linears = (layer.attended, layer.hidden, layer.output)
    rest = [p.to(dtype) for linear in linears for p in (linear.weight, linear.bias)]
    return LayerWeights(qkv.weight.to(dtype), bias_TF.to(dtype), *rest)


def as_tensors(layers: list[LayerWeights]) -> list[Tensor]:
    return [getattr(layer, field.name) for layer in layers for field in fields(layer)]


def from_tensors(tensors: list[Tensor] | tuple[Tensor, ...]) -> list[LayerWeights]:
    width = len(fields(LayerWeights))
    return [LayerWeights(*tensors[at : at + width]) for at in range(0, len(tensors), width)]


class EncoderStack:
    """The layers' work on N pairs, in parts that are given as (first, end)."""

    def __init__(self, layers: list[LayerWeights], heads: int, pairs: int, tokens: int, like: Tensor) -> None:
        self.layers, self.heads = layers, heads
        d = like.shape[1]

        def new(*shape: int, dtype: torch.dtype = like.dtype) -> Tensor:
            return torch.empty(shape, dtype=dtype, device=like.device)

        # The input of every layer, and the output of the last.
        self.x_NTD = [new(pairs, tokens, d) for _ in range(len(layers) + 1)]
        self.qkv_NTF = [new(pairs, tokens, 3 * d) for _ in layers]
        self.mixed_NTD = [new(pairs, tokens, d) for _ in layers]
        self.y_NTD = [new(pairs, tokens, d) for _ in layers]
        self.rstd_y = [new(pairs, tokens, dtype=torch.float32) for _ in layers]
        self.rstd_out = [new(pairs, tokens, dtype=torch.float32) for _ in layers]

    def forward(self, first: int, end: int) -> Tensor:
        """The output for pairs whose input stands in `x_NTD[0]`."""
        part = slice(first, end)
        for number, weights in enumerate(self.layers):
            x, out = self.x_NTD[number][part], self.x_NTD[number + 1][part]
            d = x.shape[-1]
            qkv, mixed = self.qkv_NTF[number][part], self.mixed_NTD[number][part]
            torch.mm(x.view(-1, d), weights.qkv_FD.t(), out=qkv.view(-1, 3 * d))
            attention.attend(qkv, weights.qkv_bias_TF, mixed, self.heads)
            feed_forward.feed_forward(
                x.view(-1, d),
                mixed.view(-1, d),
                weights,
                self.y_NTD[number][part].view(-1, d),
                self.rstd_y[number][part].view(-1),
                out.view(-1, d),
                self.rstd_out[number][part].view(-1),
            )
        return self.x_NTD[-1][part]

    def prepare_backward(self, parts: list[tuple[int, int]]) -> None:
        """Room for what the gradients of the weights are made of."""
        pairs, tokens, d = self.x_NTD[0].shape
        self._first_block: dict[int, int] = {}
        blocks = 0
        for first, end in parts:
            self._first_block[first] = blocks
            blocks += feed_forward.blocks_of((end - first) * tokens)
        like = self.x_NTD[0]
        self._kept = [
            FeedForwardGradients.room_for(pairs * tokens, blocks, d, len(weights.hidden_HD), like)
            for weights in self.layers
        ]
        self._d_qkv_NTF = [torch.empty_like(qkv) for qkv in self.qkv_NTF]

    def backward(self, first: int, end: int, d_out_NTD: Tensor) -> Tensor:
        """The gradient of the input of some pairs, from that of their output (which is overwritten)."""
        part = slice(first, end)
        d_mixed = torch.empty_like(d_out_NTD)
        for number in reversed(range(len(self.layers))):
            weights = self.layers[number]
            qkv, d_qkv = self.qkv_NTF[number][part], self._d_qkv_NTF[number][part]
            _, tokens, d = d_out_NTD.shape
            kept = self._kept[number].part(first * tokens, end * tokens, self._first_block[first])
            feed_forward.feed_forward_backward(
                d_out_NTD.view(-1, d),
                self.x_NTD[number + 1][part].view(-1, d),
                self.rstd_out[number][part].view(-1),
                self.y_NTD[number][part].view(-1, d),
                self.rstd_y[number][part].view(-1),
                weights,
                kept,
                d_mixed.view(-1, d),
            )
            attention.attend_backward(qkv, weights.qkv_bias_TF, d_mixed, d_qkv, self.heads)
            torch.addmm(kept.d_z_MD, d_qkv.view(-1, 3 * d), weights.qkv_FD, out=d_out_NTD.view(-1, d))
        return d_out_NTD

    def weight_gradients(self) -> list[Tensor]:
        """In the order of `as_tensors`."""
        gradients = []
        d = self.x_NTD[0].shape[-1]
        # A sum as a product: several times as fast.
        ones_N = self.x_NTD[0].new_ones(len(self.x_NTD[0]))
        for number, kept in enumerate(self._kept):
            sums = kept.sums.sum(0)
            d_qkv_MF = self._d_qkv_NTF[number].view(-1, 3 * d)
            gradients += [
                d_qkv_MF.t() @ self.x_NTD[number].view(-1, d),
                (ones_N @ self._d_qkv_NTF[number].view(len(ones_N), -1)).view(-1, 3 * d),
                kept.d_z_MD.t() @ self.mixed_NTD[number].view(-1, d),
                sums[:d],
                kept.d_hidden_MH.t() @ self.y_NTD[number].view(-1, d),
                sums[2 * d :],
                kept.d_fed_MD.t() @ kept.activated_MH,
                sums[d : 2 * d],
            ]
        return [g.to(w.dtype) for g, w in zip(gradients, as_tensors(self.layers), strict=True)]

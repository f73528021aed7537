"""A stack of encoder layers over all levels of a chart, in buffers that are filled level by level.

The gradient of each weight is then one matrix product over the rows of all levels.

Shapes: N pairs of all levels, T tokens, D dimensions, F = 3 D, H hidden.
"""

from __future__ import annotations

from dataclasses import fields

import torch
from torch import Tensor

from treetok.model.kernels import attention, feed_forward
from treetok.model.kernels.feed_forward import FeedForwardBuffers, ForwardBuffers, LayerWeights
from treetok.model.network.composition import EncoderLayer


def weights_of(layer: EncoderLayer, dtype: torch.dtype) -> LayerWeights:
    """A layer's weights. Role embeddings, added to the input of the projections, are folded into their bias."""
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


class EncoderForward:
    """The forward pass of the layers alone, in buffers for at most `pairs` pairs that are used again and again."""

    def __init__(self, layers: list[LayerWeights], heads: int, pairs: int, tokens: int, like: Tensor) -> None:
        self.layers, self.heads = layers, heads
        d = like.shape[1]
        # The input, which the output replaces.
        self.x_NTD = torch.empty((pairs, tokens, d), dtype=like.dtype, device=like.device)
        self._mixed_NTD = torch.empty_like(self.x_NTD)
        self._qkv_NTF = torch.empty((pairs, tokens, 3 * d), dtype=like.dtype, device=like.device)

    def forward(self, pairs: int) -> Tensor:
        """The output for the first pairs of `x_NTD`, in their place."""
        x, mixed, qkv = self.x_NTD[:pairs], self._mixed_NTD[:pairs], self._qkv_NTF[:pairs]
        d = x.shape[-1]
        for weights in self.layers:
            torch.mm(x.view(-1, d), weights.qkv_FD.t(), out=qkv.view(-1, 3 * d))
            attention.attend(qkv, weights.qkv_bias_TF, mixed, self.heads)
            apply = feed_forward.plain_feed_forward if x.dtype == torch.float32 else feed_forward.feed_forward
            apply(x.view(-1, d), mixed.view(-1, d), weights, x.view(-1, d))
        return x


class EncoderStack:
    """The forward and backward pass of the layers over N pairs, one slice at a time."""

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

    def forward(self, part: slice) -> Tensor:
        """The output for a slice of pairs, whose input is in `x_NTD[0]`."""
        for layer, weights in enumerate(self.layers):
            x, out = self.x_NTD[layer][part], self.x_NTD[layer + 1][part]
            d = x.shape[-1]
            qkv, mixed = self.qkv_NTF[layer][part], self.mixed_NTD[layer][part]
            torch.mm(x.view(-1, d), weights.qkv_FD.t(), out=qkv.view(-1, 3 * d))
            attention.attend(qkv, weights.qkv_bias_TF, mixed, self.heads)
            feed_forward.feed_forward(
                x.view(-1, d),
                mixed.view(-1, d),
                weights,
                out.view(-1, d),
                ForwardBuffers(
                    self.y_NTD[layer][part].view(-1, d),
                    self.rstd_y[layer][part].view(-1),
                    self.rstd_out[layer][part].view(-1),
                ),
            )
        return self.x_NTD[-1][part]

    def prepare_backward(self, parts: list[slice]) -> None:
        """Allocates the operands of the weight gradients, for a backward pass over these slices."""
        pairs, tokens, d = self.x_NTD[0].shape
        self._first_block: dict[int, int] = {}
        blocks = 0
        for part in parts:
            self._first_block[part.start] = blocks
            blocks += feed_forward.blocks_of((part.stop - part.start) * tokens)
        like = self.x_NTD[0]
        self._buffers = [
            FeedForwardBuffers.empty(pairs * tokens, blocks, d, len(weights.hidden_HD), like)
            for weights in self.layers
        ]
        self._d_qkv_NTF = [torch.empty_like(qkv) for qkv in self.qkv_NTF]

    def backward(self, part: slice, d_out_NTD: Tensor) -> Tensor:
        """The gradient of the input of a slice of pairs, from that of their output, which it overwrites."""
        d_mixed = torch.empty_like(d_out_NTD)
        for layer in reversed(range(len(self.layers))):
            weights = self.layers[layer]
            qkv, d_qkv = self.qkv_NTF[layer][part], self._d_qkv_NTF[layer][part]
            _, tokens, d = d_out_NTD.shape
            rows = slice(part.start * tokens, part.stop * tokens)
            buffers = self._buffers[layer].part(rows, self._first_block[part.start])
            feed_forward.feed_forward_backward(
                d_out_NTD.view(-1, d),
                self.x_NTD[layer + 1][part].view(-1, d),
                self.rstd_out[layer][part].view(-1),
                self.y_NTD[layer][part].view(-1, d),
                self.rstd_y[layer][part].view(-1),
                weights,
                buffers,
                d_mixed.view(-1, d),
            )
            attention.attend_backward(qkv, weights.qkv_bias_TF, d_mixed, d_qkv, self.heads)
            torch.addmm(buffers.d_z_MD, d_qkv.view(-1, 3 * d), weights.qkv_FD, out=d_out_NTD.view(-1, d))
        return d_out_NTD

    def weight_gradients(self) -> list[Tensor]:
        """In the order of `as_tensors`."""
        gradients = []
        d = self.x_NTD[0].shape[-1]
        # The sum over rows as a matrix product is several times faster.
        ones_N = self.x_NTD[0].new_ones(len(self.x_NTD[0]))
        for layer, buffers in enumerate(self._buffers):
            sums = buffers.sums.sum(0)
            d_qkv_MF = self._d_qkv_NTF[layer].view(-1, 3 * d)
            gradients += [
                d_qkv_MF.t() @ self.x_NTD[layer].view(-1, d),
                (ones_N @ self._d_qkv_NTF[layer].view(len(ones_N), -1)).view(-1, 3 * d),
                buffers.d_z_MD.t() @ self.mixed_NTD[layer].view(-1, d),
                sums[:d],
                buffers.d_hidden_MH.t() @ self.y_NTD[layer].view(-1, d),
                sums[2 * d :],
                buffers.d_fed_MD.t() @ buffers.activated_MH,
                sums[d : 2 * d],
            ]
        return [g.to(w.dtype) for g, w in zip(gradients, as_tensors(self.layers), strict=True)]

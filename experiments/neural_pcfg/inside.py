"""The inside pass in rank space: the probability of strings, and of their spans.

Let inside[i, j, r] be the probability of the characters from i to j given that rank r splits them, and left and
right the same given that they are the left or right child of rank r. Then

    inside[i, j, r] = sum_k left[i, k, r] right[k, j, r]         (left, right)[i, j] = inside[i, j] @ inner

where symbols no longer occur. A string of n characters takes n^3 R / 6 products for the first, and n^2 R^2 for the
second, as products of matrices.

Probabilities of long spans are too small for floating point. The values of each span are therefore divided by
the largest, and the logarithm of that, its scale, is kept beside them. The result does not depend on the scales,
so gradients need not pass through them.

Children of one span are next to each other in memory: `left_BNWR` has the spans that start at character N by
increasing width, `right_BNWR` those that end at character N by decreasing width. So the splits of a span are
slices of the two in the same order.

Shapes: B strings of up to N characters, W widths of children (1 to N - 1), R ranks, Q = 2R, K splits of a span,
I spans of one width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

from neural_pcfg.grammar import RankSpace

# In place of what is zero in floating point.
SMALLEST = 1e-37


def log_probabilities(
    space: RankSpace,
    ids_BN: Tensor,
    lengths_B: Tensor,
    span_scores_BNX: Tensor | None = None,
    dtype: torch.dtype | None = None,
    shortest: int = 2,
) -> Tensor:
    """[B]: the log-probability of each string, given the numbers of its characters. Strings have at least two
    characters; what follows the end of a string is ignored.

    span_scores_BNX: added to the log-potential of the span that starts at N and has X characters (X up to N). The
        gradient at zero is the probability that the tree of the string has this span.
    dtype: of the charts; scales are kept in the type of the grammar.
    shortest: no string is shorter. Knowing it saves time.
    """
    if span_scores_BNX is None:
        strings, longest = ids_BN.shape
        # Expanded, so that it takes no memory.
        span_scores_BNX = space.root_R.new_zeros(1, 1, 1).expand(strings, longest, longest + 1)
    dtype = dtype or space.root_R.dtype
    largest_V1 = space.leaf_VQ.detach().amax(-1, keepdim=True).clamp_min(SMALLEST)
    leaf_BNQ = embedding(ids_BN, (space.leaf_VQ / largest_V1).to(dtype))
    leaf_scale_BN = largest_V1.log()[:, 0][ids_BN]
    result: Tensor = InsidePass.apply(
        leaf_BNQ, space.inner_RQ.to(dtype), space.root_R, span_scores_BNX, leaf_scale_BN, lengths_B, shortest
    )
    return result


@dataclass
class Chart:
    """left_BNWR, right_BNWR: see above, relative to their scales.
    Lists have one tensor for each width from 2. inside_BIR: the same before it is turned into left and right;
    largest_BI1: what it was divided by; weight_BIK: the scale of each split relative to the largest of its span;
    root_B: the sum of `inside_BIR` at the root, for widths that a string may have.
    """

    left_BNWR: Tensor
    right_BNWR: Tensor
    left_scale_BNW: Tensor
    right_scale_BNW: Tensor
    inside_BIR: list[Tensor]
    largest_BI1: list[Tensor]
    weight_BIK: list[Tensor]
    root_B: dict[int, Tensor]

    @classmethod
    def of_leaves(cls, leaf_BNQ: Tensor, scale_BN: Tensor) -> Chart:
        B, N, Q = leaf_BNQ.shape
        left_BNWR, right_BNWR = (leaf_BNQ.new_empty(B, N, N - 1, Q // 2) for _ in range(2))
        left_scale_BNW, right_scale_BNW = (scale_BN.new_empty(B, N, N - 1) for _ in range(2))
        chart = cls(left_BNWR, right_BNWR, left_scale_BNW, right_scale_BNW, [], [], [], {})
        chart.put(1, leaf_BNQ, scale_BN)
        return chart

    def put(self, width: int, children_BIQ: Tensor, scale_BI: Tensor) -> None:
        """Spans of one width, as children of wider ones."""
        starts, ends, slot = slice(0, scale_BI.shape[1]), slice(width - 1, None), -width
        self.left_BNWR[:, starts, width - 1], self.right_BNWR[:, ends, slot] = children_BIQ.chunk(2, -1)
        self.left_scale_BNW[:, starts, width - 1] = self.right_scale_BNW[:, ends, slot] = scale_BI

    def halves(self, width: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Where `left` and `right` have the halves of all spans of a width: [B, I, K]."""
        N, everything = self.left_BNWR.shape[1], slice(None)
        return (everything, slice(0, N - width + 1), slice(0, width - 1)), (
            everything,
            slice(width - 1, None),
            slice(N - width, None),
        )

    def split_weights(self, width: int) -> tuple[Tensor, Tensor]:
        """[B, I, K]: the weight of each split of the spans of a width; [B, I]: the logarithm that it is relative
        to."""
        left, right = self.halves(width)
        scale_BIK = self.left_scale_BNW[left] + self.right_scale_BNW[right]
        scale_BI = scale_BIK.amax(-1)
        return (scale_BIK - scale_BI[..., None]).exp().to(self.left_BNWR.dtype), scale_BI


class InsidePass(torch.autograd.Function):
    """Its gradient is the outside pass. Written out, since that needs no copies of the chart."""

    @staticmethod
    def forward(
        ctx: Any,
        leaf_BNQ: Tensor,
        inner_RQ: Tensor,
        root_R: Tensor,
        span_scores_BNX: Tensor,
        leaf_scale_BN: Tensor,
        lengths_B: Tensor,
        shortest: int,
    ) -> Tensor:
        N = leaf_BNQ.shape[1]
        chart = Chart.of_leaves(leaf_BNQ, leaf_scale_BN)
        log_probability_B = torch.zeros_like(leaf_scale_BN[:, 0])
        for width in range(2, N + 1):
            left, right = chart.halves(width)
            weight_BIK, scale_BI = chart.split_weights(width)
            product_BIKR = chart.left_BNWR[left] * weight_BIK[..., None]
            product_BIKR *= chart.right_BNWR[right]
            inside_BIR = product_BIKR.sum(2, dtype=root_R.dtype)
            largest_BI1 = inside_BIR.amax(-1, keepdim=True).clamp_min(SMALLEST)
            inside_BIR /= largest_BI1
            scale_BI = scale_BI + largest_BI1.log()[..., 0] + span_scores_BNX[:, : N - width + 1, width]
            chart.inside_BIR.append(inside_BIR.to(leaf_BNQ.dtype))
            chart.largest_BI1.append(largest_BI1)
            chart.weight_BIK.append(weight_BIK)
            if width >= shortest:
                chart.root_B[width] = root_B = (inside_BIR[:, 0] @ root_R).clamp_min(SMALLEST)
                log_probability_B = torch.where(
                    lengths_B == width, root_B.log() + scale_BI[:, 0], log_probability_B
                )
            if width < N:
                chart.put(width, chart.inside_BIR[-1] @ inner_RQ, scale_BI)
        ctx.chart = chart
        ctx.save_for_backward(inner_RQ, root_R, lengths_B)
        return log_probability_B

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_B: Tensor) -> tuple[Tensor | None, ...]:
        chart: Chart = ctx.chart
        inner_RQ, root_R, lengths_B = ctx.saved_tensors
        B, N = chart.left_BNWR.shape[:2]
        of_left_BNWR, of_right_BNWR = torch.zeros_like(chart.left_BNWR), torch.zeros_like(chart.right_BNWR)
        of_inner_RQ, of_root_R = torch.zeros_like(inner_RQ), torch.zeros_like(root_R)
        of_spans_BNX = root_R.new_zeros(B, N, N + 1)
        for width in range(N, 1, -1):
            spans = N - width + 1
            inside_BIR, largest_BI1 = chart.inside_BIR[width - 2], chart.largest_BI1[width - 2]
            if width < N:
                of_children_BIQ = torch.cat(
                    [of_left_BNWR[:, :spans, width - 1], of_right_BNWR[:, width - 1 :, -width]], -1
                )
                of_inside_BIR = (of_children_BIQ @ inner_RQ.T).to(root_R.dtype)
                of_inner_RQ += inside_BIR.flatten(0, 1).T @ of_children_BIQ.flatten(0, 1)
            else:
                of_inside_BIR = torch.zeros_like(inside_BIR, dtype=root_R.dtype)
            if width in chart.root_B:
                root_B = chart.root_B[width]
                # The gradient of an impossible string is zero, not infinite.
                has_gradient_B = (lengths_B == width) & (root_B > SMALLEST)
                of_root_B = torch.where(has_gradient_B, gradient_B / root_B, 0)
                of_root_R += of_root_B @ inside_BIR[:, 0].to(root_R.dtype)
                of_inside_BIR[:, 0] += of_root_B[:, None] * root_R
            of_spans_BNX[:, :spans, width] = (of_inside_BIR * inside_BIR).sum(-1)
            of_inside_BIR = (of_inside_BIR / largest_BI1).to(inside_BIR.dtype)
            left, right = chart.halves(width)
            of_product_BIKR = of_inside_BIR[:, :, None] * chart.weight_BIK[width - 2][..., None]
            of_left_BNWR[left].addcmul_(of_product_BIKR, chart.right_BNWR[right])
            of_right_BNWR[right].addcmul_(of_product_BIKR, chart.left_BNWR[left])
        of_leaf_BNQ = torch.cat([of_left_BNWR[:, :, 0], of_right_BNWR[:, :, -1]], -1)
        return of_leaf_BNQ, of_inner_RQ, of_root_R, of_spans_BNX, None, None, None

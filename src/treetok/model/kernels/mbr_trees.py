"""The probabilities of spans and the trees whose spans have the highest, each word by one lane:
`treetok.model.decoding`, faster.

A lane walks over the chart of its word alone, in global memory: no lane reads what another has written. Spans are
numbered as in `treetok.span_table`: by width, then by start.

Shapes: W words, S spans, U distinct substrings, P splits of all substrings.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from treetok.model.charts.batch_substrings import BatchSubstrings

# One warp, one element per thread: so a lane stays the same thread from operation to operation.
WORDS_PER_BLOCK = 32


@triton.jit
def _spans_before(n, width):
    return (width - 1) * n - (width - 1) * (width - 2) // 2


@triton.jit(do_not_specialize=["W"])
def _add_log_probabilities(
    score,
    first_split,
    substring_of_span,
    first_span,
    length,
    order,
    own,
    total,
    W,
    temperature,
    least,
    BW: tl.constexpr,
):
    lane = tl.program_id(0) * BW + tl.arange(0, BW)
    word = tl.load(order + lane, mask=lane < W, other=0)
    n = tl.load(length + word, mask=lane < W, other=0).to(tl.int32)
    first = tl.load(first_span + word, mask=lane < W, other=0)
    longest = tl.max(n, 0)
    tl.store(own + first + _spans_before(n, n), 1.0, mask=n > 0)
    for depth in range(longest - 1):
        width = longest - depth
        before = first + _spans_before(n, width)
        for start in range(depth + 1):
            alive = start + width <= n
            span = before + start
            probability = tl.load(own + span, mask=alive, other=0.0)
            so_far = tl.load(total + span, mask=alive, other=0.0)
            tl.store(total + span, so_far + tl.log(probability + least), mask=alive)
            substring = tl.load(substring_of_span + span, mask=alive, other=0)
            split = tl.load(first_split + substring, mask=alive, other=0)
            highest = tl.full((BW,), float("-inf"), dtype=tl.float32)
            for k in range(1, width):
                highest = tl.maximum(highest, tl.load(score + split + k - 1, mask=alive, other=0.0))
            sum_of_weights = tl.zeros((BW,), dtype=tl.float32)
            for k in range(1, width):
                at_split = tl.load(score + split + k - 1, mask=alive, other=0.0)
                sum_of_weights += tl.exp((at_split - highest) / temperature)
            for k in range(1, width):
                at_split = tl.load(score + split + k - 1, mask=alive, other=0.0)
                share = probability * tl.exp((at_split - highest) / temperature) / sum_of_weights
                left = first + _spans_before(n, k) + start
                in_left = tl.load(own + left, mask=alive, other=0.0)
                tl.store(own + left, in_left + share, mask=alive)
                right = first + _spans_before(n, width - k) + start + k
                in_right = tl.load(own + right, mask=alive, other=0.0)
                tl.store(own + right, in_right + share, mask=alive)


@triton.jit(do_not_specialize=["W", "row"])
def _best_trees(
    of_span,
    value,
    best,
    depth_of,
    margin,
    first_span,
    length,
    order,
    depths,
    word_margin,
    W,
    row,
    BW: tl.constexpr,
):
    lane = tl.program_id(0) * BW + tl.arange(0, BW)
    word = tl.load(order + lane, mask=lane < W, other=0)
    n = tl.load(length + word, mask=lane < W, other=0).to(tl.int32)
    first = tl.load(first_span + word, mask=lane < W, other=0)
    longest = tl.max(n, 0)
    # Bottom up: the value of the best tree over every span, and by how much it is ahead of any other.
    for width in range(2, longest + 1):
        before = first + _spans_before(n, width)
        for start in range(longest - width + 1):
            alive = start + width <= n
            highest = tl.full((BW,), float("-inf"), dtype=tl.float32)
            second = highest
            left_width = tl.full((BW,), 1, dtype=tl.int32)
            least_margin = tl.full((BW,), float("inf"), dtype=tl.float32)
            for k in range(1, width):
                left = first + _spans_before(n, k) + start
                right = first + _spans_before(n, width - k) + start + k
                of_split = tl.load(value + left, mask=alive, other=0.0) + tl.load(
                    value + right, mask=alive, other=0.0
                )
                of_parts = tl.minimum(
                    tl.load(margin + left, mask=alive, other=0.0), tl.load(margin + right, mask=alive, other=0.0)
                )
                # Ties go left.
                better = of_split > highest
                second = tl.where(better, highest, tl.maximum(second, of_split))
                least_margin = tl.where(better, of_parts, least_margin)
                left_width = tl.where(better, k, left_width).to(tl.int32)
                highest = tl.where(better, of_split, highest)
            span = before + start
            tl.store(value + span, highest + tl.load(of_span + span, mask=alive, other=0.0), mask=alive)
            tl.store(best + span, left_width, mask=alive)
            tl.store(margin + span, tl.minimum(least_margin, highest - second), mask=alive)
    root = first + _spans_before(n, n)
    tl.store(word_margin + word, tl.load(margin + root, mask=n > 1, other=float("inf")), mask=n > 0)
    # Top down: the depth of every span of the best tree, and of its split. Spans outside the tree have depth -1.
    tl.store(depth_of + root, 0, mask=n > 0)
    for up in range(longest - 1):
        width = longest - up
        before = first + _spans_before(n, width)
        for start in range(up + 1):
            alive = start + width <= n
            span = before + start
            depth = tl.load(depth_of + span, mask=alive, other=-1)
            in_tree = alive & (depth >= 0)
            chosen = tl.load(best + span, mask=in_tree, other=1)
            tl.store(depths + word * row + start + chosen - 1, depth.to(tl.uint8), mask=in_tree)
            tl.store(depth_of + first + _spans_before(n, chosen) + start, depth + 1, mask=in_tree)
            tl.store(depth_of + first + _spans_before(n, width - chosen) + start + chosen, depth + 1, mask=in_tree)


def by_length(substrings: BatchSubstrings) -> Tensor:
    """The words sorted by length, so that neighbouring lanes have equally much to do."""
    return torch.argsort(substrings.spans.lengths, descending=True, stable=True)


def add_log_probabilities(
    substrings: BatchSubstrings, score_P: Tensor, temperature: float, least: float, total_S: Tensor
) -> None:
    """Adds log(p + least) to `total_S` for every span of two letters or more, p being the probability that it is
    in the tree."""
    own_S = torch.zeros_like(total_S)
    words = len(substrings.spans.lengths)
    _add_log_probabilities[(triton.cdiv(words, WORDS_PER_BLOCK),)](
        score_P,
        substrings.first_splits(),
        substrings.substring_of_span,
        substrings.spans.first_span,
        substrings.spans.lengths,
        by_length(substrings),
        own_S,
        total_S,
        words,
        temperature,
        least,
        BW=WORDS_PER_BLOCK,
        num_warps=1,
    )


def best_trees(substrings: BatchSubstrings, of_span_S: Tensor) -> tuple[Tensor, Tensor]:
    """The depths of the splits in the tree whose spans have the highest sum, [W, longest - 1], padded with 0; and
    how far it is ahead of the next best tree, [W]."""
    words, row = len(substrings.spans.lengths), max(substrings.widest - 1, 1)
    depths = torch.zeros((words, row), dtype=torch.uint8, device=of_span_S.device)
    margin_W = torch.empty(words, dtype=torch.float32, device=of_span_S.device)
    _best_trees[(triton.cdiv(words, WORDS_PER_BLOCK),)](
        of_span_S,
        torch.zeros_like(of_span_S),
        torch.zeros_like(of_span_S, dtype=torch.int32),
        torch.full_like(of_span_S, -1, dtype=torch.int32),
        torch.full_like(of_span_S, torch.inf),
        substrings.spans.first_span,
        substrings.spans.lengths,
        by_length(substrings),
        depths,
        margin_W,
        words,
        row,
        BW=WORDS_PER_BLOCK,
        num_warps=1,
    )
    return depths, margin_W

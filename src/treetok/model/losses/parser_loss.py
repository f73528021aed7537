"""The loss of a parser against a teacher's trees: the cross-entropy of the split of every span.

Shapes: W words, S splits (one fewer than the letters of the longest word).
"""

from __future__ import annotations

import torch
from torch import Tensor

from treetok.model.network.functional import precise


def splits_of_spans(depths_WS: Tensor, lengths_W: Tensor) -> Tensor:
    """[word, p, q]: is split q inside the span that split p divides in the tree?

    A tree is given by the depths of its splits (the root has 0). The span that p divides is the longest run of
    splits around p in which none is higher than p.

    >>> splits_of_spans(torch.tensor([[1, 0, 1, 2]]), torch.tensor([5]))[0].int().tolist()
    [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    """
    splits = depths_WS.shape[1]
    at_S = torch.arange(splits, device=depths_WS.device)
    exists_WS = at_S < (lengths_W - 1).unsqueeze(1)
    # Padding is above every root, so that no span extends into it.
    depths_WS = depths_WS.masked_fill(~exists_WS, -1)
    above = torch.iinfo(depths_WS.dtype).max if not depths_WS.is_floating_point() else torch.inf
    is_before_S1S = at_S[:, None, None] < at_S
    # [q, word, p] is the highest split from p to q for p <= q; the other half is its mirror image. A GPU scans the
    # first dimension ten times as fast as the last.
    highest_SWS = depths_WS.t().unsqueeze(2).masked_fill(is_before_S1S, above).cummin(0).values
    highest_WSS = torch.minimum(highest_SWS.permute(1, 2, 0), highest_SWS.permute(1, 0, 2))
    return (highest_WSS >= depths_WS.unsqueeze(2)) & exists_WS.unsqueeze(2)


def parser_loss(
    scores_WS: Tensor, depths_WS: Tensor, lengths_W: Tensor, weights_W: Tensor | None = None
) -> Tensor:
    """Cross-entropy over the splits of every span of the teacher's tree, whose target is the teacher's split; the
    mean over all spans, weighted by word.

    `depths_WS` are the depths of the teacher's splits; values past the last split of a word are ignored.
    """
    in_span_WSS = splits_of_spans(depths_WS, lengths_W)
    exists_WS = in_span_WSS.diagonal(dim1=1, dim2=2)
    scores_WS = precise(scores_WS).masked_fill(~exists_WS, 0)
    of_span_WSS = scores_WS.unsqueeze(1).masked_fill(~in_span_WSS, -torch.inf)
    # A row of padding would be all -inf: zeros keep it and its gradient finite.
    of_span_WSS = of_span_WSS.masked_fill(~exists_WS.unsqueeze(2), 0)
    loss_WS = (of_span_WSS.logsumexp(-1) - scores_WS) * exists_WS
    weight_WS = exists_WS.to(loss_WS.dtype)
    if weights_W is not None:
        weight_WS = weight_WS * weights_W.unsqueeze(1)
    return (loss_WS * weight_WS).sum() / weight_WS.sum().clamp(min=torch.finfo(weight_WS.dtype).tiny)


def depths_of_splits(scores_WS: Tensor, lengths_W: Tensor) -> Tensor:
    """The depth of each split in the tree of its word, padded with 0: a batched `treetok.tree.split_depths`.

    >>> depths_of_splits(torch.tensor([[0.3, 0.9, 0.1, 7.0]]), torch.tensor([4])).tolist()
    [[1, 0, 1, 0]]
    """
    splits = scores_WS.shape[1]
    at_S = torch.arange(splits, device=scores_WS.device)
    exists_WS = at_S < (lengths_W - 1).unsqueeze(1)
    scores_WS = precise(scores_WS).masked_fill(~exists_WS, -torch.inf)
    # Ranks break ties: the leftmost split comes first.
    order_WS = scores_WS.argsort(dim=1, descending=True, stable=True)
    rank_WS = torch.empty_like(order_WS).scatter_(1, order_WS, at_S.expand_as(order_WS))
    to_the_right_SS = at_S.unsqueeze(1) <= at_S
    first_WSS = rank_WS.unsqueeze(1).masked_fill(~to_the_right_SS, splits).cummin(-1).values
    first_WSS = torch.minimum(first_WSS, first_WSS.transpose(1, 2))
    # The ancestors of p are all q that rank first among the splits from q to p.
    above_WSS = (first_WSS == rank_WS.unsqueeze(1)) & exists_WS.unsqueeze(1)
    return (above_WSS.sum(-1) - 1).masked_fill(~exists_WS, 0)

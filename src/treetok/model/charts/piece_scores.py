"""Split scores from a language model of pieces: the log-probability of the two halves.

The probability of a string is the sum over all ways to cut it into pieces, and a cut is as probable as its pieces
together. As in decoding from a composition model without its own morpheme, that a span is a piece itself says
nothing about where it is split.

Shapes: R rows of the inside table, C cells of a level, K possible splits of each.
"""

from __future__ import annotations

import torch
from torch import Tensor

from treetok.model.charts.plan import ChartPlan


def piece_split_scores(log_piece_R: Tensor, plan: ChartPlan) -> dict[int, Tensor]:
    """For every width, the split scores of its cells, [C, K]; `log_piece_R` is the log-probability of each row's
    string as one piece."""
    log_string_R = log_piece_R[: plan.characters]
    scores: dict[int, Tensor] = {}
    for level in plan.inside_levels:
        done, cells = len(log_string_R), len(level.left_CK)
        rest_CK = log_string_R[level.right_CK]
        scores[level.left_CK.shape[1] + 1] = log_string_R[level.left_CK] + rest_CK
        # The first piece, and all ways to cut the rest.
        log_cut_C = (log_piece_R[level.left_CK] + rest_CK).logsumexp(-1)
        log_string_R = torch.cat([log_string_R, torch.logaddexp(log_piece_R[done : done + cells], log_cut_C)])
    return scores

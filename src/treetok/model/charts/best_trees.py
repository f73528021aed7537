"""The best trees of pruned charts: what the paper calls tree induction.

Shapes: W words of at most S + 1 letters, C cells of a level, K splits of each, N pairs of a cell and a parent,
R rows of the outside table.
"""

from __future__ import annotations

import torch
from torch import Tensor

from treetok.model.charts.passes import InsideResult
from treetok.model.charts.pruned import PrunedPlan


@torch.no_grad()
def best_tree_depths(plan: PrunedPlan, inside: InsideResult) -> Tensor:
    """[W, S]: the depth of every split in the best tree of its word's chart, 0 for the root and for padding. The
    best tree splits every cell at its highest score, ties going left (the paper's tree induction)."""
    chosen = []
    done = 0
    for level in plan.inside_levels:
        shape = level.left_CK.shape
        scores_CK = inside.split_scores[done : done + shape.numel()].view(shape)
        best_C1 = scores_CK.argmax(-1, keepdim=True)
        chosen.append(torch.zeros_like(scores_CK, dtype=torch.bool).scatter(1, best_C1, True).view(-1))
        done += shape.numel()
    depths_WS = plan.lengths_W.new_zeros(plan.words * (plan.longest - 1) + 1)
    if not chosen:
        return depths_WS[:-1].view(plan.words, plan.longest - 1)
    is_chosen = torch.cat(chosen)
    # The depth of every outside row in the tree, -1 for rows outside it. A cell of the tree has one parent in it.
    depth_R = plan.lengths_W.new_zeros(plan.words)
    is_left = [torch.zeros_like(depth_R, dtype=torch.bool)]
    for outside in plan.outside_levels:
        of_parent_N = depth_R.index_select(0, outside.parent_N)
        in_tree_N = is_chosen.index_select(0, outside.split_N) & (of_parent_N >= 0)
        depth_R = torch.cat([depth_R, outside.highest(torch.where(in_tree_N, of_parent_N + 1, -1))])
        is_left.append(outside.highest((in_tree_N & (outside.side_N == 0)).long()) > 0)
    # A left half ends where its parent is split.
    split_R = plan.word_of_outside * (plan.longest - 1) + plan.end_of_outside - 1
    depths_WS[split_R.where(torch.cat(is_left), len(depths_WS) - 1)] = depth_R - 1
    return depths_WS[:-1].view(plan.words, plan.longest - 1)

"""Beam search for many sentences at once.

Shapes: B sentences, K hypotheses of each, R = B * K rows, V vocabulary, C = 2 * K candidates, T tokens.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_translation.encoded_pairs import END, PADDING


class Hypotheses(Protocol):
    """What hypotheses are made of: K rows for each sentence, all of which begin with nothing."""

    def step(self, token_R: Tensor) -> Tensor:
        """Log-probabilities RV of what follows these tokens; END is the token before the first."""

    def keep(self, row_R: Tensor) -> None:
        """Go on from these rows, which may repeat."""


@torch.no_grad()
def beam_search(
    hypotheses: Hypotheses, limit_B: Tensor, width: int, length_exponent: float = 1.0
) -> list[list[int]]:
    """The best translation of each sentence that is found, without END.

    Hypotheses are ranked by log-probability / length ** length_exponent, where the length includes END. The search
    for a sentence is over when `width` hypotheses have ended, or at its limit, where all must end. What is found
    does not depend on the other sentences.

    limit_B: the most tokens of each translation, without END.
    """
    sentences, device = len(limit_B), limit_B.device
    longest = int(limit_B.max())
    score_BK = torch.full((sentences, width), -torch.inf, device=device)
    # All begin alike: only one of them counts.
    score_BK[:, 0] = 0.0
    tokens_BKT = torch.zeros((sentences, width, 0), dtype=torch.int64, device=device)
    last_R = torch.full((sentences * width,), END, device=device)
    first_row_B1 = torch.arange(sentences, device=device)[:, None] * width
    best_B = torch.full((sentences,), -torch.inf, device=device)
    best_BT = torch.full((sentences, longest), PADDING, device=device)
    ended_B = torch.zeros(sentences, dtype=torch.int64, device=device)
    is_over_B = torch.zeros(sentences, dtype=torch.bool, device=device)
    for length in range(longest + 1):
        log_p_BKV = hypotheses.step(last_R).view(sentences, width, -1)
        vocabulary = log_p_BKV.shape[-1]
        must_end_B = limit_B <= length
        is_token_V = torch.arange(vocabulary, device=device) != END
        log_p_BKV = log_p_BKV.masked_fill(must_end_B[:, None, None] & is_token_V, -torch.inf)
        candidates = (score_BK[:, :, None] + log_p_BKV).flatten(1)
        score_BC, index_BC = candidates.topk(min(2 * width, candidates.shape[1]), 1)
        parent_BC, token_BC = index_BC // vocabulary, index_BC % vocabulary
        is_end_BC = token_BC == END

        # Only those among the best `width` end: others would end by being worse than what goes on.
        ends_BC = is_end_BC & score_BC.isfinite() & ~is_over_B[:, None]
        ends_BC[:, width:] = False
        final_BC = (score_BC / (length + 1) ** length_exponent).masked_fill(~ends_BC, -torch.inf)
        final_B, place_B = final_BC.max(1)
        parent_B = parent_BC.gather(1, place_B[:, None])
        new_BT = tokens_BKT.take_along_dim(parent_B[:, :, None], 1).squeeze(1)
        is_better_B = final_B > best_B
        best_BT = torch.where(is_better_B[:, None], F.pad(new_BT, (0, longest - length), value=PADDING), best_BT)
        best_B = torch.where(is_better_B, final_B, best_B)
        ended_B += ends_BC.sum(1)
        is_over_B = is_over_B | must_end_B | (ended_B >= width)
        if bool(is_over_B.all()):
            break

        score_BK, place_BK = score_BC.masked_fill(is_end_BC, -torch.inf).topk(width, 1)
        parent_BK, token_BK = parent_BC.gather(1, place_BK), token_BC.gather(1, place_BK)
        tokens_BKT = torch.cat([tokens_BKT.take_along_dim(parent_BK[:, :, None], 1), token_BK[:, :, None]], 2)
        last_R = token_BK.flatten()
        hypotheses.keep((first_row_B1 + parent_BK).flatten())
    return [[token for token in row if token != PADDING] for row in best_BT.tolist()]

"""The parser that is trained jointly with the composition model prunes its charts.

Shapes: W words of at most S + 1 letters.
"""

from __future__ import annotations

import torch
from torch import Tensor

from treetok.model.network.functional import precise
from treetok.model.network.parser import Parser, ParserTable


class MergeScores:
    """The scores that prune charts. In training they have Gumbel noise, from the global generator, so that cells
    other than the parser's favourites are explored."""

    def __init__(self, parser: Parser, letters: ParserTable) -> None:
        self.parser, self.letters = parser, letters

    @torch.no_grad()
    def __call__(self, words: Tensor) -> Tensor:
        scores_WS = precise(self.parser(self.letters.take(words)))
        if not self.parser.training:
            return scores_WS
        return scores_WS - torch.empty_like(scores_WS).exponential_().log()

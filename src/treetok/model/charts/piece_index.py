"""A language model of pieces on a device: `PieceModel` and `piece_split_scores` for all substrings of a batch.

Shapes: U distinct substrings, C of one width, K splits of each, P splits in total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from treetok.model.charts.batch_substrings import BatchSubstrings, StringIndex
from treetok.model.charts.span_index import to_device
from treetok.model.data.piece_model import ORDER, UNKNOWN_CHARACTER, PieceModel


class PieceIndex:
    """The known pieces by the hash of their string."""

    def __init__(self, model: PieceModel, device: torch.device | str) -> None:
        self.model = model
        self._strings = StringIndex(list(model.pieces), device)
        # With an entry at the end for strings that are no piece.
        self._log_known = to_device(np.array([*model.pieces.values(), -np.inf], dtype=np.float32), device)

    def split_scores(self, words: Sequence[str], substrings: BatchSubstrings) -> Tensor:
        """The score of every split is the log-probability of the two halves: [P], in the order of
        `BatchSubstrings.first_splits`."""
        log_piece_U = self.log_probabilities(words, substrings)
        log_string_U = log_piece_U.clone()
        scores = [log_piece_U[:0]]
        for width in range(2, substrings.widest + 1):
            first, last = substrings.width_starts[width - 1 : width + 1]
            left_CK, right_CK = substrings.halves(width, first, last)
            rest_CK = log_string_U[right_CK]
            scores.append((log_string_U[left_CK] + rest_CK).view(-1))
            # The first piece, and all ways to cut the rest.
            log_cut_C = (log_piece_U[left_CK] + rest_CK).logsumexp(-1)
            log_string_U[first:last] = torch.logaddexp(log_piece_U[first:last], log_cut_C)
        return torch.cat(scores)

    def log_probabilities(self, words: Sequence[str], substrings: BatchSubstrings) -> Tensor:
        """The log-probability of every substring as one piece, [U]; -inf if it can be none."""
        characters, share = substrings.width_starts[1], self.model.new_pieces
        place_U = self._strings.places(substrings)
        log_U = self._log_known[place_U]
        log_U[:characters].masked_fill_(place_U[:characters] < 0, UNKNOWN_CHARACTER)
        if share:
            log_U = log_U + math.log1p(-share)
            new = substrings.width_starts[min(self.model.shortest_new_piece - 1, substrings.widest)]
            log_U[new:] = torch.logaddexp(log_U[new:], self._spelled(words, substrings)[new:] + math.log(share))
        return log_U

    def _spelled(self, words: Sequence[str], substrings: BatchSubstrings) -> Tensor:
        """The log-probability of every substring when it is spelled letter by letter, [U]."""
        device = substrings.hash_U.device
        # There are few distinct strings as short as the contexts of letters.
        short = substrings.width_starts[min(ORDER, substrings.widest)]
        spans = zip(substrings.word_U[:short].tolist(), substrings.start_U[:short].tolist(), strict=True)
        widths = np.repeat(np.arange(1, substrings.widest + 1), np.diff(substrings.width_starts))[:short].tolist()
        ngrams = [words[word][start : start + width] for (word, start), width in zip(spans, widths, strict=True)]
        log_letter = torch.tensor([self.model.log_last_letter(ngram) for ngram in ngrams], device=device)
        spelled_U = torch.zeros(len(substrings), device=device)
        spelled_U[: substrings.width_starts[1]] = log_letter[: substrings.width_starts[1]]
        for width in range(2, substrings.widest + 1):
            first, last = substrings.width_starts[width - 1 : width + 1]
            word_C, start_C = substrings.word_U[first:last], substrings.start_U[first:last]
            before = substrings.substring_of_span[substrings.spans.ids(word_C, width - 1, start_C)]
            order = min(width, ORDER)
            ngram = substrings.substring_of_span[substrings.spans.ids(word_C, order, start_C + width - order)]
            spelled_U[first:last] = spelled_U[before] + log_letter[ngram]
        return spelled_U

"""Sentences as token ids, and windows of them as model inputs and targets.

Shapes: B windows, T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from treetok.evaluate.interface import EvalTokenizer

# The token that ends a sentence and precedes its first token.
END = 0
# The target of padding.
IGNORED = -1
# Windows are padded to a multiple of this, so that there are few different shapes.
WIDTH_MULTIPLE = 32


class EncodedSentences:
    """The token ids of sentences, on one device. `ids` maps tokens to ids and grows with new tokens."""

    def __init__(
        self, tokenizer: EvalTokenizer, sentences: Sequence[str], ids: dict[str, int], device: str
    ) -> None:
        encoded: list[int] = []
        starts = [0]
        for sentence in sentences:
            encoded += [ids.setdefault(token, len(ids) + 1) for token in tokenizer.tokenize(sentence)]
            starts.append(len(encoded))
        self.flat = torch.tensor(encoded, dtype=torch.int32)
        # One more at the end, so that the position after the last sentence can be read.
        self._padded = torch.cat([self.flat, torch.tensor([END], dtype=torch.int32)]).to(device)
        self._starts = torch.tensor(starts, device=device)
        self.lengths = np.diff(np.array(starts))
        self.device = device

    def windows(self, rows: Sequence[tuple[int, int, int]], max_width: int = 0) -> tuple[Tensor, Tensor]:
        """Inputs and targets of windows given as (sentence, start, stop). Position 0 is the first token of a
        sentence; its end token is at the position of its length. Windows are padded to a multiple of
        WIDTH_MULTIPLE, but not beyond `max_width`."""
        sentence_B, start_B, stop_B = torch.tensor(rows, device=self.device).T
        length_B = self._starts[sentence_B + 1] - self._starts[sentence_B]
        width = max(stop - start for _, start, stop in rows)
        width = min(width + -width % WIDTH_MULTIPLE, max(width, max_width))
        position_BT = start_B[:, None] + torch.arange(width, device=self.device)
        index_BT = (self._starts[sentence_B][:, None] + position_BT).clamp(max=len(self.flat))
        target_BT = self._padded[index_BT].long()
        target_BT = target_BT.masked_fill(position_BT == length_B[:, None], END)
        target_BT = target_BT.masked_fill(position_BT >= stop_B[:, None], IGNORED)
        before_B1 = self._padded[(index_BT[:, :1] - 1).clamp(min=0)].long()
        before_B1 = before_B1.masked_fill(start_B[:, None] == 0, END)
        input_BT = torch.cat([before_B1, target_BT[:, :-1]], 1).clamp(min=END)
        return input_BT, target_BT


def adjacent_windows(number: int, length: int, width: int) -> list[tuple[int, int, int]]:
    """A sentence as adjacent windows (sentence, start, stop), for training.

    >>> adjacent_windows(7, 5, 4)
    [(7, 0, 4), (7, 4, 6)]
    """
    return [(number, start, min(start + width, length + 1)) for start in range(0, length + 1, width)]


def overlapping_windows(number: int, length: int, width: int) -> list[tuple[int, int, int, int]]:
    """A sentence as overlapping windows (sentence, start, stop, measured from), for scoring: every token is
    measured once, with at least half a window before it where the sentence is long enough.

    >>> overlapping_windows(7, 5, 4)
    [(7, 0, 4, 0), (7, 2, 6, 4)]
    """
    windows = [(number, 0, min(width, length + 1), 0)]
    while windows[-1][2] < length + 1:
        measured_from = windows[-1][2]
        start = measured_from - width // 2
        windows.append((number, start, min(start + width, length + 1), measured_from))
    return windows

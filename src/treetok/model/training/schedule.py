"""The learning-rate schedule: linear warm-up, then cosine decay."""

from __future__ import annotations

import math


def warmup_cosine(position: float, warmup: float, end: float, final_ratio: float = 0.0) -> float:
    """The learning-rate factor at `position`, which runs from 0 to `end`.

    >>> [round(warmup_cosine(position, 10, 100), 2) for position in (0, 5, 10, 55, 100)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    >>> warmup_cosine(100, 10, 100, final_ratio=0.25)
    0.25
    """
    if position < warmup:
        return position / warmup
    done = min(1.0, (position - warmup) / max(end - warmup, 1e-9))
    cosine = (1 + math.cos(math.pi * done)) / 2
    return final_ratio + (1 - final_ratio) * cosine

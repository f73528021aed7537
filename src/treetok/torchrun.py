"""Processes that `torchrun` started to train together."""

from __future__ import annotations

import os


def is_first_process() -> bool:
    """Whether this process is the one that writes and reports, of those that `torchrun` started."""
    rank = os.environ.get("RANK", "0")
    return "WORLD_SIZE" not in os.environ or not rank.isdigit() or int(rank) == 0

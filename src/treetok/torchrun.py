"""Processes started by `torchrun` for distributed training."""

from __future__ import annotations

import os


def is_first_process() -> bool:
    """Whether this is the process (rank 0, or the only one) that writes files and reports progress."""
    rank = os.environ.get("RANK", "0")
    return "WORLD_SIZE" not in os.environ or not rank.isdigit() or int(rank) == 0


def is_started_by_torchrun() -> bool:
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ

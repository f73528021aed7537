"""Which device to work on."""

from __future__ import annotations

import gc

import torch

from treetok.errors import TreetokError


def chosen_device(name: str) -> str:
    """`auto` is a GPU if there is one; `cuda` without one is refused."""
    if name not in ("auto", "cpu", "cuda"):
        raise TreetokError(f"unknown device {name!r}: choose auto, cpu or cuda")
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise TreetokError("no GPU for device 'cuda': PyTorch sees none here; choose cpu, or auto")
    return "cuda" if has_gpu and name != "cpu" else "cpu"


def free_memory(device: str) -> None:
    """Give back what nothing refers to any more: recorded steps go round in circles, and hold gigabytes."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()

"""The choice of device, and freeing its memory."""

from __future__ import annotations

import gc

import torch

from treetok.errors import TreetokError


def chosen_device(name: str) -> str:
    """`auto` is a GPU if there is one; `cuda` without a GPU is an error."""
    if name not in ("auto", "cpu", "cuda"):
        raise TreetokError(f"unknown device {name!r}: choose auto, cpu or cuda")
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise TreetokError("no GPU for device 'cuda': PyTorch sees none here; choose cpu, or auto")
    return "cuda" if has_gpu and name != "cpu" else "cpu"


def free_memory(device: str) -> None:
    """Free unused memory: recorded steps are part of reference cycles and hold gigabytes."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()

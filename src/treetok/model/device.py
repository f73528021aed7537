"""The choice of device, its threads, and freeing its memory."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

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


@contextlib.contextmanager
def computing_threads(device: str, threads: int | None) -> Iterator[None]:
    """PyTorch computes with this many threads; None is one on a CPU, and PyTorch's choice on a GPU.

    Several threads sum in another order, so a default that depends on the machine would give other files on every
    machine. And small matrices gain little: where other processes want the cores too, two threads that wait for
    each other take several times as long as one.
    """
    if threads is None and device.startswith("cuda"):
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads or 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def explained_memory_errors(advice: str) -> Iterator[None]:
    """Say in one line what to do if something does not fit into memory."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # As PyTorch puts it, on a GPU and on a CPU.
        texts = ("out of memory", "can't allocate memory", "not enough memory")
        if isinstance(error, RuntimeError) and not any(text in str(error) for text in texts):
            raise
        raise TreetokError(f"out of memory: {advice}") from None


def free_memory(device: str) -> None:
    """Free unused memory: recorded steps are part of reference cycles and hold gigabytes."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()

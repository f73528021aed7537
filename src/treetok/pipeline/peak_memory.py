"""The peak memory of a stage: of the process, and of the GPU if one is used."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

CLEAR_REFS = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")


def reset_peak_memory() -> None:
    with contextlib.suppress(OSError):
        # Linux: reset the peak.
        CLEAR_REFS.write_text("5")
    if (cuda := cuda_in_use()) is not None:
        cuda.reset_peak_memory_stats()


def peak_memory() -> dict[str, int]:
    """Peak bytes since the last reset (since the start of the process, where a reset is not possible)."""
    peaks = {"cpu": peak_of_process()}
    if (cuda := cuda_in_use()) is not None:
        peaks["gpu"] = int(cuda.max_memory_allocated())
    return peaks


def peak_of_process() -> int:
    with contextlib.suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def cuda_in_use() -> Any:
    """PyTorch's `cuda` module if it is already initialized; PyTorch is not imported just to measure memory."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return torch.cuda

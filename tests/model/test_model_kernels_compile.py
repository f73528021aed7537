"""Kernels of decoding, of the parser and of cells with different numbers of parents compile for a GPU."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("triton", reason="Triton is not installed")


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="Triton's compiler for NVIDIA GPUs is tried on x86-64 only"
)
def test_kernels_compile_for_a_gpu(tmp_path):
    # In another process: here Triton may be interpreting.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    script = Path(__file__).with_name("compile_kernels.py")
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 8

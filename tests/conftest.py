"""What tests share: the text of the project, and small tokenizers."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Small matrices are no faster with several threads, and far slower where processors are busy. numpy and PyTorch
# read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    import torch

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False
if not HAS_GPU:
    # Kernels run in Triton's interpreter, which must be asked for before anything imports Triton.
    os.environ.setdefault("TRITON_INTERPRET", "1")

from treetok import TreeTokenizer

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_FILES = sorted((ROOT / "sample_text").glob("*.txt"))

# TREETOK_EXAMPLES=5000 pytest: the same properties, tried on more examples.
settings.register_profile(
    "treetok",
    max_examples=int(os.environ.get("TREETOK_EXAMPLES", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    derandomize=True,
)
settings.load_profile("treetok")


@pytest.fixture(scope="session")
def sample_text() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in SAMPLE_FILES)


@pytest.fixture(scope="session")
def lossless() -> TreeTokenizer:
    return TreeTokenizer.train(SAMPLE_FILES, 1500, "counts", "lossless", progress=False)


@pytest.fixture(scope="session")
def uncased() -> TreeTokenizer:
    return TreeTokenizer.train(SAMPLE_FILES, 1500, "counts", "uncased", progress=False)

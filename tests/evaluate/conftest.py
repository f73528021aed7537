"""Gold data and an independent scorer, which may be missing."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

BESIDE_THE_PROJECT = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def gold_folder() -> Path:
    folder = Path(os.environ.get("TREETOK_GOLD", BESIDE_THE_PROJECT / "gold"))
    if not folder.is_dir():
        pytest.skip(f"no gold segmentations at {folder}; set TREETOK_GOLD to the folder that has them")
    return folder


@pytest.fixture(scope="session")
def independent_scorer() -> ModuleType:
    path = Path(os.environ.get("TREETOK_SCORER", BESIDE_THE_PROJECT / "tools" / "gold_io.py"))
    if not path.is_file():
        pytest.skip(f"no independent scorer at {path}; set TREETOK_SCORER to its file")
    spec = importlib.util.spec_from_file_location("independent_scorer", path)
    assert spec and spec.loader
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer

"""Gold data: a sample that is part of the project, and more of it beside the project, which may be missing."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

BESIDE_THE_PROJECT = Path(__file__).resolve().parents[3] / "shared"
GOLD_FOLDER = Path(os.environ.get("TREETOK_GOLD", BESIDE_THE_PROJECT / "gold"))


@pytest.fixture(scope="session")
def gold_sample() -> Path:
    """Words written for this project: compounds, inflections, apostrophes, hyphens, accents, alternatives."""
    return Path(__file__).resolve().parents[1] / "data" / "gold_sample.tsv"


@pytest.fixture(scope="session")
def gold_files(gold_sample) -> list[Path]:
    """The sample, and whatever else there is."""
    return [gold_sample, *sorted(GOLD_FOLDER.rglob("*.tsv"))]


@pytest.fixture(scope="session")
def gold_folder() -> Path:
    if not GOLD_FOLDER.is_dir():
        pytest.skip(f"no gold segmentations at {GOLD_FOLDER}; set TREETOK_GOLD to the folder that has them")
    return GOLD_FOLDER


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

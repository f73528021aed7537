"""Hints name packages that can be had, and all of those that an extra asks for."""

import re
import tomllib

import pytest

from conftest import ROOT
from treetok.install_hint import PACKAGES, install_hint


@pytest.mark.parametrize("extra", PACKAGES)
def test_a_hint_names_the_packages_of_its_extra(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [re.match(r"[\w-]+", package)[0] for package in project["optional-dependencies"][extra]]
    assert install_hint(extra) == f"pip install {' '.join(needed)}"


def test_nothing_asks_for_treetok_from_an_index():
    files = [
        *(ROOT / "src").rglob("*.py"),
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("*/*.py"),
    ]
    asking = [path for path in files if re.search(r"pip install '?treetok", path.read_text(encoding="utf-8"))]
    assert [path.name for path in asking] == ["install_hint.py"]

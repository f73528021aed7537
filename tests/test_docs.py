"""The examples in the documentation run, and print what it says."""

import doctest

import pytest

from conftest import ROOT

PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page, tmp_path, monkeypatch):
    # Where they write files.
    monkeypatch.chdir(tmp_path)
    failed, attempted = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert attempted
    assert not failed

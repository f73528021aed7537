"""The examples in these pages are tests: what they write goes to a temporary folder."""

import pytest


@pytest.fixture(autouse=True)
def in_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

"""What the package is built from."""

import subprocess
import sys
import tomllib

from conftest import ROOT


def test_the_tables_of_the_core_need_no_more_than_is_there_where_wheels_are_built():
    """Else packages are built without the core, and nobody notices."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert [package.partition(">")[0] for package in required] == ["scikit-build-core", "nanobind", "regex"]
    code = f"""
import runpy, sys
sys.modules.update(dict.fromkeys(["numpy", "safetensors", "torch"]))
runpy.run_path({str(ROOT / "native" / "unicode_tables.py")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True)

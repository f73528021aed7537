"""Build the wheel, with the native core, and the source distribution twice, from two copies in different folders,
and check that both times give the same bytes. The tests do the same without the core.

python scripts/check_build.py [--keep FOLDER]     (needs `pip install build`)
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("CMakeLists.txt", "LICENSE", "LICENSES", "NOTICE", "README.md", "native", "pyproject.toml", "src")


def build(source: Path, packages: Path) -> dict[str, str]:
    """The packages' names and hashes."""
    source.mkdir(parents=True)
    for name in NAMES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "_core*"))
        else:
            shutil.copyfile(ROOT / name, source / name)
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "build", "--wheel", "--sdist", "--outdir", str(packages), str(source)]
    subprocess.run(command, env=environment, check=True)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(packages.iterdir())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put the packages there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = build(folder / "first", options.keep or folder / "packages")
        second = build(folder / "elsewhere/second", folder / "packages-again")
    for package, digest in first.items():
        print(f"{digest}  {package}")
    if first != second:
        sys.exit(f"the second time: {second}")
    print("the same bytes twice")


if __name__ == "__main__":
    main()

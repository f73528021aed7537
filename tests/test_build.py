"""What the package is built from, and what is in it."""

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT
from elf_file import ElfFile
from treetok import native

LICENCES = {"Apache-2.0", "CC-BY-SA-4.0", "BSD-3-Clause", "MIT", "Unicode-3.0"}
LICENCE_FILES = [ROOT / "LICENSE", ROOT / "NOTICE", *sorted((ROOT / "LICENSES").iterdir())]


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


@pytest.fixture(scope="module")
def core() -> ElfFile:
    if platform.system() != "Linux":
        pytest.skip("only files of Linux are read here")
    if native.why_not_native() is not None:
        pytest.skip("there is no native core here")
    return ElfFile(Path(str(native.core().__file__)).read_bytes())


class TestHardening:
    def test_addresses_are_looked_up_at_once_and_then_read_only(self, core: ElfFile):
        assert core.binds_at_once
        assert core.has_read_only_relocations

    def test_data_is_not_run(self, core: ElfFile):
        assert core.stack_flags is not None
        assert not core.stack_flags & ElfFile.EXECUTABLE
        assert not any(flags & ElfFile.EXECUTABLE and flags & ElfFile.WRITABLE for flags in core.segment_flags)

    def test_stacks_and_copies_are_checked(self, core: ElfFile):
        assert b"__stack_chk_fail" in core.symbols
        if platform.libc_ver()[0] != "glibc":
            pytest.skip("only glibc has checked copies")
        assert [name for name in core.symbols if re.fullmatch(rb"__\w+_chk", name)]

    def test_a_file_without_any_of_it_is_seen(self, core: ElfFile, tmp_path: Path):
        """So that the tests above can fail."""
        compiler = shutil.which("c++")
        if compiler is None:
            pytest.skip("there is no compiler here")
        source, module = tmp_path / "plain.c", tmp_path / "plain.so"
        source.write_text("int plain(void) { return 1; }")
        flags = ["-shared", "-fPIC", "-fno-stack-protector", "-Wl,-z,norelro,-z,lazy,-z,execstack"]
        subprocess.run([compiler, "-x", "c", *flags, source, "-o", module], check=True, capture_output=True)
        plain = ElfFile(module.read_bytes())
        assert not plain.binds_at_once
        assert not plain.has_read_only_relocations
        assert plain.stack_flags is None or plain.stack_flags & ElfFile.EXECUTABLE
        assert b"__stack_chk_fail" not in plain.symbols


@dataclass
class Built:
    wheel: bytes
    sdist: bytes
    folder: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    """The package without the core and the models, built from two copies of the same files: the second copy is in
    another folder, and its files are older and may be read by nobody else."""
    pytest.importorskip("scikit_build_core")
    results = []
    for seconds in (1_700_000_000, 1_600_000_000):
        folder = tmp_path_factory.mktemp("package")
        source = folder / "source"
        left_out = shutil.ignore_patterns("*.safetensors", "vocab.tsv", "__pycache__")
        shutil.copytree(ROOT / "src", source / "src", ignore=left_out)
        shutil.copytree(ROOT / "LICENSES", source / "LICENSES")
        for name in ("CMakeLists.txt", "LICENSE", "NOTICE", "README.md", "pyproject.toml"):
            shutil.copy(ROOT / name, source)
        for path in source.rglob("*"):
            os.utime(path, (seconds, seconds))
            if path.is_file() and seconds == 1_600_000_000:
                path.chmod(0o600)
        code = f"""
from scikit_build_core.build import build_sdist, build_wheel
build_wheel({str(folder)!r}, {{"wheel.cmake": "false"}})
build_sdist({str(folder)!r})
"""
        # It is the settings of the project that count.
        environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        subprocess.run([sys.executable, "-c", code], cwd=source, env=environment, check=True, capture_output=True)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        results.append(Built(wheel.read_bytes(), sdist.read_bytes(), folder))
    return results


def test_the_same_files_give_the_same_bytes(built: list[Built]):
    assert built[0].wheel == built[1].wheel
    assert built[0].sdist == built[1].sdist


def test_wheel_and_sdist_carry_all_licences(built: list[Built]):
    expected = {str(path.relative_to(ROOT).as_posix()): path.read_bytes() for path in LICENCE_FILES}
    (path,) = built[0].folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        prefix = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        lines = wheel.read(prefix).decode().splitlines()
        folder = prefix.removesuffix("METADATA") + "licenses/"
        assert {name: wheel.read(folder + name) for name in expected} == expected
    assert [line for line in lines if line.startswith("License-File: ")] == [
        f"License-File: {name}" for name in sorted(expected)
    ]
    (expression,) = [line for line in lines if line.startswith("License-Expression: ")]
    assert set(expression.removeprefix("License-Expression: ").split(" AND ")) == LICENCES
    (path,) = built[0].folder.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        root = sdist.getnames()[0].partition("/")[0]
        for name, content in expected.items():
            file = sdist.extractfile(f"{root}/{name}")
            assert file is not None and file.read() == content


def test_the_notice_says_which_part_has_which_licence():
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for path in (ROOT / "LICENSES").iterdir():
        assert f"LICENSES/{path.name}" in notice
        assert any(path.name.startswith(licence) for licence in LICENCES)
    cards = list((ROOT / "src/treetok/shipped").glob("*/MODEL_CARD.md"))
    assert cards
    for card in cards:
        assert "| license of the files | CC BY-SA 4.0 |" in card.read_text(encoding="utf-8")
        assert card.parent.name in notice


def test_notices_are_those_of_what_the_core_contains():
    try:
        files = importlib.metadata.files("nanobind") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nanobind is not installed here")
    (licence,) = [file for file in files if file.name == "LICENSE"]
    assert licence.read_text() == (ROOT / "LICENSES/BSD-3-Clause-nanobind.txt").read_text(encoding="utf-8")
    (header,) = [file for file in files if file.name == "robin_map.h"]
    comment = re.findall(r"^ \* ?(.*)$", header.read_text().partition("*/")[0], re.MULTILINE)
    ours = (ROOT / "LICENSES/MIT-robin-map.txt").read_text(encoding="utf-8")
    assert "\n".join(comment).strip() == ours.strip()

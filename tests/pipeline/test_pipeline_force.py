"""What `--force` replaces and what it keeps, for neural trees; tests/test_cli.py has the rest."""

import subprocess

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from minute import command, files_of
from synthetic import Language


def run(*arguments):
    result = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


def times(directory, pattern):
    found = {path.name: path.stat().st_mtime_ns for path in (directory / "training").glob(pattern)}
    assert found
    return found


def test_a_finished_run(tmp_path):
    corpus, other, out = tmp_path / "corpus.txt", tmp_path / "other.txt", tmp_path / "out"
    corpus.write_text(Language().text(1500)[0], encoding="utf-8")
    other.write_text(Language().text(1200)[0], encoding="utf-8")
    assert run(corpus, out)[0] == 0
    files, members = files_of(out), times(out, "member-*.safetensors")
    # Refused before any work.
    status, errors = run(corpus, out)
    hint = "pass --force to replace it, or --resume to continue the run that made it"
    assert (status, errors) == (1, f"treetok: {out} already has a tokenizer: {hint}\n")
    # Resumed, and forced: nothing is trained again, and the same files are written.
    for option in ("--resume", "--force"):
        assert run(corpus, out, option)[0] == 0
        assert files_of(out) == files
        assert times(out, "member-*.safetensors") == members
    # Another vocabulary of the same trees.
    assert run(corpus, out, "--force", "--alignment", "1")[0] == 0
    assert files_of(out) != files
    assert times(out, "member-*.safetensors") == members
    # Another text: refused as a run to resume, replaced with --force.
    status, errors = run(other, out, "--resume")
    assert (status, "has the run of another training: text" in errors) == (1, True)
    assert run(other, out, "--force")[0] == 0
    assert times(out, "member-*.safetensors") != members
    # As if there had been nothing before.
    assert run(other, tmp_path / "new")[0] == 0
    assert files_of(tmp_path / "new") == files_of(out)

"""What a run that is killed leaves to the next one."""

from pathlib import Path

import pytest

from treetok.pipeline.artefacts import BYTES
from treetok.pipeline.run_directory import Run
from treetok.storage.atomic import save_atomically


class Killed(BaseException):
    """No cleanup code runs."""


def killed(*arguments):
    raise Killed


def work_in(folder):
    def work():
        save_atomically(folder, {"parameters.safetensors": b"half", "checkpoint.json": b"{}"}, "checkpoint.json")
        (folder / "log.jsonl").write_text("{}\n")
        return {"result": b"result"}, {}

    return work


def test_checkpoints_of_a_finished_stage_are_removed_by_the_next_run(tmp_path, monkeypatch):
    run = Run.open(tmp_path, {}, resume=False)
    folder = tmp_path / "stage"
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Run, "_remove_checkpoints", killed)
        run.stage("stage", {}, {"result": BYTES}, work_in(folder))
    # As if it had been killed while it wrote another one.
    (folder / ".treetok-lock").touch()
    (folder / ".treetok-writing-1").mkdir()
    (folder / ".treetok-writing-1" / "parameters.safetensors").touch()
    again = Run.open(tmp_path, {}, resume=True)
    assert again.stage("stage", {}, {"result": BYTES}, killed)["result"] == b"result"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {
        "run.json",
        "result",
        "stage",
        "stage/log.jsonl",
    }


def test_a_run_killed_while_it_saves_is_that_of_before_or_after(tmp_path, monkeypatch):
    run = Run.open(tmp_path, {}, resume=False)
    run.stage("first", {}, {"one": BYTES}, lambda: ({"one": b"1"}, {}))
    moved = []
    original = Path.replace

    def some(self, target):
        if len(moved) == 1:
            raise Killed
        moved.append(target)
        return original(self, target)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, "replace", some)
        patched.setattr("shutil.rmtree", lambda *_, **__: None)
        run.records["second"] = run.records["first"]
        run._save({"one": b"2"})
    # The head is there, what belongs to it is still being moved.
    assert moved == [tmp_path / "run.json"]
    assert (tmp_path / "one").read_bytes() == b"1"
    again = Run.open(tmp_path, {}, resume=True)
    # What was being moved is in its place now.
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "one"}
    assert (tmp_path / "one").read_bytes() == b"2"
    with pytest.warns(match="one is damaged"):
        assert again.stage("first", {}, {"one": BYTES}, lambda: ({"one": b"1"}, {}))["one"] == b"1"

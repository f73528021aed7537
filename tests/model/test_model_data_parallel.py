"""Two processes with half of every batch each do what one process does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install '.[train]'")

from data_parallel_run import train  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def train_in_two_processes(out, *runs):
    """The results of runs, one after the other, in both processes: [rank][run]."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    script = Path(__file__).with_name("data_parallel_run.py")
    done = subprocess.run(
        [*command, str(script), json.dumps({"out": str(out), "runs": runs})],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads((out / f"rank{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]


def assert_close(losses, expected):
    assert len(losses) == len(expected)
    for one, other in zip(losses, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_what_two_processes_cannot_do(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    first, second = train_in_two_processes(
        tmp_path,
        {"sequences": 1},
        {"chart": "pruned"},
        {"text": "a b c d e f g " * 9},
        {"save": str(tmp_path / "file"), "steps": 2},
    )
    for run, error in enumerate(
        [
            "batches of 1 sequences cannot be shared by 2 processes: there must be a sequence for each",
            "several processes can train with complete charts only, not with pruned ones",
            "a batch has fewer words of several letters than there are processes (2)",
        ]
    ):
        assert first[run] == second[run] == {"error": error}
    assert first[3] == {"error": f"cannot save to {tmp_path / 'file'}: it is a file, not a directory"}
    assert second[3] == {"error": "the first process could not save a checkpoint"}


def test_two_processes_follow_one(tmp_path):
    alone = train("cpu", save=str(tmp_path / "alone"), until=10)
    alone_on = train("cpu", load=str(tmp_path / "alone"))
    ablations = [{"context": False}, {"context_root": False, "count_power": 0.5}, {"span_loss": False}]
    together, second = train_in_two_processes(
        tmp_path,
        {},
        {"save": str(tmp_path / "together"), "stop_rank": 1, "stop_step": 7},
        {"load": str(tmp_path / "together"), "save": str(tmp_path / "together")},
        {"load": str(tmp_path / "alone")},
        *({"objective": objective, "steps": 4} for objective in ablations),
    )
    assert alone["kind"] == "Trainer"
    assert {run["kind"] for run in together + second} == {"DataParallelTrainer"}
    # Twenty steps, two validations.
    whole = alone["losses"] + alone_on["losses"]
    assert len(whole) == 22
    assert_close(together[0]["losses"], whole)
    # SIGTERM reaches the second process only, during step 7; both stop after it, and go on from there.
    assert together[1]["step"] == second[1]["step"] == 7
    assert together[1]["saved"] == [7]
    assert_close(together[1]["losses"] + together[2]["losses"], whole)
    # One process goes on where two have stopped, and the other way round.
    assert_close(together[3]["losses"], alone_on["losses"])
    assert train("cpu", load=str(tmp_path / "together"))["step"] == 20
    for objective, run in zip(ablations, together[4:], strict=True):
        assert_close(run["losses"], train("cpu", objective=objective, steps=4)["losses"])
    # Only the first process reports and saves.
    assert not any(run["losses"] or run["saved"] for run in second)

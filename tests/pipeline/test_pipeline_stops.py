"""A run that is stopped, in whatever way and at whatever stage, gives the same tokenizer in the end."""

import json
import os
import random
import signal
import subprocess
import time

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from minute import command, files_of
from synthetic import Language

TEXT, _ = Language().text(4000)
# TREETOK_STOPS=20 pytest: more moments, spread over all stages.
STOPS = int(os.environ.get("TREETOK_STOPS", "3"))
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]
# A checkpoint for nearly every step, so that stops fall between checkpoints and a kill loses little.
CHECKPOINTS = ("--checkpoint-seconds", 0.2)


def run(arguments, stop_when=None, number=signal.SIGTERM):
    """Run the command to its end, or stop it when `stop_when(stderr so far)` says so: (exit status, stderr)."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    while stop_when is not None and process.poll() is None:
        time.sleep(0.02)
        if stop_when():
            process.send_signal(number)
            break
    errors = process.communicate(timeout=3000)[1].decode()
    return process.returncode, errors


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("stops") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def uninterrupted(corpus):
    """The files of a run never stopped, and the seconds of its stages."""
    out = corpus.with_name("whole")
    began = time.monotonic()
    status, errors = run(command(corpus, out, *CHECKPOINTS))
    assert status == 0, errors
    seconds = {name: record["seconds"] for name, record in record_of(out)["stages"].items()}
    # What is neither: starting Python, importing PyTorch, saving.
    start = max(time.monotonic() - began - sum(seconds.values()), 0.5)
    return files_of(out), {"start": start, **seconds}


def record_of(out):
    path = out / "training" / "run.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {"stages": {}, "started": {}}


class InStage:
    """Says so when a run has been in a stage for a random part of the time that the stage takes."""

    def __init__(self, out, stage, seconds, rng):
        self.out, self.stage, self.delay = out, stage, rng.uniform(0, 1) * seconds
        self.since = time.monotonic() if stage == "start" else None

    def __call__(self):
        record = record_of(self.out)
        if self.since is None and self.stage in (*record["started"], *record["stages"]):
            self.since = time.monotonic()
        return self.since is not None and time.monotonic() - self.since > self.delay


def test_a_run_stopped_in_any_stage_gives_the_same_tokenizer(corpus, uninterrupted, tmp_path):
    expected, seconds = uninterrupted
    out = tmp_path / "out"
    rng = random.Random(STOPS)
    # Every stage has its turn, in order, the long ones more than once.
    order = sorted(seconds, key=list(seconds).index)
    turns = (order * STOPS)[:STOPS] if len(order) <= STOPS else rng.sample(order, STOPS)
    stops = []
    for number, stage in enumerate(sorted(turns, key=order.index)):
        how = SIGNALS[number % 3]
        watch = InStage(out, stage, seconds[stage], rng)
        status, errors = run(command(corpus, out, *CHECKPOINTS, "--resume"), watch, how)
        # Python itself may be interrupted while it starts and imports modules, also in the turn of a stage that an
        # earlier run had begun.
        assert "Traceback" not in errors or stage == "start" or "<frozen " in errors
        left = [name for name in record_of(out)["started"] if name not in record_of(out)["stages"]]
        stops.append((stage, how.name, status, left))
        if status == 0:
            # It was too quick for us: have the stage done again.
            assert files_of(out) == expected
            for file in record_of(out)["stages"][stage]["sha256"]:
                (out / "training" / file).unlink()
        elif status == 1 and "Traceback" not in errors:
            # NumPy reports an interrupted import as an error of its own, with a traceback and status 1.
            assert "go on with --resume" in errors
    status, errors = run(command(corpus, out, *CHECKPOINTS, "--resume"))
    assert status == 0, errors
    assert files_of(out) == expected
    print(*stops, sep="\n")
    # Some stages take a hundredth of a second.
    assert sum(status != 0 for _, _, status, _ in stops) >= STOPS // 2


def last_logged(out, member):
    lines = (out / "training" / member / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["step"] for line in lines]


def test_a_signal_stops_training_with_a_checkpoint_and_nothing_is_done_twice(corpus, uninterrupted, tmp_path):
    out = tmp_path / "out"
    log = out / "training" / "member-1" / "log.jsonl"
    # Were it not for the signal, no checkpoint would be written for an hour.
    status, errors = run(command(corpus, out, "--checkpoint-seconds", 3600), log.exists, signal.SIGINT)
    assert status == 1
    assert f"{out / 'training'} has what is done; go on with --resume" in errors
    checkpoint = json.loads((log.parent / "checkpoint.json").read_text(encoding="utf-8"))
    assert checkpoint["step"] >= 20
    assert not (out / "treetok.json").exists()
    status, errors = run(command(corpus, out, "--checkpoint-seconds", 3600, "--resume"))
    assert status == 0, errors
    steps = last_logged(out, "member-1")
    assert steps == sorted(set(steps))
    assert files_of(out) == uninterrupted[0]


def test_a_signal_in_a_late_stage_keeps_what_is_done(corpus, uninterrupted, tmp_path):
    out = tmp_path / "out"
    record = out / "training" / "run.json"

    def trees_are_done():
        return record.exists() and "trees" in json.loads(record.read_text(encoding="utf-8"))["stages"]

    status, _ = run(command(corpus, out, *CHECKPOINTS), trees_are_done)
    assert status == 1
    stages = json.loads(record.read_text(encoding="utf-8"))["stages"]
    assert {"words", "pieces", "member-1", "trees"} <= stages.keys()
    status, errors = run(command(corpus, out, *CHECKPOINTS, "--resume"))
    assert status == 0, errors
    again = json.loads(record.read_text(encoding="utf-8"))["stages"]
    assert all(again[name] == stage for name, stage in stages.items())
    assert files_of(out) == uninterrupted[0]

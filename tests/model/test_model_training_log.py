"""The log of training: JSON lines, and event files as TensorBoard reads them."""

import json
import struct
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from treetok import TreetokError, TreetokWarning
from treetok.model.training.log import TrainingLog
from treetok.model.training.trainer import StepReport, ValidationLosses

FIRST = StepReport(50, 2.5, 4.5, 6.5, 1000.0, 0.001, 30.0)
SECOND = StepReport(100, 2.25, 4.25, 6.25, 1100.0, 0.0005, 0.0, ValidationLosses(2.75, 4.75, 6.75))


def lines_of(directory):
    return [json.loads(line) for line in (directory / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def curves_of(directory):
    """{tag: [(step, value)]} of all event files, which are records of a length, its checksum, the event and its
    checksum."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    curves = {}
    for path in sorted((directory / "tensorboard").iterdir()):
        rest = path.read_bytes()
        while rest:
            (length,) = struct.unpack("<Q", rest[:8])
            event = event_pb2.Event.FromString(rest[12 : 12 + length])
            rest = rest[16 + length :]
            for value in event.summary.value:
                curves.setdefault(value.tag, []).append((event.step, value.simple_value))
    return curves


def test_reports_are_written_and_a_later_run_appends(tmp_path):
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed: pip install '.[train]'")
    with TrainingLog(tmp_path / "run") as log:
        log.write(FIRST)
        # What was written is there before the log is closed.
        assert lines_of(tmp_path / "run") == [FIRST.figures()]
    assert curves_of(tmp_path / "run")["loss/span"] == [(50, 4.5)]
    with TrainingLog(tmp_path / "run", first_step=50) as log:
        log.write(SECOND)
    assert lines_of(tmp_path / "run") == [FIRST.figures(), SECOND.figures()]
    assert lines_of(tmp_path / "run")[1]["validation_next_word"] == 6.75
    curves = curves_of(tmp_path / "run")
    assert curves["loss/character"] == [(50, 2.5), (100, 2.25)]
    assert curves["loss/span"] == [(50, 4.5), (100, 4.25)]
    assert curves["loss/next_word"] == [(50, 6.5), (100, 6.25)]
    assert curves["validation/character"] == [(100, 2.75)]
    assert curves["validation/span"] == [(100, 4.75)]
    assert curves["validation/next_word"] == [(100, 6.75)]
    assert "loss/parser" not in curves
    assert curves["training/words_per_second"] == [(50, 1000.0), (100, 1100.0)]
    assert curves["training/learning_rate"] == [(50, pytest.approx(0.001)), (100, pytest.approx(0.0005))]


def test_without_tensorboardx_there_are_lines_and_one_warning(tmp_path, monkeypatch):
    for module in ("tensorboardX", "tensorboardX.event_file_writer"):
        monkeypatch.setitem(sys.modules, module, None)
    with TrainingLog(tmp_path) as log:
        with pytest.warns(
            TreetokWarning, match=r"log\.jsonl is written, no curves .* need tensorboardX"
        ) as warned:
            log.write(FIRST)
            log.write(SECOND)
        assert len(warned) == 1
    assert lines_of(tmp_path) == [FIRST.figures(), SECOND.figures()]
    assert not (tmp_path / "tensorboard").exists()


def test_nothing_is_made_before_there_is_a_report(tmp_path):
    with TrainingLog(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_a_log_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(TreetokError, match=r"cannot write the log in .*file: "):
        TrainingLog(tmp_path / "file").write(FIRST)

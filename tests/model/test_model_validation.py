"""The end of a corpus is held out; what reports contain, and when checkpoints are saved."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from test_model_training import SHORT, TINY, losses_of, make_trainer  # noqa: E402

from treetok import TreetokError  # noqa: E402
from treetok.model.batches.validation_batches import make_validation_batches, split_held_out  # noqa: E402
from treetok.model.training.trainer import TrainingConfig  # noqa: E402


def reports_of(trainer, **options):
    reports = []
    trainer.run(reports.append, report_every=4, **options)
    return reports


def test_the_end_of_the_corpus_is_held_out():
    whole, _ = make_trainer(replace(SHORT, validation_share=0.0), sizes=TINY)
    trainer, _ = make_trainer(replace(SHORT, validation_share=0.01), sizes=TINY)
    words = len(whole.maker.word_ids)
    trained_on = len(trainer.maker.word_ids)
    assert words - trained_on == -(-words // 100)
    assert torch.equal(trainer.maker.word_ids, whole.maker.word_ids[:trained_on])
    assert not whole.validation_batches
    assert [batch.words_BT.shape for batch in trainer.validation_batches] == [(4, 8)] * 4


@pytest.mark.parametrize("words, batches", [(32, 1), (63, 1), (64, 2), (128, 4), (1001, 4)])
def test_validation_batches_do_not_overlap(words, batches):
    maker = SimpleNamespace(
        word_ids=torch.arange(words),
        sequences=4,
        words_per_sequence=8,
        device="cpu",
        batch_of=lambda running_BT, order: running_BT,
    )
    running = torch.cat(list(make_validation_batches(maker)))
    assert running.shape == (4 * batches, 8)
    assert torch.equal(running - running[:, :1], torch.arange(8).expand_as(running))
    assert len(running.unique()) == running.numel()
    assert running.min() == 0 and running.max() == words - 1


def test_nothing_is_held_out_of_small_corpora():
    word_ids = np.zeros(1000, dtype=np.int32)
    assert [len(part) for part in split_held_out(word_ids, 0.005, 100)] == [900, 100]
    assert [len(part) for part in split_held_out(word_ids, 0.005, 101)] == [1000, 0]
    assert [len(part) for part in split_held_out(word_ids, 0.3, 101)] == [700, 300]
    too_long = np.concatenate([word_ids, np.full(100, -1, dtype=np.int32)])
    assert [len(part) for part in split_held_out(too_long, 0.005, 100)] == [1100, 0]


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_invalid_shares_are_refused(share):
    with pytest.raises(TreetokError, match="validation_share must be at least 0 and below 1, not"):
        TrainingConfig(validation_share=share)


def test_validation_is_reported_and_changes_nothing():
    validated, plain = (make_trainer(SHORT, sizes=TINY, dropout=0.3)[0] for _ in range(2))
    reports = reports_of(validated, validate_every=5)
    assert [report.step for report in reports] == [4, 5, 8, 10, 12]
    assert [report.step for report in reports if report.validation] == [5, 10, 12]
    assert losses_of(plain, 12)[-1][:3] == [reports[-1].character, reports[-1].span, reports[-1].next_word]
    # Validation is deterministic: no dropout, no sampling.
    torch.manual_seed(7)
    assert plain.validate() == reports[-1].validation != reports[1].validation
    assert plain.learner.training


class Clock:
    """A fake clock for the trainer, advanced by the test."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("treetok.model.training.trainer.time", SimpleNamespace(monotonic=lambda: self.now))

    def takes(self, seconds, function=lambda *arguments: None):
        def slow(*arguments):
            self.now += seconds
            return function(*arguments)

        return slow


def test_reports_contain_the_learning_rate_and_the_time_left(monkeypatch):
    clock = Clock(monkeypatch)
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    trainer.take_step = clock.takes(2.0, trainer.take_step)
    reports = []
    trainer.run(clock.takes(10.0, reports.append), report_every=4)
    assert [report.learning_rate for report in reports] == [SHORT.learning_rate_at(step) for step in (3, 7, 11)]
    # The first step is not counted; four steps and a report take 18 seconds.
    assert [report.seconds_left for report in reports] == [8 * 2.0, 4 * 18.0 / 4, 0.0]
    # Time spent in reports does not count as time of steps.
    assert [report.words_per_second for report in reports] == [4 * 8 / 2.0] * 3
    assert reports[0].figures().keys().isdisjoint({"validation", "validation_span"})
    assert reports[2].figures()["validation_span"] == reports[2].validation.span


@pytest.mark.parametrize(
    "report_every, seconds_per_report, due",
    [(1000, 0.0, [4, 8, 12]), (1, 0.0, [4, 8, 12]), (1, 1.0, [2, 4, 6, 8, 10, 12]), (5, 100.0, [4, 5, 9, 10, 12])],
)
def test_checkpoints_do_not_depend_on_reports(monkeypatch, report_every, seconds_per_report, due):
    clock = Clock(monkeypatch)
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    trainer.take_step = clock.takes(1.0, trainer.take_step)
    saved = []
    # A slow save does not make the next one due at once.
    save = clock.takes(50.0, lambda trainer: saved.append(trainer.step))
    trainer.run(clock.takes(seconds_per_report), save, report_every, save_seconds=3.5)
    assert saved == due


def test_slow_validation_does_not_delay_checkpoints(monkeypatch):
    clock = Clock(monkeypatch)
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    trainer.take_step = clock.takes(1.0, trainer.take_step)
    trainer.validate = clock.takes(100.0, trainer.validate)
    saved = []
    trainer.run(save=lambda trainer: saved.append(trainer.step), save_seconds=60, validate_every=7)
    assert saved == [7, 12]

"""Training learns, can be interrupted, and says what is wrong."""

import errno
import os
import signal

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

from synthetic import Language, morph_recall  # noqa: E402

from treetok import Tree, TreetokError  # noqa: E402
from treetok.corpus.sequences import read_sequence  # noqa: E402
from treetok.model.assembly import assemble_trainer  # noqa: E402
from treetok.model.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from treetok.model.configuration import (  # noqa: E402
    CompositionSizes,
    LanguageModelSizes,
    ModelConfiguration,
    Objective,
)
from treetok.model.induction import CompositionTrees  # noqa: E402
from treetok.model.morphemes import find_morphemes  # noqa: E402
from treetok.model.training import TrainingSettings  # noqa: E402
from treetok.sources import CountTrees  # noqa: E402
from treetok.text import profile_named  # noqa: E402

TEXT, MORPHS = Language().text(6000)
SMALL = CompositionSizes(dimension=32, heads=4, hidden=64, inside_layers=2)


def make_trainer(settings, objective=None, sizes=SMALL, dropout=0.1):
    sequence = read_sequence([TEXT], profile_named("uncased"))
    morphemes = find_morphemes(sequence.counts(), "bpe", 300)
    language_model = LanguageModelSizes(2, 4, dropout)
    configuration = ModelConfiguration(sizes, language_model, objective or Objective())
    return assemble_trainer(sequence, configuration, settings, morphemes, "cpu"), morphemes


def recall(source):
    scores = dict(zip(MORPHS, source.split_scores(list(MORPHS)), strict=True))
    return morph_recall(lambda word: Tree(word, scores[word]).spans(), MORPHS)


def trained_recall(steps, objective=None):
    settings = TrainingSettings(
        steps=steps, sequences=24, words_a_sequence=32, learning_rate=4e-3, warmup_steps=50
    )
    trainer, morphemes = make_trainer(settings, objective, dropout=0.0)
    assert trainer.run()
    overriding = trainer.learner.configuration.objective.morph_overriding
    return recall(CompositionTrees(trainer.learner.composition, morphemes, morph_overriding=overriding))


def test_true_morphs_become_spans():
    """Far more often than in trees from counts (0.81), balanced (0.69), left- (0.47) or right-branching (0.29)."""
    sequence = read_sequence([TEXT], profile_named("uncased"))
    from_counts = recall(CountTrees.from_words(sequence.counts()))
    assert 0.75 < from_counts < 0.85
    assert trained_recall(400) > max(0.87, from_counts + 0.05)


TINY = CompositionSizes(dimension=8, heads=2, hidden=16, inside_layers=1)
SHORT = TrainingSettings(steps=12, sequences=4, words_a_sequence=8, warmup_steps=2)


def losses_of(trainer, steps):
    return [trainer.take_step().tolist() for _ in range(steps)]


def test_the_same_seed_gives_the_same_losses():
    one, other = (losses_of(make_trainer(SHORT, sizes=TINY)[0], 5) for _ in range(2))
    assert one == other
    different = TrainingSettings(steps=12, sequences=4, words_a_sequence=8, warmup_steps=2, seed=1)
    assert losses_of(make_trainer(different, sizes=TINY)[0], 5) != one


def test_going_on_from_a_checkpoint_changes_nothing(tmp_path):
    uninterrupted = losses_of(make_trainer(SHORT, sizes=TINY)[0], 12)
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    first = losses_of(trainer, 5)
    save_checkpoint(trainer, tmp_path)
    again, _ = make_trainer(SHORT, sizes=TINY)
    torch.manual_seed(99)
    load_checkpoint(again, tmp_path)
    assert again.step == 5
    assert first + losses_of(again, 7) == uninterrupted
    fresh, _ = make_trainer(SHORT, sizes=TINY)
    save_checkpoint(fresh, tmp_path)
    load_checkpoint(again, tmp_path)
    assert losses_of(again, 12) == uninterrupted


def test_sigterm_saves_and_stops(tmp_path):
    trainer, _ = make_trainer(SHORT, sizes=TINY)

    def interrupt(report):
        if report.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    assert not trainer.run(interrupt, lambda t: save_checkpoint(t, tmp_path), report_every=1)
    again, _ = make_trainer(SHORT, sizes=TINY)
    load_checkpoint(again, tmp_path)
    assert again.step == trainer.step == 3
    assert again.run(save=lambda t: save_checkpoint(t, tmp_path))
    assert again.step == 12


def test_losses_that_are_no_numbers_stop_the_run(tmp_path):
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    trainer.run(save=lambda t: save_checkpoint(t, tmp_path), until=4)
    with torch.no_grad():
        trainer.learner.composition.root.fill_(float("nan"))
    with pytest.raises(TreetokError, match="the loss is not a number after step 5: the last checkpoint is good"):
        trainer.run(save=lambda t: save_checkpoint(t, tmp_path), report_every=1)
    again, _ = make_trainer(SHORT, sizes=TINY)
    load_checkpoint(again, tmp_path)
    assert again.step == 4


def test_parameters_that_are_no_numbers_are_not_saved(tmp_path):
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    trainer.run(save=lambda t: save_checkpoint(t, tmp_path), until=2)
    take_step = trainer.take_step

    def spoil():
        losses = take_step()
        with torch.no_grad():
            trainer.learner.long_word.fill_(float("nan"))
        os.kill(os.getpid(), signal.SIGTERM)
        return losses

    trainer.take_step = spoil
    with pytest.raises(TreetokError, match="the last checkpoint is good"):
        trainer.run(save=lambda t: save_checkpoint(t, tmp_path))
    again, _ = make_trainer(SHORT, sizes=TINY)
    load_checkpoint(again, tmp_path)
    assert again.step == 2


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    losses_of(trainer, 2)
    save_checkpoint(trainer, tmp_path)
    losses_of(trainer, 1)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TreetokError, match="No space left on device"):
        save_checkpoint(trainer, tmp_path)
    again, _ = make_trainer(SHORT, sizes=TINY)
    load_checkpoint(again, tmp_path)
    assert again.step == 2


def test_checkpoints_that_do_not_fit(tmp_path):
    trainer, _ = make_trainer(SHORT, sizes=TINY)
    with pytest.raises(TreetokError, match=r"there is no checkpoint in .*: checkpoint\.json is missing"):
        load_checkpoint(trainer, tmp_path)
    losses_of(trainer, 1)
    save_checkpoint(trainer, tmp_path)
    other, _ = make_trainer(SHORT, Objective(context=False), sizes=TINY)
    message = "of another configuration: objective: context: True there, False here"
    with pytest.raises(TreetokError, match=message):
        load_checkpoint(other, tmp_path)
    file = tmp_path / "parameters.safetensors"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(TreetokError, match=r"parameters\.safetensors is damaged"):
        load_checkpoint(trainer, tmp_path)
    (tmp_path / "checkpoint.json").write_text("{", encoding="utf-8")
    with pytest.raises(TreetokError, match=r"checkpoint\.json is damaged"):
        load_checkpoint(trainer, tmp_path)

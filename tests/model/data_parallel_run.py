"""What each process of the test of data-parallel training does: it trains as JSON on the command line says."""

import json
import os
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch

from treetok import TreetokError
from treetok.corpus.word_ids import read_sequence
from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig, ObjectiveConfig
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes
from treetok.model.training.build_trainer import ChartText, assemble_trainer
from treetok.model.training.checkpoint import load_checkpoint, save_checkpoint
from treetok.model.training.data_parallel import joined_processes
from treetok.model.training.trainer import TrainingConfig
from treetok.text import profile_named

# An odd number of sequences, and some words too long for a chart: shares are not of one size.
SETTINGS = TrainingConfig(
    steps=20, sequences=5, words_per_sequence=9, learning_rate=1e-2, warmup_steps=4, validation_share=0.05
)


def some_text():
    rng = random.Random(0)
    words = ["".join(rng.choices("abcde", k=rng.choice([1, 2, 3, 4, 5, 6, 14]))) for _ in range(120)]
    return " ".join(rng.choice(words) for _ in range(1500))


def train(
    device,
    load=None,
    save=None,
    until=None,
    stop_rank=None,
    stop_step=None,
    objective=None,
    steps=20,
    sequences=SETTINGS.sequences,
    text=None,
    chart="complete",
):
    """Train in this process: the losses it reported, the step it came to, the steps at which it saved."""
    torch.set_num_threads(1)
    sequence = read_sequence([text or some_text()], profile_named("uncased"))
    config = ModelConfig(
        CompositionConfig(dimension=16, heads=2, hidden=32, inside_layers=2),
        LanguageModelConfig(2, 2, 0.0),
        ObjectiveConfig(**(objective or {})),
        max_word_length=10,
        chart=chart,
    )
    morphemes = find_morphemes(sequence.counts(), MorphemeConfig(size=60))
    settings = replace(SETTINGS, steps=steps, sequences=sequences)
    trainer = assemble_trainer(ChartText.of(sequence, config), config, settings, morphemes, device)
    if load:
        load_checkpoint(trainer, Path(load))
    take_step = trainer.take_step

    def stopping_step():
        if trainer.step + 1 == stop_step and int(os.environ["RANK"]) == stop_rank:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step()

    trainer.take_step = stopping_step
    losses = []

    def report(news):
        losses.append([news.character, news.span, news.next_word])
        if news.validation:
            losses.append(list(vars(news.validation).values()))

    saved = []

    def keep(trainer):
        saved.append(trainer.step)
        if save:
            save_checkpoint(trainer, Path(save))

    trainer.run(report, keep, report_every=1, until=until, validate_every=10)
    return {"kind": type(trainer).__name__, "losses": losses, "step": trainer.step, "saved": saved}


def main():
    options = json.loads(sys.argv[1])
    out = Path(options.pop("out"))
    results = []
    with joined_processes("cpu") as device:
        for run in options["runs"]:
            try:
                results.append(train(device, **run))
            except TreetokError as error:
                results.append({"error": str(error)})
    (out / f"rank{os.environ['RANK']}.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()

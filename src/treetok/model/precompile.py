"""Compile the GPU kernels ahead of time, while words are counted: they depend only on the configuration."""

from __future__ import annotations

import numpy as np
import torch

from treetok.model.batches.maker import BatchMaker
from treetok.model.charts.complete import CompleteCharts
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.data.substrings import tabulate_substrings
from treetok.model.distillation.distil import prepare_distillation
from treetok.model.ensemble import EnsembleMember
from treetok.model.losses.objectives import TreeLearner
from treetok.model.presets import Preset

WORDS = ["abcd", "abc", "ab", "a"]
MORPHEMES = MorphemeVocabulary("abcd", ["ab", "bcd"])
# The kernels of the parser differ for words of up to 16 and of up to 32 letters.
WORDS_FOR_THE_PARSER = [["abcd" * times for times in range(1, longest + 1)] for longest in (4, 8)]


def precompile_kernels(preset: Preset, device: str) -> None:
    """Take one small step of training, decode a few words, and take two steps of distillation."""
    learner = TreeLearner(preset.model, len(MORPHEMES)).to(device)
    learner.use_gpu()
    table = tabulate_substrings(WORDS)
    charts = CompleteCharts(table, MORPHEMES.of_substrings(table), device)
    word_ids = np.arange(32, dtype=np.int32) % len(WORDS)
    batch = BatchMaker(word_ids, table.lengths, charts.plan, 2, 8, 0, device).draw(0)
    learner(batch).total.backward()
    # Where no tree is ahead of another, all words are decoded both in 16 and in 32 bits.
    for parameter in learner.composition.parameters():
        parameter.data.zero_()
    preset.trees([EnsembleMember(learner.composition, MORPHEMES)], device).split_scores(WORDS)
    for words in WORDS_FOR_THE_PARSER:
        teacher = {word: [-float(at) for at in range(len(word) - 1)] for word in words}
        counts = dict.fromkeys(words, 1)
        trainer = prepare_distillation(
            teacher, counts, MORPHEMES, preset.parser, preset.distillation, device
        ).trainer
        torch.autograd.backward(trainer.data.loss(trainer.parser, trainer.learned))

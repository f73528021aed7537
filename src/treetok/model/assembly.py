"""From running words to a trainer: number the substrings, plan charts, make the model."""

from __future__ import annotations

import torch

from treetok.corpus.sequences import WordSequence
from treetok.model.batches import BatchMaker, chart_numbers
from treetok.model.complete_chart import CompleteCharts
from treetok.model.configuration import ModelConfiguration
from treetok.model.morphemes import MorphemeVocabulary
from treetok.model.objectives import TreeLearner
from treetok.model.recorded_step import RecordedTrainer
from treetok.model.substrings import tabulate_substrings
from treetok.model.training import Trainer, TrainingSettings


def chart_words(sequence: WordSequence, configuration: ModelConfiguration) -> dict[str, int]:
    """The words that are short enough for a chart, and how often each occurs."""
    return {w: c for w, c in sequence.counts().items() if len(w) <= configuration.longest_word}


def assemble_trainer(
    sequence: WordSequence,
    configuration: ModelConfiguration,
    settings: TrainingSettings,
    morphemes: MorphemeVocabulary,
    device: str,
) -> Trainer:
    """A trainer at step 0; on a GPU its steps are recorded and replayed."""
    words = list(chart_words(sequence, configuration))
    table = tabulate_substrings(words)
    charts = CompleteCharts(table, morphemes.numbers(table.strings(words)), device)
    maker = BatchMaker(
        chart_numbers(sequence, words),
        table.lengths,
        charts.plan,
        settings.sequences,
        settings.words_a_sequence,
        settings.seed,
        device,
    )
    torch.manual_seed(settings.seed)
    learner = TreeLearner(configuration, len(morphemes)).to(device)
    return (RecordedTrainer if device.startswith("cuda") else Trainer)(learner, maker, settings)

"""From running words to a trainer: assign ids to substrings, plan charts, create the model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokError
from treetok.model.batches.maker import BatchMaker, chart_numbers
from treetok.model.batches.validation_batches import (
    ReplannedValidationBatches,
    make_validation_batches,
    split_held_out,
)
from treetok.model.charts.complete import CompleteCharts
from treetok.model.charts.pruned import PrunedCharts
from treetok.model.config import ModelConfig
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.data.substrings import SubstringTable, tabulate_substrings
from treetok.model.losses.joint_parser import MergeScores
from treetok.model.losses.objectives import TreeLearner
from treetok.model.network.parser import Parser, ParserConfig, ParserTable
from treetok.model.training.cuda_graph import CudaGraphTrainer
from treetok.model.training.data_parallel import DataParallelTrainer, ShareMaker, several_processes
from treetok.model.training.trainer import Trainer, TrainingConfig


def chart_words(sequence: WordSequence, config: ModelConfig) -> dict[str, int]:
    """The words short enough for a chart, with their counts."""
    return {w: c for w, c in sequence.counts().items() if len(w) <= config.max_word_length}


def check_corpus(sequence: WordSequence, config: ModelConfig) -> None:
    """Raise an error if nothing can be learned from the corpus."""
    if not len(sequence.numbers):
        raise TreetokError("the corpus is empty: there are no words to train on")
    if len(sequence.numbers) < 2:
        raise TreetokError(f"the corpus is too small to train on: its only word is {sequence.words[0]!r}")
    if not chart_words(sequence, config):
        shortest = min(map(len, sequence.words))
        raise TreetokError(
            f"all words of the corpus are too long: the shortest has {shortest} characters, and words of more than"
            f" {config.max_word_length} (max_word_length) are not trained on"
        )


@dataclass(frozen=True)
class ChartText:
    """A text as all members of an ensemble are trained on it.

    words: those short enough for a chart.
    numbers: the running words as indices into them (`chart_numbers`).
    """

    sequence: WordSequence
    words: list[str]
    table: SubstringTable
    numbers: npt.NDArray[np.int32]

    @classmethod
    def of(cls, sequence: WordSequence, config: ModelConfig) -> ChartText:
        check_corpus(sequence, config)
        words = list(chart_words(sequence, config))
        return cls(sequence, words, tabulate_substrings(words), chart_numbers(sequence, words))


def assemble_trainer(
    text: ChartText,
    config: ModelConfig,
    settings: TrainingConfig,
    morphemes: MorphemeVocabulary,
    device: str,
    parser_sizes: ParserConfig | None = None,
    learner_class: type[TreeLearner] = TreeLearner,
) -> Trainer:
    """A trainer at step 0. On a GPU its steps are recorded and replayed, unless charts are pruned; with several
    processes, it computes the share of this process. `parser_sizes` is for pruned charts, `learner_class` for
    experiments with other objectives."""
    in_parallel = several_processes()
    if in_parallel and config.chart == "pruned":
        raise TreetokError("several processes can train with complete charts only, not with pruned ones")
    words, table = text.words, text.table
    morpheme_of_substring = morphemes.of_substrings(table)
    torch.manual_seed(settings.seed)
    charts: CompleteCharts | PrunedCharts
    if config.chart == "pruned":
        sizes = parser_sizes or ParserConfig()
        parser, letters = Parser(sizes, morphemes), ParserTable(words, morphemes, sizes, device)
        learner = learner_class(config, len(morphemes), parser, letters).to(device)
        scores = MergeScores(parser, letters)
        charts = PrunedCharts(table, morpheme_of_substring, device, config.window, scores)
    else:
        learner = learner_class(config, len(morphemes)).to(device)
        charts = CompleteCharts(table, morpheme_of_substring, device)

    def batches_of(numbers: np.ndarray) -> BatchMaker:
        return (ShareMaker if in_parallel else BatchMaker)(
            numbers,
            table.lengths,
            charts.plan,
            settings.sequences,
            settings.words_per_sequence,
            settings.seed,
            device,
        )

    numbers, held_back = split_held_out(
        text.numbers, settings.validation_share, settings.sequences * settings.words_per_sequence
    )
    maker = batches_of(numbers)
    # Drawn in advance: with recorded steps, the next training batch is drawn during validation.
    in_advance = ReplannedValidationBatches if config.chart == "pruned" else make_validation_batches
    validation_batches = in_advance(batches_of(held_back)) if len(held_back) else []
    trainer: Trainer
    if in_parallel:
        trainer = DataParallelTrainer(learner, maker, settings, validation_batches)
    elif config.chart == "complete" and device.startswith("cuda"):
        trainer = CudaGraphTrainer(learner, maker, settings, validation_batches)
    else:
        # The cells of pruned charts depend on the parser after the previous step, so steps cannot be recorded.
        if device.startswith("cuda"):
            learner.use_gpu()
        trainer = Trainer(learner, maker, settings, validation_batches)
    trainer.fingerprint = fingerprint_of(text.sequence, morphemes)
    return trainer


def fingerprint_of(sequence: WordSequence, morphemes: MorphemeVocabulary) -> str:
    """A hash that identifies the text and the morphemes."""
    digest = hashlib.sha256("\n".join(sequence.words).encode("utf-8", "surrogatepass"))
    digest.update(sequence.numbers.tobytes())
    digest.update("\n".join([*morphemes.characters, *morphemes.longer]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]

"""Distil the parser: it learns the trees of known words from a teacher, to predict the trees of other words.

Some words are held out. Half of them are used for early stopping, the other half to measure how well the parser
agrees with its teacher on unseen words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from treetok.errors import TreetokError
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.distillation.data import DistillationData, depths_of_words, subtrees_of
from treetok.model.distillation.trainer import DistillationConfig, DistillationReport, ParserTrainer
from treetok.model.losses.plain_or_fused import fastest_parser_operations
from treetok.model.network.parser import Parser, ParserConfig, ParserTable, stored_parser
from treetok.sources.parser import ParserTrees
from treetok.sources.tree_agreement import SHORTEST_WORD, Agreement, Teacher, scores_of_teacher, tree_agreement

MAX_WATCHED = 5000


@dataclass(frozen=True)
class Distilled:
    """The parser as it is stored, its agreement with the teacher on unseen words, and these words."""

    parser: ParserTrees
    agreement: Agreement
    unseen_words: list[str]


@dataclass(frozen=True)
class Distillation:
    """A parser ready to be trained; `unseen` are the words to evaluate it on afterwards."""

    trainer: ParserTrainer
    morphemes: MorphemeVocabulary
    unseen: list[str]
    teacher: Teacher

    def result(self) -> Distilled:
        stored = stored_parser(self.trainer.parser, self.morphemes)
        return Distilled(stored, tree_agreement(stored, self.teacher, self.unseen), self.unseen)


def distil(
    teacher: Teacher,
    word_counts: Mapping[str, int],
    morphemes: MorphemeVocabulary,
    sizes: ParserConfig | None = None,
    config: DistillationConfig | None = None,
    device: torch.device | str = "cpu",
    report: Callable[[DistillationReport], object] | None = None,
    pseudo_trees: Mapping[str, Any] | None = None,
) -> Distilled:
    """Train a parser on the trees of these words: `prepare_distillation`, run to the end."""
    distillation = prepare_distillation(teacher, word_counts, morphemes, sizes, config, device, pseudo_trees)
    if not distillation.trainer.run(report or (lambda _: None)):
        raise TreetokError("stopped while distilling the parser")
    return distillation.result()


def prepare_distillation(
    teacher: Teacher,
    word_counts: Mapping[str, int],
    morphemes: MorphemeVocabulary,
    sizes: ParserConfig | None = None,
    config: DistillationConfig | None = None,
    device: torch.device | str = "cpu",
    pseudo_trees: Mapping[str, Any] | None = None,
) -> Distillation:
    """A parser ready to be trained on the teacher's trees of these words. `pseudo_trees` are the teacher's scores
    of pseudo-words, which are trained on like words and never held out."""
    sizes, config = sizes or ParserConfig(), config or DistillationConfig()
    words = sorted(word for word in word_counts if SHORTEST_WORD <= len(word) <= config.max_word_length)
    if len(words) < 3:
        raise TreetokError(f"{len(words)} words of {SHORTEST_WORD} letters or more are too few to learn from")
    learned, watched, measured = share_out(len(words), config)
    unseen = [words[number] for number in measured.tolist()]
    counts = [word_counts[word] for word in words]
    scores = list(scores_of_teacher(teacher, words))
    further = sorted(set(pseudo_trees or ()).difference(words))
    further = [string for string in further if SHORTEST_WORD <= len(string) <= config.max_word_length]
    learned = np.concatenate([learned, np.arange(len(words), len(words) + len(further))])
    words, counts = words + further, counts + [1] * len(further)
    depths_NS = depths_of_words([*scores, *((pseudo_trees or {})[string] for string in further)], words, device)
    if config.learn_subtrees:
        subtrees, depths_MS = subtrees_of(words, depths_NS, learned)
        learned = np.concatenate([learned, np.arange(len(words), len(words) + len(subtrees))])
        words, counts = words + subtrees, counts + [1] * len(subtrees)
        depths_NS = torch.cat([depths_NS, depths_MS])
    weights_N = torch.tensor(counts, dtype=torch.float64).pow(config.count_power)
    table = ParserTable(words, morphemes, sizes, device)
    data = DistillationData(words, depths_NS, weights_N.float().to(device), table)
    torch.manual_seed(config.seed)
    parser = Parser(sizes, morphemes, config.dropout).to(device)
    if torch.device(device).type == "cuda":
        parser.operations = fastest_parser_operations(sizes)
    return Distillation(ParserTrainer(parser, data, learned, watched, config), morphemes, unseen, teacher)


def share_out(words: int, config: DistillationConfig) -> tuple[npt.NDArray[np.int64], ...]:
    """Indices of the words for training, for early stopping and for the final evaluation."""
    order = np.random.default_rng(config.seed).permutation(words)
    each = max(1, round(words * config.held_out / 2))
    learned = order[2 * each :][: config.max_words]
    # Enough to resolve differences of one percent.
    watched, measured = order[:each][:MAX_WATCHED], order[each : 2 * each]
    return np.sort(learned), np.sort(watched), np.sort(measured)

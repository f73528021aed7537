"""Distilling a parser: it learns the trees of the words of a corpus from a teacher, to tell those of other words.

Some words are kept out of learning. On half of them it is seen when learning has gone far enough, on the other
half how well the parser agrees with its teacher on words it has never seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from treetok.errors import TreetokError
from treetok.model.data.morphemes import MorphemeVocabulary
from treetok.model.distillation.data import (
    SHORTEST_WORD,
    WORDS_PER_BATCH,
    DistillationData,
    depths_of_words,
    subtrees_of,
)
from treetok.model.network.parser import Parser, ParserConfig, ParserTable, features_of
from treetok.segment import Segmenter
from treetok.sources import TreeSource
from treetok.sources.parser import ParserTrees, with_rounded_tables
from treetok.tree import split_depths, with_leading_space


@dataclass(frozen=True)
class DistillationConfig:
    """How long and how to learn.

    words_per_batch: at most; fewer where there are few words, so that an epoch has `batches_per_epoch`.
    seconds: a limit besides the number of epochs; where it bites, the result depends on the machine.
    patience: learning ends when agreement has not risen for so many epochs.
    held_out: the share of words kept out of learning.
    max_words: of more words so many are drawn to learn from.
    count_power: words are weighted by their count to this power; 0 weights all alike.
    learn_subtrees: every subtree of a word is learned from like a word too. The composition model splits a span
        by its letters alone if trees are read as in the paper: then these are the trees it would give them.
    max_word_length: longer words are not learned from.
    """

    epochs: int = 40
    words_per_batch: int = 8192
    batches_per_epoch: int = 50
    seconds: float = math.inf
    patience: int = 8
    learning_rate: float = 3e-3
    warmup_share: float = 0.05
    weight_decay: float = 0.05
    dropout: float = 0.2
    clip: float = 1.0
    held_out: float = 0.05
    max_words: int = 2_000_000
    count_power: float = 0.0
    learn_subtrees: bool = False
    max_word_length: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "words_per_batch", "batches_per_epoch", "patience", "max_words", "max_word_length"):
            if getattr(self, name) < 1:
                raise TreetokError(f"{name} of a distillation is at least 1, not {getattr(self, name)}")
        if not self.seconds > 0:
            raise TreetokError(f"a distillation takes more than {self.seconds} seconds")
        if not 0 <= self.dropout < 1:
            raise TreetokError(f"dropout is at least 0 and below 1, not {self.dropout}")


@dataclass(frozen=True)
class Agreement:
    """On how many words two sources have the same tree. Words of fewer than three letters do not count."""

    whole_tree: float
    words: int


@dataclass(frozen=True)
class DistillationReport:
    """`agreement` is that on the words by which it is seen when to stop."""

    epoch: int
    loss: float
    agreement: float
    seconds: float


@dataclass(frozen=True)
class Distilled:
    """The parser, as it is stored; its agreement with the teacher on words it has not seen; and these words."""

    parser: ParserTrees
    agreement: Agreement
    unseen_words: list[str]


MOST_WATCHED = 5000

Teacher = TreeSource | Mapping[str, Any]


def distil(
    teacher: Teacher,
    word_counts: Mapping[str, int],
    morphemes: MorphemeVocabulary,
    sizes: ParserConfig | None = None,
    settings: DistillationConfig | None = None,
    device: torch.device | str = "cpu",
    report: Callable[[DistillationReport], object] | None = None,
    made_up: Mapping[str, Any] | None = None,
) -> Distilled:
    """A parser that has learned the trees of these words.

    `teacher` is any source of trees, or the scores (minus the depths, for instance) of every word. `made_up` are
    strings (see `pseudo_words`) with the teacher's scores: they are learned from like words, and never held out.
    """
    sizes, settings = sizes or ParserConfig(), settings or DistillationConfig()
    words = sorted(word for word in word_counts if SHORTEST_WORD <= len(word) <= settings.max_word_length)
    if len(words) < 3:
        raise TreetokError(f"{len(words)} words of {SHORTEST_WORD} letters or more are too few to learn from")
    learned, watched, measured = share_out(len(words), settings)
    unseen = [words[number] for number in measured.tolist()]
    counts = [word_counts[word] for word in words]
    further = sorted(set(made_up or ()).difference(words))
    further = [string for string in further if SHORTEST_WORD <= len(string) <= settings.max_word_length]
    learned = np.concatenate([learned, np.arange(len(words), len(words) + len(further))])
    scores = scores_of_teacher(teacher, words)
    words, counts = words + further, counts + [1] * len(further)
    depths_NS = depths_of_words([*scores, *((made_up or {})[string] for string in further)], words, device)
    if settings.learn_subtrees:
        subtrees, depths_MS = subtrees_of(words, depths_NS, learned)
        learned = np.concatenate([learned, np.arange(len(words), len(words) + len(subtrees))])
        words, counts = words + subtrees, counts + [1] * len(subtrees)
        depths_NS = torch.cat([depths_NS, depths_MS])
    weights_N = torch.tensor(counts, dtype=torch.float64).pow(settings.count_power)
    lesson = DistillationData(
        words, depths_NS, weights_N.float().to(device), ParserTable(words, morphemes, sizes, device)
    )
    torch.manual_seed(settings.seed)
    parser = Parser(sizes, morphemes, settings.dropout).to(device)
    learn(parser, lesson, learned, watched, settings, report or (lambda _: None))
    stored = stored_parser(parser, morphemes)
    return Distilled(stored, tree_agreement(stored, teacher, unseen), unseen)


def share_out(words: int, settings: DistillationConfig) -> tuple[npt.NDArray[np.int64], ...]:
    """Numbers of the words to learn from, to watch, to measure with."""
    order = np.random.default_rng(settings.seed).permutation(words)
    each = max(1, round(words * settings.held_out / 2))
    learned = order[2 * each :][: settings.max_words]
    # Enough to tell a percent from the next.
    watched, measured = order[:each][:MOST_WATCHED], order[each : 2 * each]
    return np.sort(learned), np.sort(watched), np.sort(measured)


def scores_of_teacher(teacher: Teacher, words: Sequence[str]) -> Sequence[Any]:
    if isinstance(teacher, Mapping):
        return [teacher[word] for word in words]
    scores: list[Any] = []
    for start in range(0, len(words), WORDS_PER_BATCH):
        scores += teacher.split_scores(words[start : start + WORDS_PER_BATCH])
    return scores


def learn(
    parser: Parser,
    lesson: DistillationData,
    learned: npt.NDArray[np.int64],
    watched: npt.NDArray[np.int64],
    settings: DistillationConfig,
    report: Callable[[DistillationReport], object],
) -> None:
    """Train until agreement on the watched words stops rising; the parser ends as it was when it was highest."""
    size = min(settings.words_per_batch, max(16, len(learned) // settings.batches_per_epoch))
    steps = settings.epochs * math.ceil(len(learned) / size)
    optimiser = torch.optim.AdamW(
        parser.parameters(),
        lr=settings.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=settings.weight_decay,
        fused=True,
    )
    rng = np.random.default_rng(settings.seed + 1)
    best, best_epoch, best_weights = -1.0, 0, {}
    begun = time.monotonic()
    step = 0
    for epoch in range(1, settings.epochs + 1):
        total = torch.zeros((), device=lesson.device)
        batches = 0
        for batch in shuffled_batches(learned, lesson.lengths, size, rng):
            done = max(step / steps, (time.monotonic() - begun) / settings.seconds)
            for group in optimiser.param_groups:
                group["lr"] = settings.learning_rate * share_of_rate(done, settings.warmup_share)
            loss = lesson.loss(parser, batch)
            optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(parser.parameters(), settings.clip)
            optimiser.step()
            total += loss.detach()
            step, batches = step + 1, batches + 1
            if done >= 1:
                break
        agreement = lesson.agreement(parser, watched, settings.words_per_batch)
        mean_loss = float(total) / batches
        if not math.isfinite(mean_loss):
            raise TreetokError("the loss of the parser is not a number: try a lower learning rate")
        if agreement > best:
            best, best_epoch = agreement, epoch
            best_weights = {name: weight.detach().clone() for name, weight in parser.state_dict().items()}
        report(DistillationReport(epoch, mean_loss, agreement, time.monotonic() - begun))
        if epoch - best_epoch >= settings.patience or time.monotonic() - begun >= settings.seconds:
            break
    parser.load_state_dict(best_weights)


def share_of_rate(done: float, warmup: float) -> float:
    """The learning rate rises in the first part and then falls to nothing.

    >>> [round(share_of_rate(done, 0.1), 2) for done in (0.0, 0.05, 0.1, 0.55, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if done < warmup:
        return done / warmup
    return (1 + math.cos(math.pi * min(1.0, (done - warmup) / (1 - warmup)))) / 2


def shuffled_batches(
    words: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], size: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """All words once, in batches of words of like length, which need little padding."""
    shuffled = rng.permutation(words)
    in_order = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    batches = [in_order[start : start + size] for start in range(0, len(in_order), size)]
    return (batches[number] for number in rng.permutation(len(batches)))


def stored_parser(parser: Parser, morphemes: MorphemeVocabulary) -> ParserTrees:
    """The parser as it is stored, in few bits and without PyTorch."""
    features = features_of(morphemes, parser.config)
    weights = {name: w.detach().cpu().half().numpy() for name, w in parser.state_dict().items()}
    return ParserTrees(with_rounded_tables(weights), parser.config.heads, features.characters, features.morphemes)


def tree_agreement(parser: TreeSource, teacher: Teacher, words: Sequence[str]) -> Agreement:
    """On how many of the words both have the same tree."""
    words = [word for word in words if len(word) >= SHORTEST_WORD]
    pairs = zip(parser.split_scores(words), scores_of_teacher(teacher, words), strict=True)
    same = sum(split_depths(one) == split_depths(other) for one, other in pairs)
    return Agreement(same / max(len(words), 1), len(words))


def segmentation_agreement(
    parser: TreeSource,
    teacher: Teacher,
    segmenter: Segmenter,
    words: Sequence[str],
    in_text: Callable[[str], str] = lambda word: word,
) -> float:
    """The share of words that are cut alike with the trees of both, as they stand in text: behind a space, say."""

    def cut(word: str, scores: Sequence[float]) -> list[str]:
        written = in_text(word)
        return segmenter.cut(written, with_leading_space(scores) if len(written) > len(word) else scores)

    pairs = zip(words, parser.split_scores(words), scores_of_teacher(teacher, words), strict=True)
    return sum(cut(word, a) == cut(word, b) for word, a, b in pairs) / max(len(words), 1)

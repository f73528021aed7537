"""Decoding trees from trained composition models.

The paper splits every span at its highest compatibility score, from the root down (greedy decoding). By default we
decode over spans instead (docs/lab-notes.md), as in minimum Bayes risk (MBR) decoding: the softmax of the scores
gives every tree a probability, so every span has one too, and we take the tree with the highest product of the
probabilities of its spans. That takes the scores of all spans, and so complete charts; greedy decoding also works
with pruned ones (`PrunedTrees`).

A model's score of a span depends on the morphemes it knows. For an ensemble of models with different morphemes,
the product is over all models (`CompositionTrees`): a span that one of them rules out is not made up for by
another that is sure of it. A language model of pieces may be one more member: it is far cheaper, and knows whole
words.

Shapes: C cells of a level, K possible splits of each; W words of equal length n, S starts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treetok.errors import TreetokError
from treetok.model.charts.best_trees import best_tree_depths
from treetok.model.charts.complete import CompleteCharts
from treetok.model.charts.passes import embedded_rows, inside_pass
from treetok.model.charts.piece_scores import piece_split_scores
from treetok.model.charts.plan import ChartPlan
from treetok.model.charts.pruned import PrunedCharts
from treetok.model.data.piece_model import PieceModel
from treetok.model.data.substrings import SubstringTable, tabulate_substrings
from treetok.model.ensemble import EnsembleMember
from treetok.model.network.composition import CompositionModel
from treetok.model.network.functional import norm
from treetok.sources import TreeSource
from treetok.sources.tree_agreement import SHORTEST_WORD
from treetok.span_table import spans_before_width, walk_trees

# Limits the memory of a batch. A GPU needs large batches to stay busy.
LETTERS_PER_BATCH = {"cpu": 40_000, "cuda": 160_000}
# Added to the probability of a span before the logarithm, so that no single model can rule a span out for good.
LEAST_PROBABILITY = 0.001
# Outside of these, scores divided by a temperature leave the range of 32-bit numbers, or all trees are equal.
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.001, 1000.0
# On a CPU, what is computed for this many pairs of halves fits into its cache.
PAIRS_AT_ONCE = 2048


@dataclass(frozen=True)
class DecodingConfig:
    """How trees are decoded.

    mbr: decoding over the probabilities of spans, as in minimum Bayes risk decoding, instead of greedy decoding
        from the root down.
    own_morpheme: whether a span's own embedding is used when it is split. A span that has one does not need its
        parts, so their scores mean little.
    temperature: the scores of composition models are divided by it before the softmax.
    piece_temperature: the same for the scores of the language model of pieces: the higher, the less it counts
        where it is sure of itself.
    max_word_length: longer words get the parser's trees. It may exceed that of training, since longer strings are
        composed like shorter ones; the work grows with its cube.
    """

    mbr: bool = True
    own_morpheme: bool = False
    temperature: float = 2.0
    piece_temperature: float = 1.0
    max_word_length: int = 32

    def __post_init__(self) -> None:
        for name in ("temperature", "piece_temperature"):
            if not LOWEST_TEMPERATURE <= getattr(self, name) <= HIGHEST_TEMPERATURE:
                raise TreetokError(
                    f"decoding.{name} must be from {LOWEST_TEMPERATURE} to {HIGHEST_TEMPERATURE:.0f},"
                    f" not {getattr(self, name)!r}"
                )
        if self.max_word_length < SHORTEST_WORD:
            raise TreetokError(
                f"decoding.max_word_length must be at least {SHORTEST_WORD}, not {self.max_word_length!r}"
            )


GREEDY = DecodingConfig(mbr=False, own_morpheme=True, temperature=1.0, max_word_length=20)


def inside_level(
    model: CompositionModel, table: Tensor, morpheme_CD: Tensor, left_CK: Tensor, right_CK: Tensor
) -> tuple[Tensor, Tensor]:
    """Scores and vectors of `model.inside_level`; on a CPU a few cells at a time, which is faster."""
    cells, splits = left_CK.shape
    at_once = max(PAIRS_AT_ONCE // splits, 1) if table.device.type == "cpu" else cells
    chunks = (slice(cell, cell + at_once) for cell in range(0, cells, at_once))
    parts = [model.inside_level(table, morpheme_CD[at], left_CK[at], right_CK[at]) for at in chunks]
    return torch.cat([score_CK for score_CK, _, _ in parts]), torch.cat([vector_CD for _, _, vector_CD in parts])


def split_scores_by_width(
    model: CompositionModel, plan: ChartPlan, morph_overriding: bool, own_morpheme: bool
) -> dict[int, Tensor]:
    """For every width, the split scores of its cells, [C, K]."""
    embedded = embedded_rows(model, plan, morph_overriding, None)
    table = norm(embedded[: plan.characters])
    scores: dict[int, Tensor] = {}
    done = plan.characters
    for level in plan.inside_levels:
        cells = slice(done, done + len(level.left_CK))
        score_CK, vector_CD = inside_level(model, table, embedded[cells], level.left_CK, level.right_CK)
        has_own_C = plan.morpheme_of_row[cells] > 0
        if morph_overriding and not own_morpheme and bool(has_own_C.any()):
            left, right = level.left_CK[has_own_C], level.right_CK[has_own_C]
            empty = model.embedding.weight[0].expand(len(left), -1)
            score_CK = score_CK.index_put((has_own_C,), inside_level(model, table, empty, left, right)[0])
        table = torch.cat([table, vector_CD])
        scores[level.left_CK.shape[1] + 1] = score_CK
        done = cells.stop
    return scores


def greedy_splits(scores: dict[int, Tensor], rows: dict[int, Tensor], words: int, n: int) -> npt.NDArray[np.int64]:
    """[word, start, width]: the width of the left part of the split with the highest score; ties go left."""
    best = torch.zeros((words, n, n + 1), dtype=torch.int64)
    for width in range(2, n + 1):
        best[:, : n - width + 1, width] = (scores[width][rows[width]].argmax(-1) + 1).cpu()
    return best.numpy()


def expected_spans(
    scores: dict[int, Tensor], rows: dict[int, Tensor], words: int, n: int, temperature: float
) -> Tensor:
    """[word, start, width]: the probability that a span is in the tree, as in `chart.span_weights`."""
    device = scores[n].device
    expected = torch.zeros((words, n, n + 1), device=device)
    expected[:, 0, n] = 1
    for width in range(n, 1, -1):
        starts = n - width + 1
        weight_WSK = (scores[width][rows[width]] / temperature).softmax(-1)
        from_parent_WSK = expected[:, :starts, width, None] * weight_WSK
        for k in range(1, width):
            expected[:, :starts, k] += from_parent_WSK[:, :, k - 1]
            expected[:, k : k + starts, width - k] += from_parent_WSK[:, :, k - 1]
    return expected


def log_probabilities(expected: Tensor) -> Tensor:
    """What a span adds to the value of a tree, given the probability that it is in the tree."""
    return (expected + LEAST_PROBABILITY).log()


def mbr_splits(of_span: Tensor) -> npt.NDArray[np.int64]:
    """[word, start, width]: the width of the left part in the tree whose spans have the highest sum; ties go
    left."""
    n = of_span.shape[1]
    value = torch.zeros_like(of_span)
    best = torch.zeros_like(of_span, dtype=torch.int64)
    for width in range(2, n + 1):
        starts = n - width + 1
        of_split_WSK = torch.stack(
            [value[:, :starts, k] + value[:, k : k + starts, width - k] for k in range(1, width)], -1
        )
        highest, at = of_split_WSK.max(-1)
        value[:, :starts, width] = highest + of_span[:, :starts, width]
        best[:, :starts, width] = at + 1
    return best.cpu().numpy()


def split_depths_of(best: npt.NDArray[np.int64]) -> list[npt.NDArray[np.float32]]:
    """The negative depth of every split of every word, given the best left width of every span."""
    lengths = np.full(len(best), best.shape[1])
    return walk_trees(lengths, lambda word, start, end: start + best[word, start, end - start])


def rows_of_spans(
    table: SubstringTable, words: npt.NDArray[np.int64], n: int, device: torch.device | str
) -> dict[int, Tensor]:
    """For words of n letters in a plan that covers all words of the table: width -> [word, start] -> the index of
    the span among the cells of its width."""
    rows = {}
    for width in range(2, n + 1):
        starts = np.arange(n - width + 1)
        cell = table.first_span[words][:, None] + spans_before_width(np.int64(n), width) + starts
        place = table.substring_of_span[cell] - table.width_starts[width - 1]
        rows[width] = torch.from_numpy(place.astype(np.int64)).to(device)
    return rows


def in_batches(
    words: Sequence[str], most_letters: int, decode: Callable[[list[str]], list[npt.NDArray[np.float32]]]
) -> list[npt.NDArray[np.float32]]:
    """Decode words in batches of limited size, sorted by length: a batch is as wide as its longest word."""
    scores: list[npt.NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(words)
    order = sorted(range(len(words)), key=lambda number: (len(words[number]), words[number]))
    start = 0
    while start < len(order):
        end, letters = start, 0
        while end < len(order) and letters < most_letters:
            letters += len(words[order[end]])
            end += 1
        batch = order[start:end]
        for number, depths in zip(batch, decode([words[number] for number in batch]), strict=True):
            scores[number] = depths
        start = end
    return scores


class CompositionTrees:
    """An ensemble of composition models as a source of trees: the parser's teacher; slow without a GPU."""

    def __init__(
        self,
        members: Sequence[EnsembleMember],
        device: torch.device | str = "cpu",
        morph_overriding: bool = True,
        decoding: DecodingConfig | None = None,
        pieces: PieceModel | None = None,
    ) -> None:
        self.members, self.device, self.pieces = members, device, pieces
        self.morph_overriding = morph_overriding
        self.decoding = decoding or DecodingConfig()
        if not members:
            raise TreetokError("trees need at least one composition model")
        if (len(members) > 1 or pieces is not None) and not self.decoding.mbr:
            raise TreetokError("greedy decoding takes the trees of one model, not of an ensemble or of pieces")

    def split_scores(self, words: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """The negative depth of every split in the best tree of each word."""
        return in_batches(words, LETTERS_PER_BATCH[torch.device(self.device).type], self._batch)

    @torch.no_grad()
    def _batch(self, words: list[str]) -> list[npt.NDArray[np.float32]]:
        """Decode one batch of words, sorted by length."""
        table = tabulate_substrings(words)
        by_length = torch.from_numpy(np.argsort(-table.lengths, kind="stable")).to(self.device)
        # The plan covers all substrings of the table in order: members differ only in their morphemes.
        charts = CompleteCharts(table, np.zeros(len(table), dtype=np.int32), self.device)
        plan = charts.plan(by_length, outside=False)
        scores_of_members = []
        for member in self.members:
            morphemes = torch.from_numpy(member.morphemes.of_substrings(table).astype(np.int64)).to(self.device)
            own_plan = dataclasses.replace(plan, morpheme_of_row=morphemes)
            was_training = member.composition.training
            member.composition.eval()
            scores_of_members.append(
                split_scores_by_width(
                    member.composition, own_plan, self.morph_overriding, self.decoding.own_morpheme
                )
            )
            member.composition.train(was_training)
        of_members = [(scores, self.decoding.temperature) for scores in scores_of_members]
        if self.pieces is not None:
            log_pieces = torch.from_numpy(self.pieces.log_probabilities(table.strings(words))).to(self.device)
            of_members.append((piece_split_scores(log_pieces, plan), self.decoding.piece_temperature))
        trees: list[npt.NDArray[np.float32]] = []
        for n in range(1, table.widest + 1):
            of_length = np.flatnonzero(table.lengths == n)
            if n == 1 or not len(of_length):
                trees += [np.zeros(0, dtype=np.float32)] * len(of_length)
                continue
            rows = rows_of_spans(table, of_length, n, self.device)
            if self.decoding.mbr:
                of_span = torch.zeros((len(of_length), n, n + 1), device=self.device)
                for scores, temperature in of_members:
                    of_span += log_probabilities(expected_spans(scores, rows, len(of_length), n, temperature))
                best = mbr_splits(of_span)
            else:
                best = greedy_splits(scores_of_members[0], rows, len(of_length), n)
            trees += split_depths_of(best)
        return trees


def ensemble_trees(
    members: Sequence[EnsembleMember],
    device: torch.device | str,
    morph_overriding: bool,
    decoding: DecodingConfig,
    pieces: PieceModel | None = None,
) -> TreeSource:
    """The trees of an ensemble: by fused kernels where the GPU, the models and the decoding allow it."""
    if torch.device(device).type == "cuda" and decoding.mbr:
        try:
            from treetok.model.fused_decoding import FusedTrees
            from treetok.model.kernels import can_be_fused
        except ImportError:
            # PyTorch comes without Triton on some systems.
            pass
        else:
            if all(can_be_fused(member.composition.config) for member in members):
                return FusedTrees(members, device, morph_overriding, decoding, pieces)
    return CompositionTrees(members, device, morph_overriding, decoding, pieces)


class PrunedTrees:
    """The paper's tree induction: greedy decoding of charts that the model's own parser prunes, as in training but
    without noise."""

    def __init__(
        self,
        member: EnsembleMember,
        window: int,
        device: torch.device | str = "cpu",
        morph_overriding: bool = True,
    ) -> None:
        if member.parser is None:
            raise TreetokError("pruned charts need the parser that was trained with the composition model")
        self.member, self.parser, self.window = member, member.parser, window
        self.device, self.morph_overriding = device, morph_overriding

    def split_scores(self, words: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """The negative depth of every split in the best tree of each word."""
        return in_batches(words, LETTERS_PER_BATCH[torch.device(self.device).type], self._batch)

    @torch.no_grad()
    def _batch(self, words: list[str]) -> list[npt.NDArray[np.float32]]:
        table = tabulate_substrings(words)
        merge_scores = np.zeros((len(words), table.widest - 1), dtype=np.float32)
        for row, scores in zip(merge_scores, self.parser.split_scores(words), strict=True):
            row[: len(scores)] = scores
        scores_WS = torch.from_numpy(merge_scores).to(self.device)
        morphemes = self.member.morphemes.of_substrings(table)
        charts = PrunedCharts(table, morphemes, self.device, self.window, scores_WS.__getitem__)
        plan = charts.plan(torch.arange(len(words), device=self.device))
        inside = inside_pass(self.member.composition, plan, self.morph_overriding)
        depths = best_tree_depths(plan, inside).cpu().numpy()
        return [-row[: len(word) - 1].astype(np.float32) for word, row in zip(words, depths, strict=True)]

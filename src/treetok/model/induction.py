"""Trees from a trained composition model: split every span where the compatibility score is highest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from treetok.cells import cells_before_width
from treetok.model.chart import ChartPlan, InsideResult, inside_pass
from treetok.model.complete_chart import CompleteCharts
from treetok.model.composition import CompositionModel
from treetok.model.morphemes import MorphemeVocabulary
from treetok.model.substrings import SubstringTable, tabulate_substrings

LETTERS_AT_ONCE = 40_000


def best_splits(plan: ChartPlan, inside: InsideResult) -> npt.NDArray[np.int64]:
    """Of every inside row the width of the left half of its best split; ties go left; 0 for characters."""
    best = [np.zeros(plan.characters, dtype=np.int64)]
    done = 0
    for level in plan.inside_levels:
        scores_CK = inside.split_scores[done : done + level.left_CK.numel()].view(level.left_CK.shape)
        done += level.left_CK.numel()
        best.append(scores_CK.float().cpu().numpy().argmax(-1) + 1)
    return np.concatenate(best)


def walk_best_trees(
    lengths: npt.NDArray[np.int64], row_of_span: npt.NDArray[np.int64], best: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.float32]]:
    """Walk all trees from their roots, one depth at a time: minus the depth of every split of every word.

    `row_of_span[word, start, width]` is the inside row of a span.
    """
    depths = np.zeros((len(lengths), max(int(lengths.max(initial=1)) - 1, 1)), dtype=np.float32)
    word = np.flatnonzero(lengths > 1)
    start, end = np.zeros_like(word), lengths[word]
    depth = 0
    while len(word):
        middle = start + best[row_of_span[word, start, end - start]]
        depths[word, middle - 1] = -depth
        word = np.concatenate([word, word])
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        inner = end - start > 1
        word, start, end = word[inner], start[inner], end[inner]
        depth += 1
    return [row[: length - 1] for row, length in zip(depths, lengths.tolist(), strict=True)]


def rows_of_spans(table: SubstringTable) -> npt.NDArray[np.int64]:
    """[word, start, width] -> number of the substring, for a plan that holds all words of the table."""
    widest = table.widest
    rows = np.zeros((len(table.lengths), widest, widest + 1), dtype=np.int64)
    words = np.arange(len(table.lengths))
    for width in range(1, widest + 1):
        for start in range(widest - width + 1):
            alive = words[table.lengths >= start + width]
            cell = table.first_cell[alive] + cells_before_width(table.lengths[alive], width) + start
            rows[alive, start, width] = table.substring_of_cell[cell]
    return rows


class CompositionTrees:
    """The composition model as a source of trees: the teacher of the parser, and slow without a GPU."""

    def __init__(
        self,
        model: CompositionModel,
        morphemes: MorphemeVocabulary,
        device: torch.device | str = "cpu",
        morph_overriding: bool = True,
    ) -> None:
        self.model, self.morphemes, self.device = model, morphemes, device
        self.morph_overriding = morph_overriding

    def split_scores(self, words: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """Minus the depth of every split in the best tree of each word."""
        scores: list[npt.NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(words)
        # Words of like length together: a batch is as wide as its longest word.
        order = sorted(range(len(words)), key=lambda number: (len(words[number]), words[number]))
        start = 0
        while start < len(order):
            end, letters = start, 0
            while end < len(order) and letters < LETTERS_AT_ONCE:
                letters += len(words[order[end]])
                end += 1
            batch = order[start:end]
            for number, depths in zip(batch, self._batch([words[number] for number in batch]), strict=True):
                scores[number] = depths
            start = end
        return scores

    @torch.no_grad()
    def _batch(self, words: list[str]) -> list[npt.NDArray[np.float32]]:
        table = tabulate_substrings(words)
        charts = CompleteCharts(table, self.morphemes.numbers(table.strings(words)), self.device)
        by_length = np.argsort(-table.lengths, kind="stable")
        plan = charts.plan(torch.from_numpy(by_length).to(self.device), outside=False)
        was_training = self.model.training
        self.model.eval()
        inside = inside_pass(self.model, plan, self.morph_overriding)
        self.model.train(was_training)
        return walk_best_trees(table.lengths, rows_of_spans(table), best_splits(plan, inside))

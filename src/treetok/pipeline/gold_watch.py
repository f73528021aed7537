"""Scores against gold segmentations during training: how many gold morphs are spans of the current trees."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from treetok.evaluate.gold import GoldFile, read_gold
from treetok.evaluate.metrics.tree_recall import tree_recall
from treetok.evaluate.tree_sources import OverStrings
from treetok.sources import TreeSource, scores_of_words
from treetok.text import Profile
from treetok.tree import Tree


@dataclass(frozen=True)
class GoldWatch:
    """Gold files are never trained on: recalls only go to the log and to stderr."""

    gold: dict[str, GoldFile]
    profile: Profile
    show: bool = True

    @classmethod
    def read(cls, paths: Sequence[str | PathLike[str]], profile: Profile, show: bool) -> GoldWatch | None:
        return cls({Path(path).stem: read_gold(Path(path)) for path in paths}, profile, show) if paths else None

    def recalls(self, source: TreeSource, when: str) -> dict[str, list[float]]:
        """Tree recall in percent per gold file, with leaves counted and with leaves dropped."""
        found = {name: self._recall(gold, source) for name, gold in self.gold.items()}
        if self.show:
            shown = ", ".join(f"{name} {counted} / {dropped}" for name, (counted, dropped) in found.items())
            print(f"{when}: tree recall {shown}", file=sys.stderr, flush=True)
        return {f"recall_{name}": recall for name, recall in found.items()}

    def _recall(self, gold: GoldFile, source: TreeSource) -> list[float]:
        words = [gold_word.word for gold_word in gold]
        scores = scores_of_words(OverStrings(source, self.profile), words)
        trees = [Tree(word, scores[word]).spans() for word in words]
        # With leaves counted, and with leaves dropped.
        figures = (tree_recall(gold, trees, "released"), tree_recall(gold, trees, "described"))
        return [round(100 * figure.by_word.value, 2) for figure in figures]

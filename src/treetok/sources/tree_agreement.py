"""Agreement between two sources of trees: on whole trees, and on the resulting segmentations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treetok.segment import Segmenter
from treetok.sources import TreeSource, split_scores
from treetok.tree import split_depths, with_leading_space

# Words of one or two letters have only one possible tree.
SHORTEST_WORD = 3
WORDS_PER_BATCH = 20_000

# A source of trees, or a mapping from every word to its split scores.
Teacher = TreeSource | Mapping[str, Any]


@dataclass(frozen=True)
class Agreement:
    """The fraction of words with the same tree in both. Words of fewer than three letters are ignored."""

    whole_tree: float
    words: int


def scores_of_teacher(teacher: Teacher, words: Sequence[str]) -> Sequence[Any]:
    """Split scores of the words, in the same order."""
    if isinstance(teacher, Mapping):
        return [teacher[word] for word in words]
    scores: list[Any] = []
    for start in range(0, len(words), WORDS_PER_BATCH):
        scores += split_scores(teacher, words[start : start + WORDS_PER_BATCH])
    return scores


def tree_agreement(parser: TreeSource, teacher: Teacher, words: Sequence[str]) -> Agreement:
    words = [word for word in words if len(word) >= SHORTEST_WORD]
    pairs = zip(split_scores(parser, words), scores_of_teacher(teacher, words), strict=True)
    same = sum(split_depths(one) == split_depths(other) for one, other in pairs)
    return Agreement(same / max(len(words), 1), len(words))


def segmentation_agreement(
    parser: TreeSource,
    teacher: Teacher,
    segmenter: Segmenter,
    words: Sequence[str],
    in_running_text: Callable[[str], str] = lambda word: word,
) -> float:
    """The fraction of words that both sources' trees segment identically.

    in_running_text: maps a word to its form in running text, for example with a leading space.
    """

    def segment(word: str, scores: Sequence[float]) -> list[str]:
        form = in_running_text(word)
        return segmenter.cut(form, with_leading_space(scores) if len(form) > len(word) else scores)

    pairs = zip(words, split_scores(parser, words), scores_of_teacher(teacher, words), strict=True)
    return sum(segment(word, a) == segment(word, b) for word, a, b in pairs) / max(len(words), 1)

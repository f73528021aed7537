"""How often two sources of trees agree: on whole trees, and on the segmentations that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treetok.segment import Segmenter
from treetok.sources import TreeSource
from treetok.tree import split_depths, with_leading_space

# Words of one or two letters have one tree.
SHORTEST_WORD = 3
WORDS_PER_BATCH = 20_000

# A source of trees, or the scores (minus the depths, for instance) of every word.
Teacher = TreeSource | Mapping[str, Any]


@dataclass(frozen=True)
class Agreement:
    """The share of words with the same tree in both. Words of fewer than three letters do not count."""

    whole_tree: float
    words: int


def scores_of_teacher(teacher: Teacher, words: Sequence[str]) -> Sequence[Any]:
    """The split scores of words, in order."""
    if isinstance(teacher, Mapping):
        return [teacher[word] for word in words]
    scores: list[Any] = []
    for start in range(0, len(words), WORDS_PER_BATCH):
        scores += teacher.split_scores(words[start : start + WORDS_PER_BATCH])
    return scores


def tree_agreement(parser: TreeSource, teacher: Teacher, words: Sequence[str]) -> Agreement:
    words = [word for word in words if len(word) >= SHORTEST_WORD]
    pairs = zip(parser.split_scores(words), scores_of_teacher(teacher, words), strict=True)
    same = sum(split_depths(one) == split_depths(other) for one, other in pairs)
    return Agreement(same / max(len(words), 1), len(words))


def segmentation_agreement(
    parser: TreeSource,
    teacher: Teacher,
    segmenter: Segmenter,
    words: Sequence[str],
    in_running_text: Callable[[str], str] = lambda word: word,
) -> float:
    """The share of words that are segmented alike with the trees of both, as they stand in text: with a leading
    space, say."""

    def cut(word: str, scores: Sequence[float]) -> list[str]:
        written = in_running_text(word)
        return segmenter.cut(written, with_leading_space(scores) if len(written) > len(word) else scores)

    pairs = zip(words, parser.split_scores(words), scores_of_teacher(teacher, words), strict=True)
    return sum(cut(word, a) == cut(word, b) for word, a, b in pairs) / max(len(words), 1)

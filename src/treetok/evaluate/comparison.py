"""Everything together: all contestants on all gold files and all texts, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import Figure, interval, paired_test
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.gold import GoldFile
from treetok.evaluate.metrics import compression, segmentation
from treetok.evaluate.metrics.measurement import Measurement
from treetok.evaluate.metrics.tree_recall import tree_recall
from treetok.evaluate.texts import HeldOutText, name_of
from treetok.progress import Progress
from treetok.sources import TreeSource, scores_of_words
from treetok.tree import walk_spans

# Where words are cut by marks that everybody can see, pre-tokenizers decide and not what was learned.
MARKS = frozenset("'-")
# What the released code of the paper scores of a gold file.
WORDS_OF_RELEASED_CODE = 64


@dataclass(frozen=True)
class Table:
    """The scores of all contestants (or sources of trees) on one gold file or text.

    kind: "segmentation", "text" or "trees".
    facts: what was scored: how many words, how many sentences.
    rows: contestant -> score -> figure. Shares are from 0 to 1.
    compared_with: the first of the rows, against which the others are tested.
    p_values: contestant -> score -> p-value of that paired test.
    """

    kind: str
    name: str
    facts: dict[str, int]
    rows: dict[str, dict[str, Figure]]
    compared_with: str = ""
    p_values: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """
    contestants: name -> size of the vocabulary, None where nobody can say.
    notes: how it was made, for people to read.
    """

    contestants: dict[str, int | None]
    tables: list[Table]
    notes: dict[str, Any] = field(default_factory=dict)


def compare(
    contestants: Sequence[Contestant],
    gold_files: Sequence[GoldFile] = (),
    texts: Sequence[HeldOutText] = (),
    trees: Mapping[str, TreeSource] | None = None,
    *,
    notes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Score every contestant on every gold file and text, and every source of trees on every gold file."""
    progress = progress or Progress(None)
    names = [contestant.name for contestant in contestants]
    for name in names:
        if names.count(name) > 1:
            raise TreetokError(f"two tokenizers are called {name!r}")
    tables = [compare_segmentation(contestants, gold, progress) for gold in gold_files if contestants]
    tables += [compare_on_text(contestants, text, progress) for text in texts if contestants]
    tables += [compare_trees(trees, gold, progress) for gold in gold_files if trees]
    return Comparison(
        {contestant.name: contestant.vocabulary_size for contestant in contestants},
        tables,
        dict(notes or {}),
    )


def compare_segmentation(contestants: Sequence[Contestant], gold: GoldFile, progress: Progress) -> Table:
    """Accuracy and boundaries on one gold file."""
    plain = [MARKS.isdisjoint(gold_word.word) for gold_word in gold]
    rows: dict[str, dict[str, Figure]] = {}
    p_values: dict[str, dict[str, float]] = {}
    first: dict[str, Measurement] = {}
    name = name_of(gold.path)
    with progress.stage(f"scoring {name}", len(contestants), "tokenizers") as stage:
        for number, contestant in enumerate(contestants):
            predictions = [cut_of_word(contestant, gold_word.word) for gold_word in gold]
            macro = segmentation.boundaries(gold, predictions)
            micro = segmentation.boundaries(gold, predictions, "micro")
            right = segmentation.accuracy(gold, predictions)
            measured = {
                "accuracy": right,
                "accuracy_plain_words": right.restricted_to(plain) if any(plain) else None,
                "precision": macro.precision,
                "recall": macro.recall,
                "f1": macro.f1,
                "micro_precision": micro.precision,
                "micro_recall": micro.recall,
                "micro_f1": micro.f1,
                "pieces_per_word": compression.pieces_per_word(predictions),
            }
            rows[contestant.name] = figures_of(measured)
            tested = {score: measured[score] for score in ("accuracy", "f1")}
            if first:
                p_values[contestant.name] = p_values_of(tested, first)
            else:
                first = {score: measurement for score, measurement in tested.items() if measurement is not None}
            stage.at(number + 1)
    facts = {"words": len(gold), "without ' or -": sum(plain)}
    if gold.skipped:
        facts["skipped, not spelled by their morphs"] = len(gold.skipped)
    return Table("segmentation", name, facts, rows, contestants[0].name, p_values)


def cut_of_word(contestant: Contestant, word: str) -> list[str]:
    """The word cut where the contestant cuts it. Contestants normalise words, and gold is written as it is: as
    long as letter stands for letter, the cuts are made in the word itself.

    >>> class Lower:
    ...     name, vocabulary_size = "lower", None
    ...     def segment(self, word): return [word[:4].lower(), word[4:].lower()]
    ...     def tokenize(self, text): return [text]
    >>> cut_of_word(Lower(), "Lighthouse")
    ['Ligh', 'thouse']
    """
    pieces = contestant.segment(word)
    if "".join(pieces) == word:
        return pieces
    places = [0, *accumulate(map(len, pieces))]
    if places[-1] != len(word):
        # Nothing is right about it, but it has boundaries to be wrong.
        return pieces or [word]
    return [word[start:end] for start, end in pairwise(places)]


def compare_on_text(contestants: Sequence[Contestant], text: HeldOutText, progress: Progress) -> Table:
    """Length and use of the vocabulary on one text."""
    running_words = [word for sentence in text.sentences for word in sentence.split()]
    spelled_words = [word for word in running_words if word.isalpha()]
    rows: dict[str, dict[str, Figure]] = {}
    with progress.stage(f"tokenizing {text.name}", len(contestants), "tokenizers") as stage:
        for number, contestant in enumerate(contestants):
            tokenized = [contestant.tokenize(sentence) for sentence in text.sentences]
            pieces_of = {word: contestant.segment(word) for word in set(spelled_words)}
            kept_whole = compression.kept_whole([pieces_of[word] for word in spelled_words])
            scores = figures_of(
                {
                    "tokens_per_word": compression.tokens_per_word(text.sentences, tokenized),
                    "tokens_per_sentence": compression.tokens_per_sentence(tokenized),
                    "bytes_per_token": compression.bytes_per_token(text.sentences, tokenized),
                    "share_of_words_whole": kept_whole if spelled_words else None,
                }
            )
            counts = compression.count_tokens(tokenized)
            size = contestant.vocabulary_size
            if size is not None and len(counts) > size:
                # Morfessor gives letters it has never seen as they are.
                size = None
            if len(counts) > 1:
                scores["renyi_efficiency"] = exact(
                    compression.renyi_efficiency(counts, size).value, len(tokenized)
                )
            if size is not None:
                scores["vocabulary_use"] = exact(compression.vocabulary_use(counts, size), len(tokenized))
            rows[contestant.name] = scores
            stage.at(number + 1)
    facts = {
        "sentences": len(text.sentences),
        "words": len(running_words),
        "bytes": sum(len(sentence.encode()) for sentence in text.sentences),
    }
    return Table("text", text.name, facts, rows)


def compare_trees(trees: Mapping[str, TreeSource], gold: GoldFile, progress: Progress) -> Table:
    """Recall of morphemes in trees on one gold file, in both conventions."""
    plain = [MARKS.isdisjoint(gold_word.word) for gold_word in gold]
    some_are_plain = any(plain) and not all(plain)
    rows: dict[str, dict[str, Figure]] = {}
    p_values: dict[str, dict[str, float]] = {}
    first: dict[str, Measurement] = {}
    name = name_of(gold.path)
    counted = 0
    with progress.stage(f"trees of {name}", len(trees), "sources") as stage:
        for number, (source, trees_of_source) in enumerate(trees.items()):
            scores = scores_of_words(trees_of_source, list(dict.fromkeys(gold_word.word for gold_word in gold)))
            spans = [[(start, end) for start, end, _ in walk_spans(scores[gold_word.word])] for gold_word in gold]
            dropped = tree_recall(gold, spans, "described").by_word
            counted_too = tree_recall(gold, spans, "released").by_word
            measured: dict[str, Measurement | None] = {
                "leaves_dropped": dropped,
                "leaves_counted": counted_too,
                "leaves_dropped_plain_words": dropped.restricted_to(plain) if some_are_plain else None,
                "leaves_counted_plain_words": counted_too.restricted_to(plain) if some_are_plain else None,
                "leaves_counted_first_64": tree_recall(gold, spans, "released", WORDS_OF_RELEASED_CODE).by_word,
            }
            rows[source] = figures_of(measured)
            if first:
                p_values[source] = p_values_of(measured, first)
            else:
                first = {score: measurement for score, measurement in measured.items() if measurement is not None}
            counted = max(figure.count for figure in rows[source].values()) if rows[source] else 0
            stage.at(number + 1)
    return Table("trees", name, {"words with morphemes to be found": counted}, rows, next(iter(trees)), p_values)


def figures_of(measured: Mapping[str, Measurement | None]) -> dict[str, Figure]:
    """Figures with their intervals; what is not defined, for want of words that count, is left out."""
    return {
        name: interval(measurement)
        for name, measurement in measured.items()
        if measurement is not None and not math.isnan(measurement.value)
    }


def p_values_of(measured: Mapping[str, Measurement | None], first: Mapping[str, Measurement]) -> dict[str, float]:
    p_values = {}
    for name, measurement in measured.items():
        if measurement is not None and name in first:
            p_value = paired_test(measurement, first[name]).p_value
            if not math.isnan(p_value):
                p_values[name] = p_value
    return p_values


def exact(value: float, count: int) -> Figure:
    """A figure of the text as a whole, without an interval."""
    return Figure(value, value, value, count)

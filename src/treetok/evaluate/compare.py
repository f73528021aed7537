"""The comparison itself: all tokenizers on all gold files and texts, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import Figure, interval, paired_test
from treetok.evaluate.gold import GoldFile
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.metrics import compression, segmentation
from treetok.evaluate.metrics.measurement import Measurement
from treetok.evaluate.metrics.tree_recall import Span, tree_recall
from treetok.evaluate.texts import HeldOutText, name_of
from treetok.progress import Progress
from treetok.sources import TreeSource, scores_of_words
from treetok.tree import walk_spans

# Boundaries at these characters are found by pre-tokenization, not by what was learned.
PUNCTUATION = frozenset("'-")
# The released code of the paper scores only this many words of a gold file.
WORDS_IN_RELEASED_CODE = 64

Measured = dict[str, Measurement | None]


@dataclass(frozen=True)
class Table:
    """The scores of all tokenizers (or sources of trees) on one gold file or text.

    kind: "segmentation", "text" or "trees".
    facts: what was scored: how many words, how many sentences.
    rows: tokenizer -> score -> figure. Shares are between 0 and 1.
    compared_with: the first row, against which the others are tested.
    p_values: tokenizer -> score -> p-value of that paired test.
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
    tokenizers: name -> vocabulary size, None where it is not defined.
    notes: how the baselines were trained, for readers of the report.
    """

    tokenizers: dict[str, int | None]
    tables: list[Table]
    notes: dict[str, Any] = field(default_factory=dict)


def compare(
    tokenizers: Sequence[EvalTokenizer],
    gold_files: Sequence[GoldFile] = (),
    texts: Sequence[HeldOutText] = (),
    trees: Mapping[str, TreeSource] | None = None,
    *,
    notes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Score every tokenizer on every gold file and text, and every source of trees on every gold file.

    The first tokenizer, and the first source of trees, is what the others are tested against.
    """
    progress = progress or Progress(None)
    names = [tokenizer.name for tokenizer in tokenizers]
    for name in names:
        if names.count(name) > 1:
            raise TreetokError(f"two tokenizers are called {name!r}")
    tables = [compare_segmentation(tokenizers, gold, progress) for gold in gold_files if tokenizers]
    tables += [compare_on_text(tokenizers, text, progress) for text in texts if tokenizers]
    tables += [compare_trees(trees, gold, progress) for gold in gold_files if trees]
    sizes = {tokenizer.name: tokenizer.vocabulary_size for tokenizer in tokenizers}
    return Comparison(sizes, tables, dict(notes or {}))


# ---- segmentation


def compare_segmentation(tokenizers: Sequence[EvalTokenizer], gold: GoldFile, progress: Progress) -> Table:
    """Accuracy and boundary scores on one gold file."""
    rows: dict[str, dict[str, Figure]] = {}
    p_values: dict[str, dict[str, float]] = {}
    first: Measured | None = None
    name = name_of(gold.path)
    with progress.stage(f"scoring {name}", len(tokenizers), "tokenizers") as stage:
        for number, tokenizer in enumerate(tokenizers):
            measured = segmentation_scores(tokenizer, gold)
            rows[tokenizer.name] = figures_of(measured)
            if first is None:
                first = measured
            else:
                p_values[tokenizer.name] = p_values_of(measured, first, ("accuracy", "f1"))
            stage.at(number + 1)
    facts = {"words": len(gold), "without ' or -": sum(without_punctuation(gold))}
    if gold.skipped:
        facts["skipped, not spelled by their morphs"] = len(gold.skipped)
    return Table("segmentation", name, facts, rows, tokenizers[0].name, p_values)


def segmentation_scores(tokenizer: EvalTokenizer, gold: GoldFile) -> Measured:
    plain = without_punctuation(gold)
    predictions = [segment_as_written(tokenizer, gold_word.word) for gold_word in gold]
    accuracy = segmentation.accuracy(gold, predictions)
    macro = segmentation.boundaries(gold, predictions)
    micro = segmentation.boundaries(gold, predictions, "micro")
    return {
        "accuracy": accuracy,
        "accuracy_plain_words": accuracy.restricted_to(plain) if any(plain) else None,
        "precision": macro.precision,
        "recall": macro.recall,
        "f1": macro.f1,
        "micro_precision": micro.precision,
        "micro_recall": micro.recall,
        "micro_f1": micro.f1,
        "pieces_per_word": compression.pieces_per_word(predictions),
    }


def without_punctuation(gold: GoldFile) -> list[bool]:
    """Which words have neither an apostrophe nor a hyphen."""
    return [PUNCTUATION.isdisjoint(gold_word.word) for gold_word in gold]


def segment_as_written(tokenizer: EvalTokenizer, word: str) -> list[str]:
    """Segment a word and map the boundaries back to its spelling in the gold file, which tokenizers may normalise.
    This works as long as normalisation keeps the number of characters.

    >>> class Lower:
    ...     name, vocabulary_size = "lower", None
    ...     def segment(self, word): return [word[:4].lower(), word[4:].lower()]
    ...     def tokenize(self, text): return [text]
    >>> segment_as_written(Lower(), "Lighthouse")
    ['Ligh', 'thouse']
    """
    pieces = tokenizer.segment(word)
    if "".join(pieces) == word:
        return pieces
    boundaries = [0, *accumulate(map(len, pieces))]
    if boundaries[-1] != len(word):
        # It cannot be correct, but its boundaries still count as wrong ones.
        return pieces or [word]
    return [word[start:end] for start, end in pairwise(boundaries)]


# ---- running text


def compare_on_text(tokenizers: Sequence[EvalTokenizer], text: HeldOutText, progress: Progress) -> Table:
    """Length and vocabulary use on one text."""
    rows: dict[str, dict[str, Figure]] = {}
    with progress.stage(f"tokenizing {text.name}", len(tokenizers), "tokenizers") as stage:
        for number, tokenizer in enumerate(tokenizers):
            rows[tokenizer.name] = text_scores(tokenizer, text)
            stage.at(number + 1)
    facts = {
        "sentences": len(text.sentences),
        "words": sum(len(sentence.split()) for sentence in text.sentences),
        "bytes": sum(len(sentence.encode()) for sentence in text.sentences),
    }
    return Table("text", text.name, facts, rows)


def text_scores(tokenizer: EvalTokenizer, text: HeldOutText) -> dict[str, Figure]:
    tokenized = [tokenizer.tokenize(sentence) for sentence in text.sentences]
    alphabetic_words = [word for sentence in text.sentences for word in sentence.split() if word.isalpha()]
    pieces_of = {word: tokenizer.segment(word) for word in set(alphabetic_words)}
    kept_whole = compression.kept_whole([pieces_of[word] for word in alphabetic_words])
    scores = figures_of(
        {
            "tokens_per_word": compression.tokens_per_word(text.sentences, tokenized),
            "tokens_per_sentence": compression.tokens_per_sentence(tokenized),
            "bytes_per_token": compression.bytes_per_token(text.sentences, tokenized),
            "share_of_words_whole": kept_whole if alphabetic_words else None,
        }
    )
    counts = compression.count_tokens(tokenized)
    size = tokenizer.vocabulary_size
    if size is not None and len(counts) > size:
        # Morfessor outputs unseen letters as they are.
        size = None
    if len(counts) > 1:
        scores["renyi_efficiency"] = exact(compression.renyi_efficiency(counts, size).value, len(tokenized))
    if size is not None:
        scores["vocabulary_use"] = exact(compression.vocabulary_use(counts, size), len(tokenized))
    return scores


# ---- trees


def compare_trees(trees: Mapping[str, TreeSource], gold: GoldFile, progress: Progress) -> Table:
    """Morpheme recall of trees on one gold file, under both protocols."""
    rows: dict[str, dict[str, Figure]] = {}
    p_values: dict[str, dict[str, float]] = {}
    first: Measured | None = None
    name = name_of(gold.path)
    words = list(dict.fromkeys(gold_word.word for gold_word in gold))
    counted = 0
    with progress.stage(f"trees of {name}", len(trees), "sources") as stage:
        for number, (source_name, source) in enumerate(trees.items()):
            scores = scores_of_words(source, words)
            spans = [[(start, end) for start, end, _ in walk_spans(scores[gold_word.word])] for gold_word in gold]
            measured = tree_scores(gold, spans)
            rows[source_name] = figures_of(measured)
            if first is None:
                first = measured
            else:
                p_values[source_name] = p_values_of(measured, first, measured)
            counted = max((figure.count for figure in rows[source_name].values()), default=0)
            stage.at(number + 1)
    return Table("trees", name, {"words with morphemes to be found": counted}, rows, next(iter(trees)), p_values)


def tree_scores(gold: GoldFile, spans: Sequence[Sequence[Span]]) -> Measured:
    plain = without_punctuation(gold)
    some_are_plain = any(plain) and not all(plain)
    dropped = tree_recall(gold, spans, "described").by_word
    counted = tree_recall(gold, spans, "released").by_word
    return {
        "leaves_dropped": dropped,
        "leaves_counted": counted,
        "leaves_dropped_plain_words": dropped.restricted_to(plain) if some_are_plain else None,
        "leaves_counted_plain_words": counted.restricted_to(plain) if some_are_plain else None,
        "leaves_counted_first_64": tree_recall(gold, spans, "released", WORDS_IN_RELEASED_CODE).by_word,
    }


# ---- figures


def figures_of(measured: Mapping[str, Measurement | None]) -> dict[str, Figure]:
    """Figures with their intervals; undefined ones are left out."""
    return {
        name: interval(measurement)
        for name, measurement in measured.items()
        if measurement is not None and not math.isnan(measurement.value)
    }


def p_values_of(measured: Measured, first: Measured, tested: Iterable[str]) -> dict[str, float]:
    """p-values of the scores in `tested` against those of the first row; undefined ones are left out."""
    p_values = {}
    for name in tested:
        measurement, reference = measured[name], first[name]
        if measurement is not None and reference is not None:
            p_value = paired_test(measurement, reference).p_value
            if not math.isnan(p_value):
                p_values[name] = p_value
    return p_values


def exact(value: float, count: int) -> Figure:
    """A figure of the text as a whole, without an interval."""
    return Figure(value, value, value, count)

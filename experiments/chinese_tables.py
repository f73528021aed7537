"""The tables of the Chinese experiment, made of scores alone (`model_scores.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chinese_gold import ROLES, TEST
from model_scores import (
    MBR_TREES,
    ModelScores,
    file_name,
    gold_files,
    named_if_damaged,
    without_empty_columns,
)
from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import interval, paired_test
from treetok.evaluate.metrics.measurement import Floats, Measurement
from treetok.evaluate.report import percent, percent_with_interval, written_p
from treetok.progress import Progress
from word_boundaries import (
    ALL_WORDS,
    BETWEEN_HAN,
    CONVENTIONS,
    POSITIONS,
    boundary_scores,
    mean_recall,
    pooled_recall,
    read_rows,
)

TREES = {
    "complete": "complete charts",
    "complete-no-overriding": "complete charts, without MorphOverriding",
    "complete-no-overriding-longer": "complete charts, without MorphOverriding, trained longer",
    "complete-no-overriding-unigram": "complete charts, without MorphOverriding, trained longer, Unigram x 2",
    "weak-links": "complete charts, without MorphOverriding, cut at weak links",
    "weak-links-bpe-x3": "complete charts, without MorphOverriding, cut at weak links, BPE x 3",
    "weak-links-unigram-x2": "complete charts, without MorphOverriding, cut at weak links, Unigram x 2",
    "weak-links-unigram-x4": "complete charts, without MorphOverriding, cut at weak links, Unigram x 4",
    "longer-weak-links": "complete charts, without MorphOverriding, cut at weak links, trained longer",
    "longer-weak-links-fewer": (
        "complete charts, without MorphOverriding, cut at weak links, trained longer, BPE x 0.6"
    ),
    "longer-weak-links-fewer-unigram": (
        "complete charts, without MorphOverriding, cut at weak links, trained longer, Unigram x 0.8"
    ),
    "pruned": "pruned charts",
    "pruned-no-overriding": "pruned charts, without MorphOverriding",
    "pruned-no-overriding-unigram": "pruned charts, without MorphOverriding, trained longer, Unigram x 2",
    "pruned-weak-links": "pruned charts, without MorphOverriding, cut at weak links, BPE x 2",
    "pruned-weak-links-unigram": "pruned charts, without MorphOverriding, cut at weak links, Unigram x 2",
    "no-overriding-ensemble": "the two trained longer with Unigram x 2, decoded together",
    "weak-links-ensemble": "the seven with complete charts cut at weak links, decoded together",
    "weak-links-pieces": "the seven with complete charts cut at weak links and pieces, decoded together",
    "pcfg": "neural PCFG",
    "left-branching": "left-branching",
    "right-branching": "right-branching",
    "balanced": "balanced",
    "random": "random, mean of 10",
}
# After TreeTok.
OTHER_TOKENIZERS = {
    "bpe": "BPE",
    "unigram": "Unigram",
    "characters": "one per character",
    "stretches": "one per stretch",
}
# Of a treebank that is not free, and by a convention that is not described. The paper's model without
# MorphOverriding has pruned charts.
WITHOUT_OVERRIDING = "99.24"
PAPER = {name: WITHOUT_OVERRIDING for name, label in TREES.items() if "without MorphOverriding" in label} | {
    "pcfg": "74.26"
}
# The single model that was trained longest.
REFERENCE = "complete-no-overriding-longer"
ABSENT = "-"

Table = dict[str, Any]


class GoldSentences:
    """What files of scores say of the same sentences; an error if they disagree.

    sentences: how many there are.
    """

    def __init__(self, gold: str, scores: Sequence[ModelScores]) -> None:
        self.gold = gold
        self.scores = [of_one for of_one in scores if gold in of_one.gold]
        facts = [self._facts(of_one) for of_one in self.scores]
        for of_one, of_other in zip(self.scores, facts, strict=True):
            if of_other != facts[0]:
                raise self._disagreement(of_one, self.scores[0])
        self.role, self.sentences, self.words = facts[0]
        self._to_be_found: dict[str, tuple[ModelScores, Floats]] = {}

    def _facts(self, scores: ModelScores) -> tuple[str, int, int]:
        entry = scores.gold[self.gold]
        with named_if_damaged(scores):
            if entry["role"] not in ROLES:
                raise ValueError(f"sentences are for {' or '.join(ROLES)}, not for {entry['role']!r}")
            return entry["role"], int(entry["sentences"]), int(entry["words"])

    def _disagreement(self, scores: ModelScores, other: ModelScores) -> TreetokError:
        files = (file_name(of_one.name, of_one.seed) for of_one in (scores, other))
        return TreetokError(f"{' and '.join(files)} disagree on {self.gold}: remove the one that is damaged")

    def rows(self, scores: ModelScores, written: Mapping[str, str], kind: str, columns: int) -> Floats:
        """Numbers of every sentence; the last is how much there is to be found, whatever the model."""
        table = read_rows(written[kind], self.sentences, columns)
        first, to_be_found = self._to_be_found.setdefault(kind, (scores, table[:, -1]))
        if (table[:, -1] != to_be_found).any():
            raise self._disagreement(scores, first)
        return table

    def title(self) -> str:
        return f"{self.gold} ({self.role}): {self.sentences} sentences, {self.words} words"


def recall_tables(scores: Sequence[ModelScores], progress: Progress) -> Iterator[Table]:
    """One table for each gold file, that of the test first."""
    for of_one in scores:
        if of_one.name not in TREES:
            file = file_name(of_one.name, of_one.seed)
            raise TreetokError(f"{file} has no model of this experiment: remove it, or choose other --scores")
    for gold in gold_sentences(in_order(scores, TREES)):
        rows = []
        words: dict[str, float] = {}
        recalls = {
            (of_one.name, decoding): recall
            for of_one in gold.scores
            for decoding, recall in recalls_on(gold, of_one)
        }
        reference = recalls.get((REFERENCE, MBR_TREES), {}).get(ALL_WORDS)
        with progress.stage(f"intervals on {gold.gold}", len(recalls), "rows") as shown:
            for (name, decoding), by_convention in recalls.items():
                row = {"trees": TREES[name], "decoding": decoding}
                for convention, table in by_convention.items():
                    words[convention] = table[:, 1].sum()
                    row[convention] = figure(pooled_recall(table))
                    row[f"{convention}, mean over sentences"] = figure(mean_recall(table))
                p = ABSENT
                if reference is not None and (name, decoding) != (REFERENCE, MBR_TREES):
                    p = written_p(paired_test(*map(pooled_recall, (by_convention[ALL_WORDS], reference))).p_value)
                rows.append({**row, "p": p, "paper": PAPER.get(name, ABSENT)})
                shown.at(len(rows))
        counted = ", ".join(f"{count:.0f} {convention}" for convention, count in words.items())
        title = f"words that are spans of trees, {gold.title()}; inside stretches {counted}"
        yield {"title": title, "grid": grid_of(rows)}


def recalls_on(gold: GoldSentences, scores: ModelScores) -> Iterator[tuple[str, dict[str, Floats]]]:
    """By decoding: for each convention and sentence, how many words are found, and how many there are."""
    with named_if_damaged(scores):
        of_gold = scores.on_gold(gold.gold, "rows")
        if not of_gold:
            raise ValueError("no rows")
        for decoding, written in of_gold.items():
            yield decoding, {kind: gold.rows(scores, written, kind, columns=2) for kind in CONVENTIONS}


def boundary_tables(scores: Sequence[ModelScores]) -> Iterator[Table]:
    for gold in gold_sentences(in_order(scores, OTHER_TOKENIZERS)):
        for positions in POSITIONS:
            rows = []
            for of_one in gold.scores:
                entry = of_one.gold[gold.gold]
                with named_if_damaged(of_one):
                    written = of_one.on_gold(gold.gold, "rows")
                    found = boundary_scores(gold.rows(of_one, written, positions, columns=3))
                    rows.append(
                        {
                            "tokens": OTHER_TOKENIZERS.get(of_one.name, of_one.name),
                            "|V|": str(of_one.training["entries"] or ABSENT),
                            "P": figure(found.precision),
                            "R": figure(found.recall),
                            "F1": figure(found.f1),
                            "F1, mean over sentences": figure(found.mean_f1),
                            "characters/token": f"{entry['characters'] / entry['tokens']:.3f}",
                        }
                    )
            yield {"title": f"boundaries {positions}, {gold.title()}", "grid": grid_of(rows)}


def gold_sentences(scores: Sequence[ModelScores]) -> list[GoldSentences]:
    """Those of the test first."""
    return sorted((GoldSentences(gold, scores) for gold in gold_files(scores)), key=lambda gold: gold.role != TEST)


def in_order(scores: Sequence[ModelScores], labels: Mapping[str, str]) -> list[ModelScores]:
    """In the order of the labels; those without one come first."""
    places = {name: place for place, name in enumerate(labels)}
    return sorted(scores, key=lambda of_one: places.get(of_one.name, -1))


def grid_of(rows: Sequence[dict[str, str]]) -> list[list[str]]:
    return without_empty_columns([list(rows[0]), *(list(row.values()) for row in rows)])


def figure(measurement: Measurement) -> str:
    """In %, with an interval; a dash where there is nothing to measure."""
    if np.isnan(measurement.value):
        return ABSENT
    found = interval(measurement)
    # A resample without anything to measure has no value.
    return percent(found) if np.isnan([found.low, found.high]).any() else percent_with_interval(found)


def notes_of(trees: Sequence[ModelScores], tokens: Sequence[ModelScores]) -> dict[str, str]:
    notes = notes_of_trees(trees) if trees else {}
    if tokens:
        notes["tokens"] = (
            f"profile lossless, which cuts stretches after every 8 characters. {BETWEEN_HAN}: boundaries inside"
            " stretches; elsewhere they are easy to find"
        )
    return notes


def notes_of_trees(trees: Sequence[ModelScores]) -> dict[str, str]:
    notes = {
        "trees": "over stretches of Han characters, also where they are longer than those of training. A word is"
        " found if it is a span of the tree; in %, of all words and as the mean over sentences, with 95 %"
        " intervals over sentences. Words that are not inside a stretch (punctuation, numbers, 20万) are left out",
        "conventions": "all words: single characters are leaves of every tree and always found; words of 2+: words"
        " of two or more characters, of which those that are a whole stretch are its root and always found; inner"
        " words: without these, as in the paper's other columns",
        "Unigram": "the span loss predicts the pieces of Unigram; those of BPE elsewhere. x 3: trained for three"
        " times as many as those of most models; Unigram finds fewer than it is asked for",
        "cut at weak links": "for training, long stretches are cut between neighbours that stand together least"
        " often for how frequent they are, in their middle third; those of other models are cut into equal parts",
        "p": f"paired permutation test over sentences, of all words, against {TREES[REFERENCE]}, {MBR_TREES}",
        "paper": "Table 3, Penn Chinese Treebank; which words count is not described. TreeTok with MorphOverriding"
        " has no figure there",
    }
    # Of what no label speaks of, there is no note.
    for name in ("Unigram", "cut at weak links"):
        if not any(name in TREES[of_one.name] for of_one in trees):
            del notes[name]
    if not any(of_one.name == REFERENCE for of_one in trees):
        del notes["p"]
    for of_one in trees:
        if "pieces" in of_one.own_settings:
            with named_if_damaged(of_one):
                notes["pieces"] = described_pieces(of_one)
    trained = [of_one for of_one in in_order(trees, TREES) if "training" in of_one.own_settings]
    trainings, devices = [], set()
    for of_one in trained:
        with named_if_damaged(of_one):
            trainings.append(described(of_one))
            devices.add(f"{of_one.training['device']:s}")
    for of_one in trained[:1]:
        with named_if_damaged(of_one):
            notes |= {
                "text": f"{of_one.training['stretches_in_text']} stretches of up to {longest_stretch(of_one)}"
                f" characters, SHA-256 {of_one.settings['text'][:16]}",
                "training": "; ".join(trainings),
                "device": ", ".join(sorted(devices)) + ", of training",
            }
    versions = {", ".join(f"{name} {version}" for name, version in one.versions.items()) for one in trees}
    return notes | {"versions of scoring": "; ".join(sorted(versions))}


def described(scores: ModelScores) -> str:
    """How long a model was trained, and on how much text."""
    of_one = scores.training
    passes = of_one["stretches_seen"] / of_one["stretches_in_text"]
    said = f"{TREES[scores.name]} {of_one['seconds']:.0f} s, {of_one['steps']:d} steps, {passes:.1f} passes"
    if longest_stretch(scores) != scores.settings["longest"]:
        said += f" of stretches of up to {longest_stretch(scores)}"
    return said + (f", {of_one['morphemes']:d} morphemes" if "morphemes" in of_one else "")


def described_pieces(scores: ModelScores) -> str:
    """The language model of pieces that was decoded with an ensemble."""
    decoding, pieces = scores.own_settings["decoding"], scores.own_settings["pieces"]
    return (
        f"a language model of {scores.training['pieces']} pieces of Unigram, and of new ones of at least"
        f" {pieces['shortest_new_piece']} characters; temperatures {decoding['temperature']} of models and"
        f" {decoding['piece_temperature']} of pieces, which were chosen on the sentences of ud_gsdsimp_dev"
    )


def longest_stretch(scores: ModelScores) -> int:
    """That a model was trained on."""
    longest: int = scores.own_settings.get("model", {}).get("max_word_length", scores.settings["longest"])
    return longest

"""What was measured with trained composition models: one small file for each, from which tables are made.

A file has the recall of every gold word, but not the word: enough to test models against each other that were
trained on different days.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from treetok.errors import TreetokError, first_difference
from treetok.evaluate.bootstrap import interval, paired_test
from treetok.evaluate.compare import WORDS_IN_RELEASED_CODE
from treetok.evaluate.gold import GoldFile
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums
from treetok.evaluate.metrics.tree_recall import Span, tree_recall
from treetok.evaluate.report import percent_with_interval, written_p
from treetok.evaluate.texts import name_of
from whole_file import write_whole

# How trees are read off a model, and how leaves are treated.
GREEDY_TREES, MBR_TREES = "greedy", "MBR"
DROPPED, COUNTED = "leaves dropped", "leaves counted"
PROTOCOLS = {DROPPED: "described", COUNTED: "released"}
# A letter for each value that recalls have, so that a file of many words is small.
LETTERS, NOT_COUNTED = string.ascii_letters + string.digits, "-"

KINDS: dict[str, type] = {"name": str, "seed": int} | dict.fromkeys(
    ("settings", "own_settings", "training", "versions", "gold"), dict
)

# Decoding -> convention -> recall of every word, as written by `written_recalls`.
Written = dict[str, Any]
Recalls = dict[str, dict[str, Written]]


class FileOfGold(Protocol):
    """Gold segmentations of any kind."""

    @property
    def path(self) -> Path:
        """Where they are."""


@dataclass(frozen=True)
class ModelScores:
    """
    name, seed: of the model; they are the name of the file, too.
    settings: what all models of a table have in common.
    own_settings: what sets this model apart.
    training: steps, words seen, seconds of training, device and so on.
    versions: of treetok and PyTorch.
    gold: by the name of the gold file, its SHA-256 and the recalls.
    """

    name: str
    seed: int
    settings: dict[str, Any]
    own_settings: dict[str, Any]
    training: dict[str, Any]
    versions: dict[str, str]
    gold: dict[str, dict[str, Any]]

    def save(self, folder: Path) -> None:
        """Scores of the same model on other gold files are kept."""
        path = folder / file_name(self.name, self.seed)
        scores = json.loads(json.dumps(asdict(self)))
        if path.exists() and (there := ModelScores.load(path)).is_of(self.settings, self.own_settings):
            scores["gold"] = there.gold | scores["gold"]
        write_whole(path, json.dumps(scores, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> ModelScores:
        try:
            scores = cls(**json.loads(path.read_text(encoding="utf-8"), parse_constant=no_number))
        except ValueError as error:
            raise TreetokError(f"{path} has no scores of a model ({error}): remove it") from None
        except TypeError:
            raise TreetokError(f"{path} has no scores of a model: remove it") from None
        for name, kind in KINDS.items():
            if type(getattr(scores, name)) is not kind:
                raise TreetokError(f"{path} is damaged: {name} is of the wrong kind; remove it")
        if path.name != file_name(scores.name, scores.seed):
            raise TreetokError(f"{path} has the scores of {scores.name}, seed {scores.seed}: remove it")
        if not all(isinstance(entry, dict) and "sha256" in entry for entry in scores.gold.values()):
            raise TreetokError(f"{path} is damaged: a gold file has no SHA-256; remove it")
        return scores

    def is_of(self, settings: Mapping[str, Any], own_settings: Mapping[str, Any]) -> bool:
        return [self.settings, self.own_settings] == json.loads(json.dumps([settings, own_settings]))

    def on_gold(self, gold: str, what: str) -> Any:
        """What was measured on a gold file; an error if these are the scores of another experiment."""
        entry = self.gold[gold]
        if what not in entry:
            raise TreetokError(f"{self.name}, seed {self.seed}, has no {what} on {gold}: choose other --scores")
        return entry[what]

    def has_gold(self, gold_files: Sequence[FileOfGold]) -> bool:
        return all(self.gold.get(name_of(gold.path), {}).get("sha256") == sha256_of(gold) for gold in gold_files)


def no_number(constant: str) -> None:
    """NaN and Infinity, which JSON does not have and Python reads all the same."""
    raise ValueError(f"{constant} is not a number")


@contextmanager
def named_if_damaged(scores: ModelScores) -> Iterator[None]:
    """What is missing in scores or of the wrong kind is an error that names their file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        file = file_name(scores.name, scores.seed)
        raise TreetokError(f"{file} is damaged ({type(error).__name__}: {error}): remove it") from error


def file_name(name: str, seed: int) -> str:
    """
    >>> file_name("TreeTok build/zh", 0)
    'TreeTok build-zh-seed0.json'
    """
    return f"{name.replace('/', '-')}-seed{seed}.json"


def sha256_of(gold: FileOfGold) -> str:
    return hashlib.sha256(gold.path.read_bytes()).hexdigest()


def load_scores(folder: Path) -> list[ModelScores]:
    """All scores in a folder; an error if their models were not trained alike."""
    for place in (folder, *folder.parents):
        if place.is_file():
            raise TreetokError(f"{place} is a file: scores are kept in a folder")
    paths = sorted(folder.glob("*-seed*.json"))
    scores = [ModelScores.load(path) for path in paths]
    for path, other in zip(paths, scores, strict=True):
        if other.settings != scores[0].settings:
            difference = first_difference(other.settings, scores[0].settings)
            raise TreetokError(f"{path} cannot be compared with {paths[0]}: {difference}; remove one of them")
    return scores


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise an error, before a model is trained, if its scores could not stand beside those in the folder."""
    here = json.loads(json.dumps(settings))
    for of_one in load_scores(folder)[:1]:
        if of_one.settings != here:
            difference = first_difference(of_one.settings, here)
            path = folder / file_name(of_one.name, of_one.seed)
            raise TreetokError(f"{path} is of another training: {difference}; choose other --scores")


def check_gold(folder: Path, gold_files: Sequence[FileOfGold]) -> None:
    """Raise an error if the folder has scores on other files of the same names, which would be replaced."""
    for of_one in load_scores(folder):
        for gold in gold_files:
            entry = of_one.gold.get(name_of(gold.path))
            if entry is not None and entry["sha256"] != sha256_of(gold):
                path = folder / file_name(of_one.name, of_one.seed)
                raise TreetokError(
                    f"{path} is of another {name_of(gold.path)} than {gold.path}: choose other --scores"
                )


def finished_scores(
    folder: Path,
    name: str,
    seed: int,
    settings: Mapping[str, Any],
    own_settings: Mapping[str, Any],
    gold_files: Sequence[FileOfGold],
) -> ModelScores | None:
    """The scores of a model on these gold files, if they are in the folder; an error if they are those of a model
    trained in another way."""
    path = folder / file_name(name, seed)
    if not path.exists():
        return None
    scores = ModelScores.load(path)
    if not scores.is_of(settings, own_settings):
        there = {**scores.settings, **scores.own_settings}
        difference = first_difference(there, json.loads(json.dumps({**settings, **own_settings})))
        raise TreetokError(f"{path} is of another training: {difference}; remove it, or choose other --scores")
    return scores if scores.has_gold(gold_files) else None


# ---- recalls of words


def recalls_of_gold(gold: GoldFile, trees: Mapping[str, Sequence[Sequence[Span]]]) -> dict[str, Any]:
    """The entry of a gold file: the recalls of its words with the trees of each decoding."""
    recalls = {
        decoding: {
            leaves: written_recalls(tree_recall(gold, spans, protocol).by_word)  # type: ignore[arg-type]
            for leaves, protocol in PROTOCOLS.items()
        }
        for decoding, spans in trees.items()
    }
    return {"sha256": sha256_of(gold), "words": len(gold), "recalls": recalls}


def written_recalls(recall: Measurement) -> Written:
    """The values that occur, the first being called a, and a letter for every word.

    >>> written_recalls(Measurement(np.array([[1, 1], [1 / 3, 1], [0, 0], [1, 1]]), share_of_sums))
    {'values': [0.3333, 1.0], 'words': 'ba-b'}
    """
    recalls = [round(value, 4) if counted else None for value, counted in recall.rows.tolist()]
    values = sorted({value for value in recalls if value is not None})
    letter = dict(zip(values, LETTERS, strict=False)) | {None: NOT_COUNTED}
    return {"values": values, "words": "".join(letter[value] for value in recalls)}


def read_recalls(written: Sequence[Written]) -> Measurement:
    """The recall of every word, averaged over models, from what `written_recalls` made of each.

    >>> first, second = {"values": [0.5, 1.0], "words": "ba-"}, {"values": [0.0, 0.5], "words": "ab-"}
    >>> read_recalls([first, second]).rows.tolist()
    [[0.5, 1.0], [0.5, 1.0], [0.0, 0.0]]
    """
    recalls = []
    for of_one in written:
        value = dict(zip(LETTERS, of_one["values"], strict=False)) | {NOT_COUNTED: 0.0}
        recalls.append([value[letter] for letter in of_one["words"]])
    counted = np.array([letter != NOT_COUNTED for letter in written[0]["words"]])
    return Measurement(np.stack([np.mean(recalls, axis=0), counted], axis=1), share_of_sums, counted)


# ---- tables


class GoldTable:
    """The scores of models on one gold file, averaged over seeds."""

    def __init__(self, gold: str, scores: Sequence[ModelScores]) -> None:
        self.gold = gold
        self._recalls: dict[str, list[Recalls]] = {}
        self.seeds: dict[str, list[int]] = {}
        for of_one in sorted(scores, key=lambda of_one: of_one.seed):
            if gold in of_one.gold:
                self._recalls.setdefault(of_one.name, []).append(of_one.on_gold(gold, "recalls"))
                self.seeds.setdefault(of_one.name, []).append(of_one.seed)

    def __contains__(self, name: str) -> bool:
        return name in self._recalls

    def recall(self, name: str, decoding: str, leaves: str) -> Measurement | None:
        """None where the trees of a model are not decoded in this way."""
        of_seeds = [recalls[decoding][leaves] for recalls in self._recalls[name] if decoding in recalls]
        return read_recalls(of_seeds) if of_seeds else None

    def cell(self, name: str, decoding: str, leaves: str) -> str:
        """The recall on all words, with its interval."""
        recall = self.recall(name, decoding, leaves)
        return "-" if recall is None else percent_with_interval(interval(recall))

    def first_words(self, name: str, decoding: str) -> str:
        """The recall as in the released code, with its interval."""
        recall = self.recall(name, decoding, COUNTED)
        if recall is None:
            return "-"
        first = recall.restricted_to(np.arange(len(recall.rows)) < WORDS_IN_RELEASED_CODE)
        return percent_with_interval(interval(first))

    def p_value(self, name: str, other: str, decoding: str) -> str:
        """Of the difference between two models, with leaves dropped."""
        if name == other or other not in self:
            return "-"
        first, second = self.recall(name, decoding, DROPPED), self.recall(other, decoding, DROPPED)
        return "-" if first is None or second is None else written_p(paired_test(first, second).p_value)

    def each_seed(self, name: str, decoding: str) -> str:
        """The recall of every single model with leaves dropped, if there are several."""
        of_seeds = [recalls[decoding][DROPPED] for recalls in self._recalls[name] if decoding in recalls]
        if len(of_seeds) < 2:
            return "-"
        return ", ".join(f"{100 * read_recalls([of_one]).value:.1f}" for of_one in of_seeds)

    def title(self) -> str:
        recalls = next(iter(self._recalls.values()))[0]
        words = next(iter(recalls.values()))[COUNTED]["words"]
        return f"{self.gold}: {len(words) - words.count(NOT_COUNTED)} words with morphemes to be found"


def gold_files(scores: Sequence[ModelScores]) -> dict[str, dict[str, Any]]:
    """What the scores say of each gold file, by its name; an error if there are two of one name."""
    first: dict[str, dict[str, Any]] = {}
    for of_one in scores:
        for gold, entry in of_one.gold.items():
            if entry["sha256"] != first.setdefault(gold, entry)["sha256"]:
                file = file_name(of_one.name, of_one.seed)
                raise TreetokError(f"{file} is of another {gold} than others beside it: remove one or the other")
    return first


def gold_tables(scores: Sequence[ModelScores]) -> list[GoldTable]:
    """One table for each gold file."""
    return [GoldTable(gold, scores) for gold in gold_files(scores)]


def recall_columns(
    table: GoldTable, name: str, reference: str, beside_first_words: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The cells of a model in one table, by heading; p-values are against another model. `beside_first_words` are
    cells to compare the figure of the released code with."""
    return {
        f"{GREEDY_TREES}, {DROPPED}": table.cell(name, GREEDY_TREES, DROPPED),
        "p": table.p_value(name, reference, GREEDY_TREES),
        f"{GREEDY_TREES}, {COUNTED}": table.cell(name, GREEDY_TREES, COUNTED),
        f"{GREEDY_TREES}, first 64": table.first_words(name, GREEDY_TREES),
        **(beside_first_words or {}),
        f"{MBR_TREES}, {DROPPED}": table.cell(name, MBR_TREES, DROPPED),
        f"p, {MBR_TREES}": table.p_value(name, reference, MBR_TREES),
        f"{MBR_TREES}, {COUNTED}": table.cell(name, MBR_TREES, COUNTED),
        f"{MBR_TREES}, first 64": table.first_words(name, MBR_TREES),
        "seeds": str(len(table.seeds[name])),
        f"each seed, {GREEDY_TREES}": table.each_seed(name, GREEDY_TREES),
        f"each seed, {MBR_TREES}": table.each_seed(name, MBR_TREES),
    }


def without_empty_columns(grid: list[list[str]]) -> list[list[str]]:
    """Leaves out columns that say nothing of any model.

    >>> without_empty_columns([["model", "p", "n"], ["a", "-", "1"], ["b", "-", "2"]])
    [['model', 'n'], ['a', '1'], ['b', '2']]
    """
    kept = [at for at in range(len(grid[0])) if any(row[at] != "-" for row in grid[1:])]
    return [[row[at] for at in kept] for row in grid]


def notes_of(scores: Sequence[ModelScores]) -> dict[str, str]:
    """How the models were trained, and how long that took."""
    legend = (
        "morphemes that are spans of the tree, in %, mean over words and seeds, with 95 % intervals over words; p:"
        f" paired permutation test with {DROPPED}. {GREEDY_TREES}: the paper's way to read trees; {MBR_TREES}:"
        " ours. first 64: leaves counted, as in the code released with the paper"
    )
    trained = [of_one for of_one in scores if "steps" in of_one.training]
    if not trained:
        return {"recall": legend}
    first = trained[0]
    seconds = [f"{s.name} {s.training['seconds']:.0f}" for s in trained]
    in_all = sum(s.training["seconds"] for s in trained)
    devices = sorted({s.training["device"] for s in trained})
    return {
        "recall": legend,
        "training": f"{first.training['steps']} steps, {first.training['words_seen']} running words, preset"
        f" {first.settings['preset']}, {first.settings['model']['chart']} charts, profile"
        f" {first.settings['profile'][0]}",
        "text": f"{first.training['words_in_text']} running words, SHA-256 {first.settings['text'][:16]}",
        "seconds of training": f"{', '.join(seconds)}: {in_all:.0f} in all, on {', '.join(devices)}",
        "versions": ", ".join(f"{name} {version}" for name, version in first.versions.items()),
    }

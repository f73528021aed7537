"""The paper's Chinese column: do the trees of clauses have its words as spans?

Composition models with and without MorphOverriding, with complete and with pruned charts, and the neural PCFG are
trained on the stretches of Han characters of a text, each for --seconds. Some, without MorphOverriding, are
trained 3 to 15 times as long, in smaller batches and on shorter stretches, some of which are cut at weak links;
several of these are decoded together, too, once with a language model of pieces. Trees are scored by the words of
sentences (lines "sentence TAB words"), beside trivial trees. Then tokenizers: TreeTok models (--model) made by
`treetok train TEXT --profile lossless`, and baselines trained on the same text (--against). Choices are made on
--dev; the table is that of --test.

The scores of every model are kept beside --out and models in --folder, so that the command can be stopped and
repeated, and models can be added. Without a text, tables are made of the scores that are there.

python experiments/chinese.py zh.txt.xz --dev dev.tsv --test test.tsv --folder build/chinese \\
    --out results/chinese.json
python experiments/chinese.py zh.txt.xz --dev dev.tsv --test test.tsv --only none --model build/zh \\
    --against bpe,unigram --out results/chinese.json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chinese_gold import ROLES, Gold, check_scores, facts_of
from chinese_models import ChineseTraining
from chinese_recipes import PIECES_FACTOR, SEQUENCES, SEQUENCES_OF_LONGER, TREE_MODELS, variants_of
from chinese_tables import boundary_tables, notes_of, recall_tables
from chinese_tokenizers import load_models, score_tokenizers
from chinese_variants import Settings, Variant
from composition_models import versions
from han_text import Span, read_sentences
from lineup_options import folder_name, listed, plain_parser
from model_scores import ModelScores, check_settings, finished_scores, load_scores
from result_files import report_tables
from treetok.cli.script_errors import run
from treetok.corpus.subword_trainers import MAX_VOCAB_SIZE
from treetok.errors import TreetokError
from treetok.evaluate.baselines import DEFAULT_VOCAB_SIZE, TRAINABLE
from treetok.evaluate.texts import name_of
from treetok.evaluate.tree_sources import Balanced, LeftBranching, Random, RightBranching
from treetok.model.device import chosen_device, computing_threads
from treetok.pipeline.count_words import fingerprint
from treetok.pipeline.run_directory import RUN
from treetok.progress import Progress
from treetok.sources import TreeSource, scores_of_words
from treetok.storage.atomic import checked_target
from treetok.tree import walk_spans
from word_boundaries import words_found, written_rows

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tests" / "data" / "chinese_sample.tsv"
QUICK: dict[str, Any] = {"seconds": 0.0, "steps": 4, "sequences": 2, "longest": 8, "vocab_size": 900}
QUICK_SAMPLE = {"morphemes": 600}
RANDOM_TREES, SEEDS_OF_RANDOM_TREES = "random", 10
TRIVIAL_TREES: dict[str, TreeSource] = {
    "left-branching": LeftBranching(),
    "right-branching": RightBranching(),
    "balanced": Balanced(),
}
TOKENIZERS = "tokenizers"
NO_DECODING = "-"
# More of them do not fit into the memory of any machine that we know.
MOST_SEQUENCES = 4096


def main() -> None:
    options = parsed_options()
    gold = {role: read_sentences(path) for role in ROLES if (path := getattr(options, role))}
    models = load_models(options.model)
    tokens_folder = options.scores / TOKENIZERS
    for folder in (options.scores, tokens_folder):
        check_scores(folder, gold)
    planned = planned_training(options, gold) if options.text and (options.only or options.quick) else None
    # Tokenizers first: what is wrong with them is seen before tree models are trained, which may take hours.
    if gold:
        score_tokenizers(options, gold, tokens_folder, models)
    if planned is not None and options.only:
        score_tree_models(planned, options, gold)
    trees, tokens = load_scores(options.scores), load_scores(tokens_folder)
    if not trees and not tokens:
        raise TreetokError("nothing has been scored yet: name a text to train on, and --dev and --test")
    tables = [*recall_tables(trees, Progress(True)), *boundary_tables(tokens)]
    report_tables(options.out, "Words of Chinese (Table 3)", tables, notes_of(trees, tokens))


# ---- options


def parsed_options() -> argparse.Namespace:
    parser = plain_parser(__doc__)
    parser.add_argument("text", nargs="*", type=Path, help="text to train on")
    parser.add_argument("--dev", type=Path, help="sentences and their words, for choices")
    parser.add_argument("--test", type=Path, help="sentences and their words, for the table")
    parser.add_argument("--folder", type=folder_name, help="where checkpoints and models are kept")
    parser.add_argument("--scores", type=folder_name, help="where scores are kept (default: chinese beside --out)")
    parser.add_argument(
        "--only", help=f"models to train, separated by commas, of {', '.join(TREE_MODELS)}; or none (default: all)"
    )
    parser.add_argument(
        "--seconds", type=float, default=80.0, help="of training a model (default: 80); 0: no limit"
    )
    parser.add_argument("--steps", type=int, default=0, help="of training, if fewer than fit into --seconds")
    parser.add_argument("--longest", type=int, default=20, help="cut longer stretches of the text (default: 20)")
    parser.add_argument(
        "--morphemes",
        type=int,
        default=20_000,
        help="with characters; some models have 0.6 to 4 times as many (default: 20000)",
    )
    parser.add_argument(
        "--sequences",
        type=int,
        help=f"of a batch (default: {SEQUENCES['complete']}, {SEQUENCES['pruned']} with pruned charts, and"
        f" {SEQUENCES_OF_LONGER} for models that are trained longer)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--model", action="append", default=[], help="a TreeTok tokenizer; may be repeated")
    parser.add_argument("--against", default="", help="baselines to train, as in bpe,unigram")
    parser.add_argument("--vocab-size", type=int, default=DEFAULT_VOCAB_SIZE, help="of the baselines")
    parser.add_argument("--quick", action="store_true", help="tiny models on sentences of the project, in seconds")
    options = parser.parse_args()
    if options.folder is not None:
        checked_target(options.folder, (), RUN)
    if options.quick:
        # Options that are given count for more.
        parser.set_defaults(**QUICK, **({} if options.text else QUICK_SAMPLE))
        options = parser.parse_args()
        use_sample(options)
    options.only = chosen_models(options)
    check_numbers(options)
    options.scores = options.scores or options.out.parent / "chinese"
    check_out(options)
    if options.text and options.only and options.folder is None:
        raise TreetokError("models are kept in a folder while they are trained: --folder FOLDER")
    if options.dev and options.test and name_of(options.dev) == name_of(options.test):
        raise TreetokError("--dev and --test have the same name, by which they are told apart")
    options.against = listed(options.against)
    for name in options.against:
        if name not in TRAINABLE:
            raise TreetokError(f"unknown baseline {name!r} in --against: choose {', '.join(TRAINABLE)}")
    if options.against and not options.text:
        raise TreetokError("baselines need a text to be trained on")
    if (options.text or options.model) and not (options.dev or options.test):
        raise TreetokError("models are scored on sentences: --dev FILE, --test FILE")
    return options


def chosen_models(options: argparse.Namespace) -> list[str]:
    """The models to train, by --only."""
    if options.only is None:
        return list(TREE_MODELS)
    names = listed(options.only)
    if names == ["none"]:
        return []
    if not names:
        raise TreetokError(f"--only names no model: choose {', '.join(TREE_MODELS)}, or none")
    for name in names:
        if name not in TREE_MODELS:
            raise TreetokError(f"unknown model {name!r} in --only: choose {', '.join(TREE_MODELS)}, or just none")
    if not options.text:
        raise TreetokError("--only names models to train, which needs a text; tables are made of all scores")
    return names


def check_out(options: argparse.Namespace) -> None:
    """The result cannot take the place of a folder that will be needed."""
    folders = {options.scores, options.scores / TOKENIZERS}
    if options.folder is not None:
        folders |= {options.folder / name for name in TREE_MODELS}
    resolved = {folder.resolve() for folder in folders}
    if options.out.resolve() in resolved.union(*(folder.parents for folder in resolved)):
        raise TreetokError(f"{options.out} is a folder of scores or models: choose another --out")


def check_numbers(options: argparse.Namespace) -> None:
    most = {
        "sequences": MOST_SEQUENCES,
        "morphemes": MAX_VOCAB_SIZE // PIECES_FACTOR,
        "vocab_size": MAX_VOCAB_SIZE,
    }
    for name, limit in most.items():
        number = getattr(options, name)
        if number is not None and not 1 <= number <= limit:
            raise TreetokError(f"--{name.replace('_', '-')} must be from 1 to {limit}, not {number}")


def use_sample(options: argparse.Namespace) -> None:
    """The sentences of the project as text and gold."""
    options.test = options.test or SAMPLE
    if not options.text:
        if options.folder is None:
            raise TreetokError("--quick needs a folder, too: --folder FOLDER")
        options.folder.mkdir(parents=True, exist_ok=True)
        text = options.folder / "sample.txt"
        text.write_text("\n".join(s.text for s in read_sentences(SAMPLE).sentences) + "\n", encoding="utf-8")
        options.text = [text]


# ---- trees


@dataclass(frozen=True)
class PlannedTraining:
    """
    shared: what the scores of all models have in common.
    missing: the models that have no scores yet.
    """

    settings: Settings
    shared: dict[str, Any]
    missing: dict[str, Variant]
    device: str


def planned_training(options: argparse.Namespace, gold: Gold) -> PlannedTraining:
    """What is to be trained; an error if scores that are there are of another training."""
    settings = Settings(options.longest, options.seconds, options.steps, options.seed)
    shared = {"text": fingerprint(options.text), **asdict(settings)}
    check_settings(options.scores, shared)

    def is_missing(name: str, variant: Variant) -> bool:
        own, files = variant.own_settings(settings), list(gold.values())
        return finished_scores(options.scores, name, settings.seed, shared, own, files) is None

    variants = variants_of(options).items()
    missing = {name: variant for name, variant in variants if name in options.only and is_missing(name, variant)}
    # Scores that are there need no device.
    return PlannedTraining(settings, shared, missing, chosen_device(options.device) if missing else "cpu")


def score_tree_models(planned: PlannedTraining, options: argparse.Namespace, gold: Gold) -> None:
    """Train and score the models that have no scores yet, and score trivial trees."""
    settings, shared, device, folder = planned.settings, planned.shared, planned.device, options.scores
    training = ChineseTraining(options.text, shared["text"], settings, options.folder, device)
    for name, variant in planned.missing.items():
        before, began = training.seconds, time.monotonic()
        trained = training.train(name, variant)
        prepared_and_trained, began = time.monotonic() - began, time.monotonic()
        with computing_threads(device, None):
            entries = tree_entries(gold, {decoding: [source] for decoding, source in trained.trees.items()})
        decoded = time.monotonic() - began
        figures = {**trained.figures, "seconds_of_decoding": round(decoded, 1)}
        own_settings = variant.own_settings(settings)
        ModelScores(name, settings.seed, shared, own_settings, figures, versions(), entries).save(folder)
        # Of this model, and of members of an ensemble that were not there.
        in_training = training.seconds - before
        print(
            f"{name}: {in_training:.0f} s of training, {decoded:.0f} s of decoding and scoring,"
            f" {prepared_and_trained - in_training:.0f} s of all else, on {trained.figures['device']}",
            flush=True,
        )
    seeds = range(SEEDS_OF_RANDOM_TREES)
    trivial: dict[str, list[TreeSource]] = {name: [source] for name, source in TRIVIAL_TREES.items()}
    trivial[RANDOM_TREES] = [Random(seed) for seed in seeds]
    for name, sources in trivial.items():
        entries = tree_entries(gold, {NO_DECODING: sources})
        ModelScores(name, settings.seed, shared, {}, {}, versions(), entries).save(folder)


def tree_entries(gold: Gold, sources: Mapping[str, Sequence[TreeSource]]) -> dict[str, Any]:
    """What a file of scores says of each gold file: rows of `words_found` by decoding and convention, each of them
    the mean over several sources."""
    stretches = list(dict.fromkeys(stretch for file in gold.values() for stretch in file.stretches))
    spans = {decoding: [spans_of_trees(s, stretches) for s in several] for decoding, several in sources.items()}
    return {
        name_of(file.path): {
            **facts_of(role, file),
            "rows": {
                decoding: mean_rows([words_found(file.sentences, of_one) for of_one in several])
                for decoding, several in spans.items()
            },
        }
        for role, file in gold.items()
    }


def spans_of_trees(source: TreeSource, stretches: Iterable[str]) -> dict[str, frozenset[Span]]:
    spans = {stretch: frozenset([(0, 1)]) for stretch in stretches if len(stretch) == 1}
    scores = scores_of_words(source, [stretch for stretch in stretches if len(stretch) > 1])
    return spans | {
        stretch: frozenset((start, end) for start, end, _ in walk_spans(of_one))
        for stretch, of_one in scores.items()
    }


def mean_rows(several: Sequence[Mapping[str, Sequence[Sequence[int]]]]) -> dict[str, str]:
    return {kind: written_rows(np.mean([rows[kind] for rows in several], axis=0).tolist()) for kind in several[0]}


if __name__ == "__main__":
    run(main)

"""Translation from English to German with different tokenizers: BLEU and chrF of small Transformers.

All systems are trained from scratch on the same sentence pairs in the same batches. The steps can be run on
different machines: --prepare (splits the pairs, trains the tokenizers, encodes; writes to --folder), --train (on a
GPU; needs nothing but FOLDER/pairs.npz, and adds to the file of translations) and --score (needs sacreBLEU).
Without any of these, all is done that is not done yet. A system and seed whose translations are there is not
trained again. --quick is a tiny model on made-up sentences, in seconds.

python experiments/translation.py --data ende --german-trees de --folder translation --out results/translation.json
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineup_options import folder_name, listed, plain_parser
from result_files import report_tables
from transformer_translation.encoded_pairs import EncodedPairs
from transformer_translation.made_up_pairs import write_made_up_pairs
from transformer_translation.parallel_text import LANGUAGES
from transformer_translation.prepare import PAIRS, TEXTS, TOKENIZERS, prepare
from transformer_translation.subwords import load_subwords
from treetok import TreeTokenizer
from treetok.cli.script_errors import run
from treetok.corpus.subword_trainers import MAX_VOCAB_SIZE
from treetok.errors import TreetokError, share
from treetok.storage.atomic import checked_target

if TYPE_CHECKING:
    from transformer_translation.translate import Experiment

# The tokenizers of English and German; the first system is the one that others are compared with.
SYSTEMS = {
    "BPE": ("bpe", "bpe"),
    "TreeTok": ("treetok", "treetok"),
    "TreeTok for German only": ("bpe", "treetok"),
}
TRANSLATIONS = "translations.jsonl"
# The least and the largest values of options.
RANGES = {
    "held_out_sentences": (0, 1_000_000),
    "most_bytes": (1, 1_000_000),
    "vocab_size": (1, MAX_VOCAB_SIZE),
    "layers": (1, 64),
    "dimension": (1, 8192),
    "heads": (1, 128),
    "feed_forward": (1, 65_536),
    "epochs": (1, 10_000),
    "bytes_per_step": (1, 1_000_000_000),
    "beam": (1, 1000),
    "seeds": (1, 1000),
    "jobs": (1, 1000),
    "resamples": (1, 1_000_000),
}
QUICK: dict[str, Any] = {
    "training_sets": "captions,sentences",
    "development_set": "development",
    "test_sets": "test",
    "held_out_from": "sentences",
    "held_out_sentences": 40,
    "vocab_size": 350,
    "german_trees": "counts",
    "layers": 1,
    "dimension": 64,
    "feed_forward": 128,
    "dropout": 0.1,
    "epochs": 12,
    "bytes_per_step": 2500,
    "learning_rate": 4e-3,
    "seeds": 2,
    "device": "cpu",
}


def main() -> None:
    options = parsed_options()
    steps = ("prepare", "train", "score")
    steps = tuple(step for step in steps if getattr(options, step)) or steps
    # All that can be wrong is looked at before any work is done.
    check_numbers(options)
    if "prepare" in steps:
        check_preparation(options)
    if "train" in steps:
        check_training(options)
    if options.quick and options.data == made_up_data(options):
        write_made_up_pairs(options.data)
    if "prepare" in steps:
        prepare(options)
    if "train" in steps:
        train_missing(options)
    if "score" in steps:
        score(options)


def parsed_options() -> argparse.Namespace:
    parser = plain_parser(__doc__)
    parser.add_argument(
        "--folder", type=folder_name, required=True, help="where everything but the result is kept"
    )
    parser.add_argument(
        "--translations", type=Path, help=f"the file of translations (default: FOLDER/{TRANSLATIONS})"
    )
    steps = parser.add_argument_group("steps").add_mutually_exclusive_group()
    steps.add_argument("--prepare", action="store_true", help="only split and encode the pairs")
    steps.add_argument("--train", action="store_true", help="only train and translate")
    steps.add_argument("--score", action="store_true", help="only score the translations that are there")
    text = parser.add_argument_group("text")
    text.add_argument("--data", type=Path, help="folder with NAME.en and NAME.de, which may be compressed")
    text.add_argument("--training-sets", default="multi30k_train,tatoeba", metavar="NAMES")
    text.add_argument("--development-set", default="multi30k_val", metavar="NAME")
    text.add_argument(
        "--test-sets", default="multi30k_test_2016_flickr,multi30k_test_2017_flickr", metavar="NAMES"
    )
    text.add_argument(
        "--held-out-from", default="tatoeba", metavar="NAME", help="a training set to hold out a test of"
    )
    text.add_argument("--held-out-sentences", type=int, default=1000, help="(default: 1000); 0 holds out none")
    text.add_argument(
        "--most-bytes", type=int, default=500, help="leave out longer training sentences (default: 500)"
    )
    tokenizers = parser.add_argument_group("tokenizers")
    tokenizers.add_argument("--vocab-size", type=int, default=8000, help="of each language (default: 8000)")
    tokenizers.add_argument("--alignment", type=float, help="of TreeTok (default: that of treetok train)")
    tokenizers.add_argument("--english-trees", default="en", help="tokenizer with the trees to use (default: en)")
    tokenizers.add_argument("--german-trees", help="tokenizer with the trees to use, or counts")
    for language in LANGUAGES:
        tokenizers.add_argument(
            f"--tokenizer-text-{language}",
            type=Path,
            action="append",
            default=[],
            help="train both tokenizers on this as well; may be repeated",
        )
    model = parser.add_argument_group("model and training")
    model.add_argument("--layers", type=int, default=4, help="of the encoder, and of the decoder (default: 4)")
    model.add_argument("--dimension", type=int, default=256)
    model.add_argument("--heads", type=int, default=4)
    model.add_argument("--feed-forward", type=int, default=1024)
    model.add_argument("--dropout", type=float, default=0.3)
    model.add_argument("--epochs", type=int, default=20, help="passes over the training pairs (default: 20)")
    model.add_argument("--bytes-per-step", type=int, default=120_000, help="of both languages")
    model.add_argument("--learning-rate", type=float, default=1e-3)
    model.add_argument("--beam", type=int, default=4, help="width of beam search (default: 4)")
    model.add_argument("--seeds", type=int, default=3, help="models of each system (default: 3)")
    model.add_argument("--jobs", type=int, default=1, help="models trained at the same time (default: 1)")
    model.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--resamples", type=int, default=1000, help="of the bootstrap (default: 1000)")
    parser.add_argument("--quick", action="store_true", help="a tiny model on made-up sentences")
    given = parser.parse_args()
    if given.quick:
        # Options that are given count for more.
        parser.set_defaults(**QUICK)
        given = parser.parse_args()
        given.data = given.data or made_up_data(given)
    given.translations = given.translations or given.folder / TRANSLATIONS
    return given


def made_up_data(options: argparse.Namespace) -> Path:
    folder: Path = options.folder
    return folder / "made-up"


# ---- checks


def check_numbers(options: argparse.Namespace) -> None:
    for name, (least, largest) in RANGES.items():
        if not least <= (number := getattr(options, name)) <= largest:
            raise TreetokError(f"--{name.replace('_', '-')} must be from {least} to {largest}, not {number}")
    if options.alignment is not None:
        share("--alignment", options.alignment, may_be_one=True, may_be_zero=True)


def check_preparation(options: argparse.Namespace) -> None:
    checked_target(options.folder, (), PAIRS)
    for trees in (options.english_trees, options.german_trees):
        if trees not in (None, "counts", "neural"):
            TreeTokenizer.load(trees)
    sets = listed(options.training_sets)
    if options.data is not None and options.held_out_sentences and options.held_out_from not in sets:
        raise TreetokError(
            f"--held-out-from must be one of --training-sets ({', '.join(sets)}), not {options.held_out_from!r};"
            f" --held-out-sentences 0 holds out none"
        )


def check_training(options: argparse.Namespace) -> None:
    from treetok.model.device import chosen_device

    chosen_device(options.device)
    check_translations_file(options.translations)
    # Settings of the network and of training are checked where they are made.
    experiments(options)


def check_translations_file(file: Path) -> None:
    """Translations are added to it after every training, and read again."""
    if file.exists() and not (file.is_file() and os.access(file, os.W_OK)):
        raise TreetokError(f"--translations must be a file that can be written, or not be there yet, not {file}")
    checked_target(file.parent, (), file.name)


# ---- training and translating


def experiments(options: argparse.Namespace) -> list[Experiment]:
    """All systems and seeds: seed by seed, so that all systems have as many models if time runs out."""
    from transformer_translation.network import NetworkConfig
    from transformer_translation.training import TrainingConfig
    from transformer_translation.translate import Experiment, SearchConfig

    network, training = settings_in(options, NetworkConfig), settings_in(options, TrainingConfig)
    return [
        Experiment(name, *kinds, seed, network, training, SearchConfig(options.beam))
        for seed in range(options.seeds)
        for name, kinds in SYSTEMS.items()
    ]


def settings_in(options: argparse.Namespace, config: Any) -> Any:
    """A dataclass of settings, from the options of the same names."""
    names = config.__dataclass_fields__
    return config(**{name: value for name, value in vars(options).items() if name in names})


def train_missing(options: argparse.Namespace) -> None:
    from transformer_translation.translate import add_translations, finished_translations
    from treetok.model.device import chosen_device, explained_memory_errors

    pairs = EncodedPairs.load(options.folder / PAIRS)
    finished = finished_translations(options.translations)
    missing = [experiment for experiment in experiments(options) if experiment.identity(pairs) not in finished]
    device = chosen_device(options.device)
    advice = "try smaller --bytes-per-step, --dimension, --feed-forward, --layers, --beam or --jobs"
    with explained_memory_errors(advice):
        add_translations(options.translations, trained_one_by_one(missing, options, device))


def trained_one_by_one(
    missing: list[Experiment], options: argparse.Namespace, device: str
) -> Iterator[dict[str, Any]]:
    """What came out of each experiment, as soon as it is there. Small models leave most of a GPU idle: several
    processes share it."""
    from transformer_translation.translate import train_and_translate

    arguments = (options.folder / PAIRS, device)
    if options.jobs == 1:
        for experiment in missing:
            yield reported(train_and_translate(experiment, *arguments))
        return
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(train_and_translate, e, *arguments) for e in missing]):
            yield reported(future.result())


def reported(result: dict[str, Any]) -> dict[str, Any]:
    print(
        f"{result['name']}, seed {result['seed']}: {result['steps']} steps in {result['training_seconds']:.0f} s,"
        f" translated in {result['translation_seconds']:.0f} s on {result['device']};"
        f" {min(result['bits_per_byte']):.4f} bits per byte of development text, epoch {result['best_epoch']}",
        flush=True,
    )
    return result


# ---- scores


def score(options: argparse.Namespace) -> None:
    from transformer_translation.scores import METRICS, SentenceCounts, compare
    from transformer_translation.tables import grid_of_scores, grid_of_training, notes
    from transformer_translation.translate import finished_translations

    pairs = EncodedPairs.load(options.folder / PAIRS)
    texts = json.loads((options.folder / TEXTS).read_text(encoding="utf-8"))
    finished = finished_translations(options.translations)
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in SYSTEMS}
    for experiment in experiments(options):
        result = finished.get(experiment.identity(pairs))
        if result is None:
            raise TreetokError(f"there are no translations by {experiment.name}, seed {experiment.seed}, yet")
        results[experiment.name].append(result)
    translations = {
        name: [decoded(result, pairs.tests, options.folder) for result in of_seeds]
        for name, of_seeds in results.items()
    }
    references = [german for test in pairs.tests for _, german in texts["tests"][test]]
    places, start = {}, 0
    for test in pairs.tests:
        places[test] = slice(start, start := start + len(texts["tests"][test]))
    places["all"] = slice(0, start)
    tables, signatures = [], []
    for metric in METRICS:
        counts = {
            name: [SentenceCounts(metric, sentences, references) for sentences in of_seeds]
            for name, of_seeds in translations.items()
        }
        of_places = {place: compare(counts, where, options.resamples) for place, where in places.items()}
        each_seed = {name: [c.score() for c in of_seeds] for name, of_seeds in counts.items()}
        tables.append({"title": metric, "grid": grid_of_scores(of_places, each_seed)})
        signatures.append(next(iter(counts.values()))[0].signature)
    tables.append({"title": "Tokens and training", "grid": grid_of_training(results, pairs)})
    report_tables(options.out, "Translation", tables, notes(texts, results, options.resamples, signatures))


def decoded(result: dict[str, Any], tests: list[str], folder: Path) -> list[str]:
    """The translations of all tests as text."""
    subwords = load_subwords(folder / TOKENIZERS, "de", result["german"])
    return [subwords.decode(ids).strip() for test in tests for ids in result["translations"][test]]


if __name__ == "__main__":
    run(main)

"""Language models pretrained with different tokenizers: bits per byte of held-out text.

GPT-2-style models from scratch, one pass over the same text for all. The steps can be run on different machines:
--prepare (trains the baselines, segments all words; writes to --folder) and --train (on a GPU; needs the texts and
--folder). Without either, all is done that is not done yet, and tables are made of the runs that are there. A
model whose run is in --runs is not trained again. --quick is a tiny model on the text of the project, in seconds;
it needs a --folder, too.

python experiments/pretraining.py --model en --baseline bpe:32000 --baseline unigram:32000 \\
    --tokenizer-text corpus.txt.xz --train-text corpus.txt.xz --text news.txt --folder build/pretraining \\
    --size small --seeds 3 --out results/pretraining.json
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gpt_pretraining.documents import documents_of, first_bytes, hash_of, training_parts
from gpt_pretraining.frequencies import frequency_mismatch
from gpt_pretraining.network import NetworkConfig
from gpt_pretraining.plot import draw
from gpt_pretraining.prepare import prepare
from gpt_pretraining.runs import PretrainingRun, finished_run, label, load_runs, run_name
from gpt_pretraining.scoring import nats_of_texts
from gpt_pretraining.tables import notes, tables
from gpt_pretraining.token_stream import NumberedTexts, number_words
from gpt_pretraining.token_tables import TokenTable, load_tables, load_words
from gpt_pretraining.training import TrainingConfig, train
from lineup_options import QUICK_FILES, check_names, folder_name, plain_parser, result_file
from result_files import report_tables
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.plot import check_matplotlib
from treetok.evaluate.texts import name_of
from treetok.model.device import chosen_device, computing_threads, explained_memory_errors, free_memory
from treetok.progress import Progress


@dataclass(frozen=True)
class Size:
    """A model, its training, and how much text it is trained on."""

    network: NetworkConfig
    training: TrainingConfig
    megabytes: float


SIZES = {
    "small": Size(NetworkConfig(6, 512, 512), TrainingConfig(1e-3, 73_728), 64.0),
    "gpt2": Size(NetworkConfig(12, 768, 1024), TrainingConfig(6e-4, 147_456), 200.0),
    "tiny": Size(NetworkConfig(1, 32, 32), TrainingConfig(1e-2, 1024), 0.02),
}


def main() -> None:
    options = parsed_options()
    sizes = {
        name: SIZES[name] if options.megabytes is None else replace(SIZES[name], megabytes=options.megabytes)
        for name in options.size
    }
    runs = options.runs or options.out.parent / "pretraining"
    if options.plot:
        check_matplotlib()
    if options.train_text:
        check_places(options, runs)
        if not options.prepare:
            chosen_device(options.device)
    if options.train_text and not options.train:
        prepare(options, max(map(bytes_of, sizes.values())))
    if options.train or not options.prepare:
        train_missing(options, sizes, runs)
    if options.prepare:
        return
    found = load_runs(runs)
    if not found:
        raise TreetokError("no model has been trained yet: name texts with --train-text and --text")
    report_tables(options.out, "Pretraining", tables(found), notes(found))
    if options.plot:
        draw(options.plot, found)


def parsed_options() -> argparse.Namespace:
    parser = plain_parser(__doc__)
    steps = parser.add_argument_group("steps").add_mutually_exclusive_group()
    steps.add_argument("--prepare", action="store_true", help="only train baselines and segment words")
    steps.add_argument("--train", action="store_true", help="only train the models of what is prepared")
    parser.add_argument("--folder", type=folder_name, help="where tables of words are kept")
    parser.add_argument(
        "--runs", type=folder_name, help="where results are kept (default: pretraining beside --out)"
    )
    parser.add_argument(
        "--train-text", action="append", type=Path, default=[], help="text for the models; may be repeated"
    )
    parser.add_argument("--text", action="append", type=Path, default=[], help="held-out text; may be repeated")
    parser.add_argument("--model", action="append", default=[], help="a TreeTok tokenizer; may be repeated")
    parser.add_argument(
        "--baseline", action="append", default=[], metavar="NAME:SIZE", help="bpe:32000; may be repeated"
    )
    parser.add_argument(
        "--tokenizer-text", action="append", type=Path, default=[], help="text for baselines; may be repeated"
    )
    parser.add_argument(
        "--size", action="append", choices=SIZES, help="of the models; may be repeated (default: small)"
    )
    parser.add_argument("--megabytes", type=float, help="of text, if not as many as belong to --size")
    parser.add_argument("--seeds", type=int, default=1, help="models of each tokenizer (default: 1)")
    parser.add_argument("--only", help="tokenizers to train with, as in TreeTok-en-32002,BPE-32000")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--plot", type=result_file, metavar="SVG", help="where to draw the curves of training")
    parser.add_argument("--quick", action="store_true", help="a tiny model on the text of the project, in seconds")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {options.seeds}")
    if options.megabytes is not None and not 0 < options.megabytes < math.inf:
        parser.error(f"--megabytes must be above 0 and finite, not {options.megabytes:g}")
    if options.quick:
        options.train_text = options.train_text or QUICK_FILES["train_text"]
        options.tokenizer_text = options.tokenizer_text or QUICK_FILES["train_text"]
        options.text = options.text or QUICK_FILES["text"]
        options.model = options.model or ["en"]
        options.baseline = options.baseline or ["bpe:500"]
        options.size = options.size or ["tiny"]
    options.size = list(dict.fromkeys(options.size or ["small"]))
    if options.train_text and options.folder is None:
        parser.error("tables of words are kept in a folder: --folder FOLDER")
    if (options.prepare or options.train) and not options.train_text:
        parser.error("there is nothing to be done without a text: --train-text FILE")
    if options.train_text and not options.text:
        parser.error("models are measured on held-out text: --text FILE")
    check_names(options.text)
    return options


def check_places(options: argparse.Namespace, runs: Path) -> None:
    """Better now than when a model has been trained."""
    folders = [runs, options.out.parent]
    if not options.train:
        folders.append(options.folder)
    if options.plot:
        folders.append(options.plot.parent)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


# ---- training


def bytes_of(size: Size) -> int:
    return round(size.megabytes * 1e6)


def train_missing(options: argparse.Namespace, sizes: Mapping[str, Size], folder: Path) -> None:
    """Train the models that are not there yet: seed by seed, so that all tokenizers have as many if time runs
    out."""
    if not options.train_text:
        return
    words = load_words(options.folder)
    chosen = chosen_tables(options, words)
    held_out = {name_of(path): documents_of(path) for path in options.text}
    for name, documents in held_out.items():
        if not documents:
            raise TreetokError(f"the held-out text {name} is empty")
    all_texts = training_parts(options.train_text, max(map(bytes_of, sizes.values())))
    if not all_texts:
        raise TreetokError("there is no text to train on")

    @cache
    def numbered() -> tuple[NumberedTexts, NumberedTexts]:
        """All texts for training, and all that are held out. Processes are forked: this is done only if a model is
        missing, and once, before anything is on a GPU."""
        of_held_out = [text for texts in held_out.values() for text in texts]
        return number_words(all_texts, words), number_words(of_held_out, words)

    for size_name, size in sizes.items():
        texts = first_bytes(all_texts, bytes_of(size))
        settings = {
            "batches": "as many steps for every tokenizer",
            "network": asdict(size.network),
            "training": asdict(size.training),
            "text": hash_of(texts),
            "held_out": {name: hash_of(documents) for name, documents in held_out.items()},
            "held_out_bytes": {
                name: [len(document.encode()) for document in documents] for name, documents in held_out.items()
            },
        }
        for seed, table in itertools.product(range(options.seeds), chosen):
            name = run_name(table.name, table.entries, size_name, seed)
            if finished_run(folder, name, settings, table.sha256) is None:
                training, scoring = numbered()
                training = training.part(slice(0, len(texts)))
                one = trained_run(table, seed, size_name, size, training, scoring, settings, options)
                one.save(folder)
                print(described(one), flush=True)


def chosen_tables(options: argparse.Namespace, words: Sequence[str]) -> list[TokenTable]:
    found = load_tables(options.folder, words)
    if options.only is None:
        return found
    by_label = {label(table.name, table.entries): table for table in found}
    for name in (names := list(map(str.strip, options.only.split(",")))):
        if name not in by_label:
            raise TreetokError(f"no table of {name!r} in {options.folder}: there are {', '.join(by_label)}")
    return [by_label[name] for name in dict.fromkeys(names)]


def trained_run(
    table: TokenTable,
    seed: int,
    size_name: str,
    size: Size,
    texts: NumberedTexts,
    held_out: NumberedTexts,
    settings: dict[str, Any],
    options: argparse.Namespace,
) -> PretrainingRun:
    from composition_models import device_name

    device = chosen_device(options.device)
    with computing_threads(device, None), explained_memory_errors("try another --size"):
        with Progress(True).stage(f"{table.name}, {size_name}, seed {seed}", None, "steps") as stage:
            trained = train(
                table, texts, size.network, size.training, seed, device, lambda step, steps: stage.at(step)
            )
        nats = nats_of_texts(trained.model, held_out, table, device).round(1)
    places = places_of(settings["held_out_bytes"])
    of_texts = {name: nats[place].tolist() for name, place in places.items()}
    figures = {
        **trained.figures,
        "device": device_name(device),
        "frequency_mismatch": mismatches(table, texts, held_out, places),
    }
    curve = trained.curve
    del trained
    free_memory(device)
    return PretrainingRun(
        table.name, table.entries, table.sha256, size_name, seed, settings, figures, curve, of_texts
    )


def places_of(documents: Mapping[str, Sequence[Any]]) -> dict[str, slice]:
    """Where the documents of each text are among all.

    >>> places_of({"a": "xyz", "b": "z"})
    {'a': slice(0, 3, None), 'b': slice(3, 4, None)}
    """
    ends = np.cumsum([len(of_text) for of_text in documents.values()]).tolist()
    return {
        name: slice(end - len(of_text), end) for (name, of_text), end in zip(documents.items(), ends, strict=True)
    }


def mismatches(
    table: TokenTable, texts: NumberedTexts, held_out: NumberedTexts, places: Mapping[str, slice]
) -> dict[str, float]:
    training = texts.stream(table)
    return {
        name: round(frequency_mismatch(training, part.stream(table), int(part.sizes.sum())), 4)
        for name, part in ((name, held_out.part(place)) for name, place in places.items())
    }


def described(one: PretrainingRun) -> str:
    figures = one.figures
    nats = sum(map(sum, one.nats.values()))
    of_bytes = sum(map(sum, one.settings["held_out_bytes"].values()))
    speed = f", {figures['flops'] / figures['seconds'] / 1e12:.2g} TFLOP/s" if figures["seconds"] else ""
    return (
        f"{one.name}: {figures['steps']} steps in {figures['seconds']:.0f} s{speed} on {figures['device']};"
        f" {nats / np.log(2) / of_bytes:.4f} bits per byte"
    )


if __name__ == "__main__":
    run(main)

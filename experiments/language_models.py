"""Bits per byte of held-out texts under small language models, one for each tokenizer and seed.

All models see the same sentences in the same batches. Texts are compared sentence by sentence, with the mean over
seeds. What was measured with each model is kept beside --out, so that the command can be stopped and repeated.

python experiments/language_models.py --model en --against bpe,unigram --train-text corpus.txt.xz \\
    --text news.txt --text code.txt --seeds 3 --out results/language_models.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lineup_options import add_text, check_names, lineup_of, lineup_parser, parsed_lineup
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import paired_test
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums
from treetok.evaluate.perplexity import PerplexityConfig, measure_likelihood
from treetok.evaluate.report import stated_p
from treetok.evaluate.texts import HeldOutText, first_sentences, read_text
from treetok.model.device import chosen_device, explained_memory_errors
from treetok.progress import Progress
from whole_file import write_whole

# Of a tokenizer: one row per seed, one column per sentence of all texts.
Nats = npt.NDArray[np.float64]

LARGEST = {"characters": 10_000_000_000, "seeds": 1000}


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,unigram")
    add_text(parser)
    parser.add_argument(
        "--lm-text", action="append", type=Path, help="text for the models, if not --train-text; may be repeated"
    )
    parser.add_argument("--characters", type=int, default=40_000_000, help="how much of it (default: 40 million)")
    parser.add_argument("--seeds", type=int, default=3, help="models for each tokenizer (default: 3)")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--device", default="auto")
    options = parsed_lineup(parser, against="", characters=1000, layers=1, dimension=16, seeds=1, device="cpu")
    check_numbers(options)
    chosen_device(options.device)
    config = PerplexityConfig(
        layers=options.layers,
        dimension=options.dimension,
        characters=options.characters,
        device=options.device,
    )
    check_names(options.text)
    texts = [read_text(path) for path in options.text]
    train = first_sentences(options.lm_text or options.train_text, options.characters)
    lineup = lineup_of(options)
    rows: dict[str, list[list[float]]] = {tokenizer.name: [] for tokenizer in lineup.tokenizers}
    # Seed by seed, so that all tokenizers have as many models if time runs out.
    for seed in range(options.seeds):
        for tokenizer in lineup.tokenizers:
            of_seed = nats_of_sentences(tokenizer, train, texts, replace(config, seed=seed), options.out)
            rows[tokenizer.name].append(of_seed)
    grid, notes = table({name: np.array(of_one) for name, of_one in rows.items()}, texts)
    size = f"{options.layers} layers, {options.dimension} dimensions, {options.characters} characters"
    report_grid(options.out, "Language models", grid, {"language models": size, **notes, **lineup.notes})


def check_numbers(options: argparse.Namespace) -> None:
    for name, largest in LARGEST.items():
        if not 1 <= (number := getattr(options, name)) <= largest:
            raise TreetokError(f"--{name} must be from 1 to {largest}, not {number}")


def nats_of_sentences(
    tokenizer: EvalTokenizer, train: list[str], texts: list[HeldOutText], config: PerplexityConfig, out: Path
) -> list[float]:
    """The nats of each sentence under one model: from its file, or else by training it."""
    from composition_models import device_name

    held_out = [sentence for text in texts for sentence in text.sentences]
    sample = [tokenizer.tokenize(sentence) for sentence in held_out[:: max(1, len(held_out) // 100)]]
    identity = repr((config, hash_of(train), hash_of(held_out), sample))
    path = out.with_suffix("") / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"
    if not path.exists():
        title = f"{tokenizer.name}, seed {config.seed}"
        with (
            explained_memory_errors("try smaller --dimension or --layers"),
            Progress(True).stage(title, None, "steps") as stage,
        ):
            likelihood = measure_likelihood(tokenizer, train, held_out, config, lambda step, steps: stage.at(step))
        write_whole(path, json.dumps({"tokenizer": tokenizer.name, "seed": config.seed, "nats": likelihood.nats}))
        device = device_name(chosen_device(config.device))
        print(f"{title}: {likelihood.steps} steps, {likelihood.seconds:.0f} s on {device}", flush=True)
    nats: list[float] = json.loads(path.read_text())["nats"]
    return nats


def hash_of(sentences: list[str]) -> str:
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest()


def table(nats: dict[str, Nats], texts: list[HeldOutText]) -> tuple[list[list[str]], dict[str, str]]:
    """Bits per byte of each text and of all, with the p-value against the first tokenizer."""
    sizes = np.array([len(sentence.encode()) for text in texts for sentence in text.sentences], dtype=np.float64)
    ends = np.cumsum([len(text.sentences) for text in texts]).tolist()
    places = {text.name: slice(end - len(text.sentences), end) for text, end in zip(texts, ends, strict=True)}
    places["all"] = slice(0, len(sizes))
    first = next(iter(nats.values())).mean(0)
    grid = [["tokenizer", *places, "all, each seed"]]
    for name, of_one in nats.items():
        row = [name]
        for place in places.values():
            bits = measurement(of_one.mean(0)[place], sizes[place])
            p_value = paired_test(bits, measurement(first[place], sizes[place])).p_value
            row.append(f"{bits.value:.4f}" + (f" ({stated_p(p_value)})" if len(grid) > 1 else ""))
        seeds = [f"{measurement(of_seed, sizes).value:.4f}" for of_seed in of_one]
        grid.append([*row, ", ".join(seeds)])
    return grid, {"figures": "bits per byte, mean over seeds; p: paired permutation test over lines of text"}


def measurement(nats: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64]) -> Measurement:
    return Measurement(np.stack([nats / math.log(2), sizes], axis=1), share_of_sums)


if __name__ == "__main__":
    run(main)

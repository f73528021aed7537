"""Decoding trees and distilling the parser on a GPU: words per second, and how many trees are those of the plain
modules in 32 bits.

PYTHONPATH=src python benchmarks/decoding.py DIR/training [--plain-words 20000] [--words 200000]

DIR/training is the run of an ensemble, with `member-K.safetensors` and `words.tsv`, from which words
are taken at regular intervals. The parser is distilled from their trees for a few epochs, with the fused and with
the plain operations.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from treetok.model.charts.batch_substrings import BatchSubstrings
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.decoding import CompositionTrees
from treetok.model.distillation.distil import prepare_distillation
from treetok.model.distillation.trainer import DistillationConfig
from treetok.model.ensemble import EnsembleMember
from treetok.model.fused_decoding import FusedTrees
from treetok.model.network.parser import PLAIN, ParserConfig
from treetok.pipeline.artefacts import load_counts


def timed(work: Any) -> tuple[Any, float]:
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return result, time.perf_counter() - start


def show(**figures: object) -> None:
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}), flush=True)


def compare_decoders(members: Sequence[EnsembleMember], words: list[str], plain_words: int) -> dict[str, Any]:
    """Words per second of both decoders; returns the trees of all words."""
    fused, plain = FusedTrees(members, "cuda"), CompositionTrees(members, "cuda")
    # Compiles the kernels.
    fused.split_scores(words[:100])
    trees, seconds = timed(lambda: fused.split_scores(words))
    show(decoder="fused", members=len(members), words=len(words), words_per_second=round(len(words) / seconds))
    substrings, seconds = timed(lambda: BatchSubstrings.of_words(words[:20_000], "cuda"))
    show(substrings_of=20_000, seconds=seconds, distinct=len(substrings))
    sample = range(0, len(words), max(1, len(words) // plain_words))
    reference, seconds = timed(lambda: plain.split_scores([words[at] for at in sample]))
    same = np.mean([np.array_equal(trees[at], tree) for at, tree in zip(sample, reference, strict=True)])
    show(decoder="plain", words=len(sample), words_per_second=round(len(sample) / seconds), same_trees=float(same))
    return dict(zip(words, trees, strict=True))


def compare_distillation(trees: dict[str, Any], members: Sequence[EnsembleMember], epochs: int) -> None:
    morphemes = MorphemeVocabulary(
        {c for member in members for c in member.morphemes.characters},
        {s for member in members[:2] for s in member.morphemes.longer},
    )
    config = DistillationConfig(epochs=epochs, dropout=0.1)
    for name in ("fused", "plain"):
        distillation = prepare_distillation(
            trees, dict.fromkeys(trees, 1), morphemes, ParserConfig(dimension=128, hidden=256), config, "cuda"
        )
        trainer = distillation.trainer
        if name == "plain":
            trainer.parser.operations = PLAIN
        reports: list[Any] = []
        _, seconds = timed(lambda trainer=trainer, reports=reports: trainer.run(reports.append))
        learned = len(trainer.learned) * epochs
        show(
            distillation=name,
            words_per_second=round(learned / seconds),
            ms_per_step=1000 * seconds / trainer.step,
            losses=[round(report.loss, 4) for report in reports],
            agreement=[round(report.agreement, 4) for report in reports],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("training", type=Path)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--plain-words", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--max-word-length", type=int, default=20)
    options = parser.parse_args()
    files = [options.training / f"member-{number + 1}.safetensors" for number in range(options.members)]
    members = [EnsembleMember.load(file, "cuda") for file in files]
    counts = load_counts((options.training / "words.tsv").read_bytes())
    words = sorted(word for word in counts if 1 < len(word) <= options.max_word_length)
    words = words[:: max(1, len(words) // options.words)]
    trees = compare_decoders(members, words, options.plain_words)
    compare_distillation(trees, members, options.epochs)


if __name__ == "__main__":
    main()

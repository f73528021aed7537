"""Distil the parser from what `tools/train_trees.py` left, and say how far it agrees with the composition models.

    PYTHONPATH=src python tools/distil_parser.py RUN OUT --minutes 3 [--epochs 100] [--made-up 300000]

RUN has the trees of words and the members of the committee that gave them. Needs nothing but the project's folder.
Writes parser.safetensors, and the words that were kept out of learning into unseen.txt.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import safetensors.numpy

from teacher import member_files, trees_of_words
from treetok import TreetokError
from treetok.cli.script import run
from treetok.model.data.morphemes import MorphemeVocabulary, read_word_list
from treetok.model.device import chosen_device
from treetok.model.distillation.data import pseudo_words
from treetok.model.distillation.distil import DistillationReport, distil
from treetok.model.ensemble import EnsembleMember
from treetok.model.learning import united_morphemes
from treetok.model.presets import PRESETS
from treetok.storage.format import PARSER
from words_of_run import WordsOfRun

UNSEEN = "unseen.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--made-up", type=int, default=0, help="strings made up from words, to learn from")
    parser.add_argument(
        "--morphemes", type=Path, help="strings that the parser is told of, instead of the members'"
    )
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--dimension", type=int)
    parser.add_argument("--layers", type=int)
    options = parser.parse_args()
    if options.made_up < 0:
        parser.error("--made-up is 0 or more")
    began = time.monotonic()
    device = chosen_device("auto")
    preset = PRESETS["fast"]
    settings = dataclasses.replace(preset.distillation, seconds=60 * options.minutes)
    sizes = preset.parser
    if options.epochs is not None:
        settings = dataclasses.replace(settings, epochs=options.epochs)
    if options.dropout is not None:
        settings = dataclasses.replace(settings, dropout=options.dropout)
    if options.dimension is not None:
        sizes = dataclasses.replace(sizes, dimension=options.dimension, hidden=2 * options.dimension)
    if options.layers is not None:
        sizes = dataclasses.replace(sizes, layers=options.layers)
    words = WordsOfRun.load(options.run)
    files = member_files(options.run)
    morphemes = united_morphemes([EnsembleMember.load(path, "cpu") for path in files])
    if options.morphemes is not None:
        told = read_word_list(options.morphemes)
        if not told:
            raise TreetokError(f"{options.morphemes} has no morphemes")
        morphemes = MorphemeVocabulary(morphemes.characters, told)
    scores = words.scores()
    made_up = {}
    if options.made_up:
        made_up = trees_of_words(files, pseudo_words(list(scores), options.made_up))
    seconds = round(time.monotonic() - began, 1)
    print(json.dumps({"words": len(scores), "made up": len(made_up), "seconds": seconds}), flush=True)

    def report(news: DistillationReport) -> None:
        print(json.dumps(vars(news)), flush=True)

    distilled = distil(scores, words.counts, morphemes, sizes, settings, device, report, made_up)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / PARSER).write_bytes(safetensors.numpy.save(distilled.parser.arrays()))
    (options.out / UNSEEN).write_text("\n".join(distilled.unseen_words) + "\n", encoding="utf-8")
    print(json.dumps({"unseen words": len(distilled.unseen_words), **vars(distilled.agreement)}), flush=True)


if __name__ == "__main__":
    run(main)

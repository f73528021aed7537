"""Distil the parser from what `tools/train_trees.py` left, and say how far it agrees with the composition model.

    PYTHONPATH=src python tools/distil_parser.py RUN OUT --minutes 3 [--made-up 300000] [--vocab-size 30000]

RUN has the trees of words and the members of the committee that gave them.

Needs nothing but the project's folder. Writes parser.safetensors and agreement.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import safetensors.numpy

from treetok.model.device import chosen_device
from treetok.model.distillation import DistillationReport, distil, segmentation_agreement
from treetok.model.induction import CompositionTrees
from treetok.model.learning import united_morphemes
from treetok.model.lesson import made_up_words
from treetok.model.member import Member
from treetok.model.presets import PRESETS
from treetok.segment import Segmenter
from treetok.storage.names import PARSER
from treetok.training import covering_characters
from treetok.vocabulary import SharedNodes, build_vocabulary
from words_of_run import WordsOfRun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--made-up", type=int, default=0, help="strings made up from words, to learn from")
    parser.add_argument("--vocab-size", type=int, default=30_000, help="to cut words with, for the comparison")
    parser.add_argument("--dimension", type=int)
    parser.add_argument("--layers", type=int)
    options = parser.parse_args()
    began = time.monotonic()
    device = chosen_device("auto")
    words = WordsOfRun.load(options.run)
    members = [Member.load(path, device) for path in sorted(options.run.glob("member-*.safetensors"))]
    scores = words.scores()
    made_up = {}
    if options.made_up:
        strings = made_up_words(list(scores), options.made_up)
        teacher = CompositionTrees(members, device)
        made_up = dict(zip(strings, teacher.split_scores(strings), strict=True))
    seconds = time.monotonic() - began
    print(json.dumps({"words": len(scores), "made up": len(made_up), "seconds": seconds}), flush=True)

    preset = PRESETS["fast"]
    settings = dataclasses.replace(preset.distillation, seconds=60 * options.minutes)
    sizes = preset.parser
    if options.dimension:
        sizes = dataclasses.replace(sizes, dimension=options.dimension, hidden=2 * options.dimension)
    if options.layers:
        sizes = dataclasses.replace(sizes, layers=options.layers)

    def report(news: DistillationReport) -> None:
        print(json.dumps(vars(news)), flush=True)

    distilled = distil(scores, words.counts, united_morphemes(members), sizes, settings, device, report, made_up)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / PARSER).write_bytes(safetensors.numpy.save(distilled.parser.arrays()))
    alphabet = covering_characters(words.counts, 0.9999)
    whole = [word for word in scores if alphabet.issuperset(word)]
    nodes = SharedNodes([(word, scores[word].tolist(), words.counts[word]) for word in whole])
    vocabulary = build_vocabulary(nodes, options.vocab_size)
    unseen = distilled.unseen_words
    result = {
        "unseen words": len(unseen),
        "whole tree": distilled.agreement.whole_tree,
        "cut alike": segmentation_agreement(distilled.parser, scores, Segmenter(vocabulary), unseen),
        "vocabulary": len(vocabulary),
        "seconds": time.monotonic() - began,
    }
    print(json.dumps(result), flush=True)
    (options.out / "agreement.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

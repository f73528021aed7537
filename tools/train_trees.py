"""Train the composition model on one corpus file, for so many minutes, going on from a checkpoint if there is one.

    PYTHONPATH=src python tools/train_trees.py CORPUS OUT --minutes 9 [--gold TSV]... [--steps 6000]

Needs nothing but the project's folder: no installation, no network. The files it writes are below 16 MB each.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from treetok.corpus.reading import read_texts
from treetok.corpus.sequences import read_sequence
from treetok.model.assembly import assemble_trainer, chart_words
from treetok.model.checkpoint import load_checkpoint, save_checkpoint
from treetok.model.configuration import ModelConfiguration, Objective
from treetok.model.induction import CompositionTrees
from treetok.model.morphemes import find_morphemes
from treetok.model.training import StepReport, TrainingSettings
from treetok.text import profile_named
from treetok.tree import Tree, join_scores


def read_gold(path: Path) -> list[tuple[str, list[list[str]]]]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(word, [morphs.split(" ") for morphs in alternatives.split(", ")]) for word, alternatives in rows]


def tree_recall(gold: list[tuple[str, list[list[str]]]], source: CompositionTrees) -> list[float]:
    """Morpheme recall in percent, leaves counted and leaves dropped; cuts between words are topmost splits."""
    split = profile_named("uncased").split
    parts = {word: split(word) for word, _ in gold}
    distinct = sorted({part for pieces in parts.values() for part in pieces})
    scores = dict(zip(distinct, source.split_scores(distinct), strict=True))
    results = []
    for smallest in (1, 2):
        recalls = []
        for word, alternatives in gold:
            spans = set(Tree("".join(parts[word]), join_scores([scores[part] for part in parts[word]])).spans())
            best = None
            for morphs in alternatives:
                places, start = [], 0
                for morph in morphs:
                    places.append((start, start + len(morph)))
                    start += len(morph)
                places = [(a, b) for a, b in places if b - a < len(word) and b - a >= smallest]
                if places:
                    best = max(best or 0.0, sum(place in spans for place in places) / len(places))
            if best is not None:
                recalls.append(best)
        results.append(round(100 * sum(recalls) / len(recalls), 2))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--gold", type=Path, action="append", default=[])
    parser.add_argument("--count-power", type=float, default=1.0)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--morphemes", default="bpe")
    parser.add_argument("--morpheme-size", type=int, default=10_000)
    parser.add_argument("--report-every", type=int, default=50)
    parser.add_argument("--evaluate-every", type=int, default=500)
    parser.add_argument("--stop-at", type=int)
    options = parser.parse_args()
    began = time.monotonic()

    def say(**news: object) -> None:
        line = json.dumps({"seconds": round(time.monotonic() - began, 1), **news})
        print(line, flush=True)
        with (options.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    options.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    configuration = ModelConfiguration(
        objective=Objective(count_power=options.count_power),
    )
    counts = chart_words(sequence, configuration)
    say(read=len(sequence.numbers), words=len(counts))
    morphemes = find_morphemes(counts, options.morphemes, options.morpheme_size)
    say(morphemes=len(morphemes))
    settings = TrainingSettings(steps=options.steps, learning_rate=options.learning_rate)
    trainer = assemble_trainer(sequence, configuration, settings, morphemes, device)
    if options.resume:
        load_checkpoint(trainer, options.resume)
    gold = {path.stem: read_gold(path) for path in options.gold}
    source = CompositionTrees(trainer.learner.composition, morphemes, device)

    def report(news: StepReport) -> None:
        say(**{name: round(value, 4) for name, value in vars(news).items()})
        if news.step % options.evaluate_every == 0:
            say(step=news.step, **{name: tree_recall(rows, source) for name, rows in gold.items()})

    deadline = began + 60 * options.minutes
    say(starting_at=trainer.step)
    trainer.take_step()
    if device == "cuda":
        torch.cuda.synchronize()
        say(
            first_step_done=True,
            memory_gb=round(torch.cuda.max_memory_allocated() / 1e9, 1),
            room=str(trainer.room),
        )
    while trainer.step < min(settings.steps, options.stop_at or settings.steps) and time.monotonic() < deadline:
        until = trainer.step - trainer.step % options.report_every + options.report_every
        if not trainer.run(report, report_every=options.report_every, until=until):
            break
    say(step=trainer.step, redrawn=getattr(trainer, "redrawn", 0))
    say(final=True, **{name: tree_recall(rows, source) for name, rows in gold.items()})
    save_checkpoint(trainer, options.out)


if __name__ == "__main__":
    main()

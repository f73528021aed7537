"""Train the composition model on one corpus file for so many minutes, going on from a checkpoint if there is one.

    PYTHONPATH=src python tools/train_trees.py CORPUS OUT --minutes 9.5 [--resume EARLIER_OUT] [--gold TSV]...

Needs nothing but the project's folder: no installation, no network. Writes a checkpoint, the trees of all words of
the corpus and the morphemes; with the paper's sizes every file is below 16 MB.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import torch

from treetok.corpus.reading import read_texts
from treetok.corpus.sequences import read_sequence
from treetok.evaluate.gold import GoldFile, read_gold
from treetok.evaluate.metrics.tree_recall import tree_recall
from treetok.evaluate.trees import OverStrings
from treetok.lexicon import Lexicon
from treetok.model.assembly import assemble_trainer, chart_words
from treetok.model.checkpoint import load_checkpoint, save_checkpoint
from treetok.model.device import chosen_device
from treetok.model.induction import AS_IN_THE_PAPER, CompositionTrees
from treetok.model.learning import start_compiling
from treetok.model.morphemes import find_morphemes
from treetok.model.presets import PRESETS
from treetok.model.training import StepReport
from treetok.sources import scores_of_words
from treetok.text import profile_named
from treetok.tree import Tree
from words_of_run import WordsOfRun


def recall_of(gold: GoldFile, source: CompositionTrees) -> list[float]:
    """Morpheme recall in percent, leaves counted and leaves dropped; cuts between words are topmost splits."""
    words = [gold_word.word for gold_word in gold]
    scores = scores_of_words(OverStrings(source, "uncased"), words)
    trees = [Tree(word, scores[word]).spans() for word in words]
    return [
        round(100 * tree_recall(gold, trees, protocol).by_word.value, 2) for protocol in ("released", "described")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0, help="stop training after so many, saving all")
    parser.add_argument("--steps", type=int, help="length of the whole schedule, over all runs")
    parser.add_argument("--resume", type=Path, help="a directory that an earlier run wrote")
    parser.add_argument(
        "--gold", type=Path, action="append", default=[], help="gold to score trees with, on the way"
    )
    parser.add_argument("--preset", default="fast", choices=PRESETS)
    parser.add_argument("--count-power", type=float)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--morphemes", help="bpe, unigram or a file")
    parser.add_argument("--morpheme-count-power", type=float)
    parser.add_argument("--morpheme-size", type=int)
    parser.add_argument("--report-every", type=int, default=100)
    parser.add_argument("--evaluate-every", type=int, default=1000)
    options = parser.parse_args()
    began = time.monotonic()
    deadline = began + 60 * options.minutes
    options.out.mkdir(parents=True, exist_ok=True)

    def say(**news: object) -> None:
        line = json.dumps({"seconds": round(time.monotonic() - began, 1), **news})
        print(line, flush=True)
        with (options.out / "run.jsonl").open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    device = chosen_device("auto")
    preset = PRESETS[options.preset]
    model = changed(
        preset.model,
        objective=changed(preset.model.objective, count_power=options.count_power),
    )
    settings = changed(
        preset.training,
        steps=options.steps,
        learning_rate=options.learning_rate,
    )
    compiling = start_compiling(dataclasses.replace(preset, model=model), device)
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    counts = chart_words(sequence, model)
    say(read=len(sequence.numbers), words=len(counts))
    morphemes = find_morphemes(
        counts,
        changed(
            preset.morphemes,
            how=options.morphemes,
            size=options.morpheme_size,
            count_power=options.morpheme_count_power,
        ),
    )
    say(morphemes=len(morphemes))
    trainer = assemble_trainer(sequence, model, settings, morphemes, device, preset.parser)
    if options.resume:
        load_checkpoint(trainer, options.resume)
    gold = {path.stem: read_gold(path) for path in options.gold}
    teacher = CompositionTrees(trainer.learner.composition, morphemes, device, reading=preset.reading)
    if compiling is not None:
        compiling.join()
    say(starting_at=trainer.step)
    trainer.take_step()
    if device == "cuda":
        torch.cuda.synchronize()
        say(first_step_done=True, memory_gb=round(torch.cuda.max_memory_allocated() / 1e9, 1))

    def say_recall(**news: object) -> None:
        for reading, name_of in ((preset.reading, "{}"), (AS_IN_THE_PAPER, "{}_as_in_the_paper")):
            trees = CompositionTrees(trainer.learner.composition, morphemes, device, reading=reading)
            say(**news, **{name_of.format(name): recall_of(rows, trees) for name, rows in gold.items()})

    def report(news: StepReport) -> None:
        say(**{name: round(value, 4) for name, value in news.figures().items()})
        if news.step % options.evaluate_every == 0:
            say_recall(step=news.step)

    # A minute before the end, for the trees of all words and the checkpoint.
    while trainer.step < settings.steps and time.monotonic() < deadline - 60:
        until = trainer.step - trainer.step % options.report_every + options.report_every
        if not trainer.run(report, report_every=options.report_every, until=until, validate_every=1000):
            break
    say(step=trainer.step, drawn_again=getattr(trainer, "redrawn", 0))
    save_checkpoint(trainer, options.out)
    say_recall(final=True)
    words = sorted(word for word in counts if len(word) > 1)
    lexicon = Lexicon.from_scores(dict(zip(words, teacher.split_scores(words), strict=True)))
    say(trees=len(lexicon))
    WordsOfRun(lexicon, counts, morphemes).save(options.out)
    say(saved=True)


def changed(settings: Any, **values: Any) -> Any:
    """A dataclass with the values that were given."""
    return dataclasses.replace(settings, **{name: value for name, value in values.items() if value is not None})


if __name__ == "__main__":
    main()

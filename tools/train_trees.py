"""Train composition models on one corpus file for so many minutes, going on from where an earlier run stopped.

    PYTHONPATH=src python tools/train_trees.py CORPUS OUT --minutes 9.5 [--resume EARLIER_OUT] [--gold TSV]...

Needs nothing but the project's folder: no installation, no network. Writes one file for every member of the
committee that is trained to the end, the checkpoint of one that is not, and the trees of all words of the corpus;
with the paper's sizes every file is below 16 MB.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import torch

from teacher import member_file
from treetok import TreetokError
from treetok.cli.script import run
from treetok.corpus.reading import read_texts
from treetok.corpus.word_ids import read_sequence
from treetok.evaluate.gold import GoldFile, read_gold
from treetok.evaluate.metrics.tree_recall import tree_recall
from treetok.evaluate.trees import OverStrings
from treetok.lexicon import Lexicon
from treetok.model.data.morphemes import MorphemeConfig, find_morphemes
from treetok.model.decoding import GREEDY, CompositionTrees
from treetok.model.device import chosen_device, free_memory
from treetok.model.ensemble import EnsembleMember
from treetok.model.learning import start_precompiling
from treetok.model.presets import PRESETS
from treetok.model.training.assembly import assemble_trainer, chart_words
from treetok.model.training.checkpoint import FILES as CHECKPOINT_FILES
from treetok.model.training.checkpoint import HEAD, load_checkpoint, save_checkpoint
from treetok.model.training.trainer import StepReport, Trainer
from treetok.sources import scores_of_words
from treetok.storage.atomic import has_file
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


def morpheme_settings(text: str) -> MorphemeConfig:
    """`bpe`, `stems:13000`, `unigram:10000:0.5`: how, size, power of counts."""
    try:
        how, size, power = [*text.split(":"), "", ""][:3]
        return MorphemeConfig(how, **({"size": int(size)} if size else {}), count_power=float(power or 1))
    except (ValueError, TreetokError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def check_directories(out: Path, resume: Path | None) -> None:
    """Refuse to begin where another run has ended, and to go on from nothing."""
    if resume is not None and not (has_file(resume, HEAD) or (resume / member_file(0)).exists()):
        raise TreetokError(f"{resume} has nothing to go on from")
    if (out / member_file(0)).exists() and (resume is None or not out.samefile(resume)):
        raise TreetokError(f"{out} has the members of another run: choose another directory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--minutes",
        type=float,
        default=9.0,
        help="for all of it, the last one for the trees of all words; looked at every --report-every steps",
    )
    parser.add_argument("--steps", type=int, help="of every member, over all runs")
    parser.add_argument("--resume", type=Path, help="a directory that an earlier run wrote")
    parser.add_argument(
        "--gold", type=Path, action="append", default=[], help="gold to score trees with, on the way"
    )
    parser.add_argument("--preset", default="fast", choices=PRESETS)
    parser.add_argument(
        "--member",
        type=morpheme_settings,
        action="append",
        metavar="HOW[:SIZE[:POWER]]",
        help="instead of the preset's: morphemes of a member, as bpe:10000 or unigram:10000:0.5",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count-power", type=float)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--report-every", type=int, default=100)
    parser.add_argument("--evaluate-every", type=int, default=500)
    options = parser.parse_args()
    began = time.monotonic()
    deadline = began + 60 * options.minutes - 60
    check_directories(options.out, options.resume)
    options.out.mkdir(parents=True, exist_ok=True)

    def say(**news: object) -> None:
        line = json.dumps({"seconds": round(time.monotonic() - began, 1), **news})
        print(line, flush=True)
        with (options.out / "run.jsonl").open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    device = chosen_device("auto")
    preset = PRESETS[options.preset]
    preset = dataclasses.replace(
        preset,
        model=changed(preset.model, objective=changed(preset.model.objective, count_power=options.count_power)),
        training=changed(
            preset.training, steps=options.steps, learning_rate=options.learning_rate, seed=options.seed
        ),
        ensemble=tuple(options.member or preset.ensemble),
    )
    compiling = start_precompiling(preset, device)
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    counts = chart_words(sequence, preset.model)
    say(read=len(sequence.numbers), words=len(counts))
    gold = {path.stem: read_gold(path) for path in options.gold}
    members: list[EnsembleMember] = []

    def say_recall(current: list[EnsembleMember], **news: object) -> None:
        """Of the committee so far; also of the trees of its last member as the paper reads them."""
        for voices, reading, name_of in (
            (members + current, preset.decoding, "{}"),
            ((members + current)[-1:], GREEDY, "{}_as_in_the_paper"),
        ):
            trees = CompositionTrees(voices, device, decoding=reading)
            say(
                **news,
                members=len(voices),
                **{name_of.format(name): recall_of(rows, trees) for name, rows in gold.items()},
            )

    def train(trainer: Trainer, member: EnsembleMember) -> bool:
        """Whether training came to its end."""

        def report(news: StepReport) -> None:
            # Training runs from report to report: it does not know how much is left.
            figures = {name: value for name, value in news.figures().items() if name != "seconds_left"}
            say(member=len(members) + 1, **{name: round(value, 4) for name, value in figures.items()})
            if news.step % options.evaluate_every == 0 and gold:
                say_recall([member], step=news.step)

        say(member=len(members) + 1, morphemes=len(member.morphemes), starting_at=trainer.step)
        trainer.take_step()
        if device == "cuda":
            torch.cuda.synchronize()
            say(first_step_done=True, memory_gb=round(torch.cuda.max_memory_allocated() / 1e9, 1))
        while trainer.step < trainer.settings.steps and time.monotonic() < deadline:
            until = trainer.step - trainer.step % options.report_every + options.report_every
            if not trainer.run(report, report_every=options.report_every, until=until, validate_every=1000):
                return False
        return trainer.step == trainer.settings.steps

    for number, how in enumerate(preset.ensemble):
        name = member_file(number)
        morphemes = find_morphemes(counts, how)
        if options.resume and (options.resume / name).exists():
            member = EnsembleMember.load(options.resume / name, device)
            if member.morphemes.longer != morphemes.longer:
                raise TreetokError(f"{options.resume / name} has other morphemes than member {number + 1} should")
            members.append(member)
            member.save(options.out / name)
            continue
        settings = preset.settings_of_member(number)
        trainer = assemble_trainer(sequence, preset.model, settings, morphemes, device, preset.parser)
        if options.resume and has_file(options.resume, HEAD):
            load_checkpoint(trainer, options.resume)
            options.resume = None
        if compiling is not None:
            compiling.join()
        member = EnsembleMember(trainer.learner.composition, morphemes)
        if not train(trainer, member):
            save_checkpoint(trainer, options.out)
            say(stopped_at=trainer.step)
            break
        members.append(member)
        member.save(options.out / name)
        for file in CHECKPOINT_FILES:
            (options.out / file).unlink(missing_ok=True)
        say(member=len(members), step=trainer.step, drawn_again=getattr(trainer, "redrawn", 0))
        del trainer
        free_memory(device)
    if len(members) < len(preset.ensemble):
        say(to_be_gone_on=True)
        return
    say_recall([], final=True)
    words = sorted(word for word in counts if len(word) > 1)
    teacher = CompositionTrees(members, device, decoding=preset.decoding)
    lexicon = Lexicon.from_scores(dict(zip(words, teacher.split_scores(words), strict=True)))
    say(trees=len(lexicon))
    WordsOfRun(lexicon, counts).save(options.out)
    say(saved=True)


def changed(settings: Any, **values: Any) -> Any:
    """A dataclass with the values that were given."""
    return dataclasses.replace(settings, **{name: value for name, value in values.items() if value is not None})


if __name__ == "__main__":
    run(main)

"""From a text to trees: train the composition model, read the trees of all words off it, distil the parser."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treetok.corpus.word_ids import WordSequence, read_sequence
from treetok.errors import TreetokError
from treetok.model.data.morphemes import MorphemeVocabulary, find_morphemes
from treetok.model.decoding import CompositionTrees
from treetok.model.device import chosen_device, free_memory
from treetok.model.distillation.data import SHORTEST_WORD, pseudo_words
from treetok.model.distillation.distil import DistillationReport, Distilled, distil
from treetok.model.ensemble import EnsembleMember
from treetok.model.presets import PRESETS, Preset, preset_named
from treetok.model.training.assembly import assemble_trainer, chart_words, check_corpus
from treetok.model.training.checkpoint import FILES as CHECKPOINT_FILES
from treetok.model.training.checkpoint import HEAD as CHECKPOINT_HEAD
from treetok.model.training.checkpoint import load_checkpoint, save_checkpoint
from treetok.model.training.data_parallel import is_first_process, joined_processes
from treetok.model.training.log import TrainingLog
from treetok.model.training.trainer import StepReport, Trainer
from treetok.progress import Progress
from treetok.sources import scores_of_words
from treetok.sources.parser import ParserTrees
from treetok.storage.atomic import checked_target, has_file
from treetok.text import Profile
from treetok.training import trees_of

SAVE_SECONDS = 300
FEWEST_WORDS = 3


@dataclass(frozen=True)
class LearnedTrees:
    """Trees of the words of a text, and of those asked for, from the composition model, of longer words from the
    parser."""

    scores: dict[str, list[float]]
    distilled: Distilled
    figures: dict[str, object]

    @property
    def parser(self) -> ParserTrees:
        return self.distilled.parser

    @property
    def unseen_words(self) -> list[str]:
        """Words that the parser did not learn from."""
        return self.distilled.unseen_words


def learn_trees(
    texts: Iterable[str],
    words: Sequence[str],
    profile: Profile,
    *,
    preset: str | Preset | None = None,
    device: str = "auto",
    seed: int = 0,
    checkpoints: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> LearnedTrees:
    """Learn from running text; trees of `words` (letters, as the profile gives them) come back with the parser.

    checkpoints: a directory for checkpoints and logs; without one nothing is kept.
    resume: go on from the checkpoints there.
    """
    shown = progress or Progress(None)
    chosen, on_device = check_choices(preset, device, checkpoints, resume)
    with joined_processes(on_device) as on_device:
        if not is_first_process():
            shown = Progress(None)
        compiling = start_precompiling(chosen, on_device)
        sequence = read_sequence(texts, profile, chosen.max_words)
        check_corpus(sequence, chosen.model)
        check_words(sequence, chosen)
        chosen = chosen.for_text(len(sequence.numbers), seed)
        members, figures_of_members = [], []
        for number in range(len(chosen.ensemble)):
            with shown.stage("finding morphemes", None, "morphemes") as stage:
                morphemes = find_morphemes(chart_words(sequence, chosen.model), chosen.ensemble[number])
                stage.at(len(morphemes))
            settings = chosen.settings_of_member(number)
            trainer = assemble_trainer(sequence, chosen.model, settings, morphemes, on_device, chosen.parser)
            if compiling is not None:
                compiling.join()
            directory = None if checkpoints is None else member_directory(checkpoints, number)
            train(trainer, directory, resume, shown, f"{number + 1}/{len(chosen.ensemble)}")
            members.append(EnsembleMember(trainer.learner.composition, morphemes))
            figures_of_members.append(figures_of(trainer))
            # What the steps of one member were recorded in is room for the next.
            del trainer
            free_memory(on_device)
        overriding = chosen.model.objective.morph_overriding
        teacher = CompositionTrees(members, on_device, overriding, chosen.decoding)
        counts = words_of_charts(words, sequence, chosen)
        scores = trees_of(teacher, sorted(counts), shown)
        strings = pseudo_words(sorted(counts), min(chosen.pseudo_words, 2 * len(counts)), seed)
        made_up = trees_of(teacher, strings, shown, "trees of made-up words") if strings else {}
        with shown.stage("distilling the parser", chosen.distillation.epochs, "epochs") as stage:

            def report(news: DistillationReport) -> None:
                stage.at(news.epoch)

            all_morphemes = united_morphemes(members)
            distilled = distil(
                scores, counts, all_morphemes, chosen.parser, chosen.distillation, on_device, report, made_up
            )
        longer = [word for word in words if word not in scores]
        scores |= scores_of_words(distilled.parser, longer)
        figures = {
            "preset": preset_name(preset, chosen),
            "device": on_device.partition(":")[0],
            "members": figures_of_members,
            "whole_trees_as_the_model_on_unseen_words": round(distilled.agreement.whole_tree, 4),
        }
        return LearnedTrees(scores, distilled, figures)


def member_directory(checkpoints: str | os.PathLike[str], number: int) -> Path:
    """Where the checkpoint and the log of a member are kept; numbers begin at 0, names at 1."""
    return Path(checkpoints) / f"member-{number + 1}"


def united_morphemes(members: Sequence[EnsembleMember]) -> MorphemeVocabulary:
    """What the parser should know: the morphemes of all members."""
    return MorphemeVocabulary(
        {character for member in members for character in member.morphemes.characters},
        {string for member in members for string in member.morphemes.longer},
    )


def check_choices(
    preset: str | Preset | None, device: str, checkpoints: str | os.PathLike[str] | None, resume: bool
) -> tuple[Preset, str]:
    """The preset and the device that are meant, if they can be had and checkpoints are as they should be."""
    on_device = chosen_device(device)
    chosen = preset if isinstance(preset, Preset) else preset_named(preset, on_device)
    if checkpoints is None:
        if resume:
            raise TreetokError("there is no checkpoint to resume from: no directory for checkpoints was given")
        return chosen, on_device
    whole = checked_target(checkpoints, (), CHECKPOINT_HEAD)
    directories = [member_directory(whole, number) for number in range(len(chosen.ensemble))]
    for directory in directories:
        left = [name for name in CHECKPOINT_FILES if has_file(directory, name)]
        if resume and left and CHECKPOINT_HEAD not in left:
            raise TreetokError(f"the checkpoint in {directory} is damaged: {CHECKPOINT_HEAD} is missing")
        checked_target(directory, CHECKPOINT_FILES, CHECKPOINT_HEAD)
    has_checkpoint = any(has_file(directory, CHECKPOINT_HEAD) for directory in directories)
    if resume and not has_checkpoint:
        raise TreetokError(f"there is no checkpoint to resume from in {whole}")
    if has_checkpoint and not resume:
        raise TreetokError(
            f"{whole} has the checkpoint of an earlier run: resume it, or remove {whole} to begin anew"
        )
    return chosen, on_device


def start_precompiling(preset: Preset, device: str) -> threading.Thread | None:
    """Kernels are compiled while the text is being read, where there are any."""
    if not device.startswith("cuda") or preset.model.chart != "complete":
        return None
    try:
        from treetok.model.training.precompile import start_precompiling as start
    except ImportError:
        return None
    return start(preset.model, device)


def check_words(sequence: WordSequence, preset: Preset) -> None:
    """Refuse a text whose words are too short to have trees."""
    words = [word for word in chart_words(sequence, preset.model) if len(word) >= SHORTEST_WORD]
    if len(words) < FEWEST_WORDS:
        raise TreetokError(
            f"the text has {len(words)} words of {SHORTEST_WORD} letters or more: too few to learn trees from;"
            " choose trees from counts"
        )


def preset_name(preset: str | Preset | None, chosen: Preset) -> str:
    if isinstance(preset, str):
        return preset
    return next((name for name, known in PRESETS.items() if known.model == chosen.model), "custom")


def words_of_charts(words: Sequence[str], sequence: WordSequence, preset: Preset) -> dict[str, int]:
    """The words whose trees the composition model tells, those of the text and those asked for, and how often each
    occurs in the text."""
    counts = chart_words(sequence, preset.model)
    return counts | {w: counts.get(w, 1) for w in words if len(w) <= preset.model.max_word_length}


def train(trainer: Trainer, directory: Path | None, resume: bool, shown: Progress, which: str) -> None:
    """Train to the end, with checkpoints and a log where there is a directory for them. Where a run was stopped,
    members that it did not come to begin anew."""
    if directory is not None and resume and has_file(directory, CHECKPOINT_HEAD):
        load_checkpoint(trainer, directory)
    steps = trainer.settings.steps
    words_per_step = trainer.maker.sequences * trainer.maker.words_per_sequence
    log = None if directory is None else TrainingLog(directory, trainer.step)
    name = f"learning trees {which}" + (f" from step {trainer.step}" if trainer.step else "")
    with shown.stage(name, (steps - trainer.step) * words_per_step, "words") as stage:
        first = trainer.step

        def report(news: StepReport) -> None:
            stage.at((news.step - first) * words_per_step)
            if log is not None:
                log.write(news)

        def save(of: Trainer) -> None:
            if directory is not None:
                save_checkpoint(of, directory)

        finished = trainer.run(report, save, report_every=20, save_seconds=SAVE_SECONDS)
    if log is not None:
        log.close()
    if not finished:
        how = (
            "nothing was kept"
            if directory is None
            else f"{directory.parent} has a checkpoint: go on with --resume"
        )
        raise TreetokError(f"stopped at step {trainer.step} of {steps}: {how}")


def figures_of(trainer: Trainer) -> dict[str, object]:
    """What is worth knowing about a trained model."""
    figures: dict[str, object] = {
        "steps": trainer.step,
        "morphemes": trainer.learner.composition.embedding.num_embeddings,
        "parameters": sum(parameter.numel() for parameter in trainer.learner.parameters()),
    }
    if trainer.validation_batches:
        figures |= {
            f"validation_{name}_loss": round(loss, 4)
            for name, loss in dataclasses.asdict(trainer.validate()).items()
        }
    return figures

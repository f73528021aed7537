"""The stage `parser`: distil the parser from the trees of the ensemble."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.data.piece_model import PieceModel
from treetok.model.distillation.distil import prepare_distillation
from treetok.model.distillation.trainer import DistillationReport, ParserTrainer
from treetok.model.ensemble import EnsembleMember
from treetok.model.presets import Preset
from treetok.pipeline.artefacts import PARSER, STRINGS, Format
from treetok.pipeline.decode_trees import PSEUDO_TREES_FILE, TREES_FILE
from treetok.pipeline.ensemble import restore
from treetok.pipeline.run_directory import Artefacts, Made, Run
from treetok.pipeline.time_budget import Budget
from treetok.progress import Progress, Stopped
from treetok.sources.parser import ParserTrees

PARSER_FILE, UNSEEN_FILE = "parser.safetensors", "unseen_words.txt"


def distil_parser(
    preset: Preset,
    device: str,
    run: Run,
    trees: Artefacts,
    counts: Mapping[str, int],
    members: Sequence[EnsembleMember],
    budget: Budget,
    progress: Progress,
    checkpoint_seconds: float,
    pieces: PieceModel | None = None,
) -> tuple[ParserTrees, list[str]]:
    """The stage `parser`: the parser, and the words held out from its training."""
    formats: dict[str, Format[Any]] = {PARSER_FILE: PARSER, UNSEEN_FILE: STRINGS}
    inputs = {
        **trees.sha256,
        "parser": dataclasses.asdict(preset.parser),
        "distillation": dataclasses.asdict(preset.distillation),
        "ensemble": [config.method for config in preset.ensemble],
        "pieces": preset.pieces.size,
    }

    def work() -> Made:
        folder = run.folder("parser")
        scores = trees[TREES_FILE]
        distillation = prepare_distillation(
            scores,
            {word: counts[word] for word in scores},
            parser_morphemes(preset, members, pieces),
            preset.parser,
            preset.distillation,
            device,
            trees[PSEUDO_TREES_FILE],
        )
        trainer, teacher = distillation.trainer, "".join(trees.sha256.values())
        restore(folder, lambda place: trainer.load(place, teacher))
        trainer.seconds = trainer.seconds_before + budget.for_distillation()
        reports: list[DistillationReport] = []
        total = preset.distillation.epochs * trainer.batches_per_epoch
        first = trainer.step
        with progress.stage("distilling the parser", total - first, "batches", stoppable=False) as shown:

            def save(of: ParserTrainer) -> None:
                if folder is not None:
                    of.save(folder, teacher)

            def step_taken(step: int) -> None:
                shown.at(step - first, trainer.seconds - trainer.seconds_spent)

            finished = trainer.run(reports.append, save, checkpoint_seconds, step_taken)
        if not finished:
            raise Stopped(f"stopped in epoch {trainer.epoch + 1} of the distillation")
        distilled = distillation.result()
        figures = {
            "epochs": math.ceil(trainer.step / trainer.batches_per_epoch),
            "unseen_words": len(distilled.unseen_words),
            "parser_tree_agreement_unseen": round(distilled.agreement.whole_tree, 4),
        }
        return {PARSER_FILE: distilled.parser, UNSEEN_FILE: distilled.unseen_words}, figures

    artefacts = run.stage("parser", inputs, formats, work)
    budget.is_distilled = True
    return artefacts[PARSER_FILE], artefacts[UNSEEN_FILE]


def parser_morphemes(
    preset: Preset, members: Sequence[EnsembleMember], pieces: PieceModel | None = None
) -> MorphemeVocabulary:
    """The morphemes that are features of the parser: those suggested by trees if a member has them, so that the
    parser stays small, else those of all members and the pieces."""
    from_trees = [m for m, config in zip(members, preset.ensemble, strict=True) if config.method == "trees"]
    strings = {string for member in from_trees or members for string in member.morphemes.longer}
    if pieces is not None and not from_trees:
        strings |= {piece for piece in pieces.pieces if len(piece) > 1}
    return MorphemeVocabulary(
        {character for member in members for character in member.morphemes.characters}, strings
    )

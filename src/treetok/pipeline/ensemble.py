"""Two stages per member of the ensemble: find its morphemes, then train its composition model."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treetok.cached_property import cached_property
from treetok.errors import TreetokError, TreetokWarning
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary, find_morphemes
from treetok.model.data.piece_model import PieceModel
from treetok.model.device import explained_memory_errors, free_memory
from treetok.model.ensemble import EnsembleMember
from treetok.model.losses.objectives import TreeLearner
from treetok.model.network.parser import stored_parser
from treetok.model.presets import Preset
from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words
from treetok.model.training.checkpoint import HEAD as CHECKPOINT
from treetok.model.training.checkpoint import load_checkpoint, save_checkpoint
from treetok.model.training.log import TrainingLog
from treetok.model.training.trainer import StepReport, Trainer
from treetok.pipeline.ahead import Ahead
from treetok.pipeline.artefacts import BYTES, JSON, Format
from treetok.pipeline.gold_watch import GoldWatch
from treetok.pipeline.morphs_from_trees import morphs_of_trees
from treetok.pipeline.run_directory import Made, Run
from treetok.pipeline.time_budget import Budget
from treetok.progress import Progress, Stopped

REPORT_EVERY = 20
VALIDATE_EVERY = 500
# Where training leaves the CPU idle, the next morphemes are found meanwhile.
DEVICES_WITH_IDLE_CPU = ("cuda",)

Decode = Callable[[str, Sequence[EnsembleMember], dict[str, str]], Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class EnsembleTraining:
    """What the training of every member needs.

    read_text: reads the text as all members are trained on it; called only if a member has to be trained.
    inputs: what identifies the text.
    decode: decodes the words of the text with the members trained so far; takes a stage name.
    pieces: decoded together with the members, where recall is watched.
    learner_class: the training objectives; experiments have others.
    ahead: by the number of their member, morphemes that are being found already.
    """

    preset: Preset
    device: str
    read_text: Callable[[], ChartText]
    inputs: dict[str, Any]
    run: Run
    budget: Budget
    progress: Progress
    decode: Decode
    watch: GoldWatch | None = None
    checkpoint_seconds: float = 60.0
    pieces: PieceModel | None = None
    learner_class: type[TreeLearner] = TreeLearner
    ahead: dict[int, Ahead[MorphemeVocabulary]] = field(default_factory=dict)

    @cached_property
    def text(self) -> ChartText:
        return self.read_text()

    def train_all(self) -> tuple[list[EnsembleMember], dict[str, str]]:
        """The members, and the SHA-256 of each member's file."""
        members: list[EnsembleMember] = []
        sha256: dict[str, str] = {}
        for number in range(len(self.preset.ensemble)):
            self.budget.members_left = len(self.preset.ensemble) - number
            morphemes, sha_of_morphemes = self._morphemes(number, members, sha256)
            content, sha = self._member(number, members, morphemes, sha_of_morphemes)
            members.append(EnsembleMember.from_bytes(content, member_file(number), self.device))
            sha256[member_file(number)] = sha
            # Free the buffers of this member's training before the next one starts.
            free_memory(self.device)
        self.budget.members_left = 0
        return members, sha256

    def _morphemes(
        self, number: int, members: Sequence[EnsembleMember], sha256: dict[str, str]
    ) -> tuple[MorphemeVocabulary, str]:
        config = self.preset.ensemble[number]
        stage, file = f"morphemes-{number + 1}", f"morphemes-{number + 1}.json"
        inputs: dict[str, Any] = {
            **self.inputs,
            "config": dataclasses.asdict(config),
            "max_word_length": self.preset.model.max_word_length,
        }
        if config.method == "trees":
            inputs["members"] = dict(sha256)
            inputs["decoding"] = dataclasses.asdict(self.preset.decoding)
            inputs["pieces"] = dataclasses.asdict(self.preset.pieces)

        def work() -> Made:
            counts = chart_words(self.text.sequence, self.preset.model)
            strings = None
            if config.method == "trees":
                scores = self.decode(f"trees-{number}", members, dict(sha256))
                strings = morphs_of_trees(scores, counts, config.size)
            with self.progress.stage("finding morphemes", None, "morphemes") as shown:
                ahead = self.ahead.pop(number, None)
                morphemes = ahead.result() if ahead else find_morphemes(counts, config, strings)
                shown.at(len(morphemes))
            if not morphemes.longer:
                warnings.warn(
                    f"no morpheme of model {number + 1} is longer than a character: ensemble.{number}.size is"
                    f" {config.size}, and the text has {len(morphemes.characters)} characters",
                    TreetokWarning,
                    stacklevel=2,
                )
            made = {"characters": morphemes.characters, "morphemes": morphemes.longer}
            return {file: made}, {"method": config.method, "morphemes": len(morphemes)}

        artefacts = self.run.stage(stage, inputs, {file: JSON}, work)
        made = artefacts[file]
        return MorphemeVocabulary(made["characters"], made["morphemes"]), artefacts.sha256[file]

    def _member(
        self, number: int, members: Sequence[EnsembleMember], morphemes: MorphemeVocabulary, sha_of_morphemes: str
    ) -> tuple[bytes, str]:
        stage, file = f"member-{number + 1}", member_file(number)
        training = self.preset.training_of_member(number)
        inputs = {
            **self.inputs,
            "morphemes": sha_of_morphemes,
            "model": dataclasses.asdict(self.preset.model),
            "training": dataclasses.asdict(training),
        }
        if self.preset.model.chart == "pruned":
            inputs["joint_parser"] = dataclasses.asdict(self.preset.parser)
        if self.learner_class is not TreeLearner:
            inputs["learner"] = self.learner_class.__name__
        formats: dict[str, Format[Any]] = {file: BYTES}

        def work() -> Made:
            model, sizes = self.preset.model, self.preset.parser
            with explained_memory_errors(smaller_batches(training.sequences)):
                trainer = assemble_trainer(
                    self.text, model, training, morphemes, self.device, sizes, self.learner_class
                )
                self._find_morphemes_ahead(number + 1)
                self._train(trainer, members, morphemes, number)
            member = member_of(trainer, morphemes)
            facts = {"seed": training.seed, "device": self.device.partition(":")[0]}
            return {file: member.as_bytes()}, {**figures_of(trainer), **facts}

        artefacts = self.run.stage(stage, inputs, formats, work)
        content: bytes = artefacts[file]
        return content, artefacts.sha256[file]

    def _find_morphemes_ahead(self, number: int) -> None:
        """Find the morphemes of a member while the one before it is trained, unless they are found already or
        depend on it."""
        if number >= len(self.preset.ensemble) or self.device.partition(":")[0] not in DEVICES_WITH_IDLE_CPU:
            return
        config = self.preset.ensemble[number]
        if config.method == "trees" or f"morphemes-{number + 1}" in self.run.records:
            return
        counts = chart_words(self.text.sequence, self.preset.model)
        self.ahead[number] = Ahead(lambda: find_morphemes(counts, config))

    def _train(
        self, trainer: Trainer, members: Sequence[EnsembleMember], morphemes: MorphemeVocabulary, number: int
    ) -> None:
        """Train to the last step, or until the time budget is spent."""
        folder = self.run.place(f"member-{number + 1}")
        restore(folder, lambda place: load_checkpoint(trainer, place))
        trainer.seconds = trainer.seconds_before + self.budget.for_member()
        first, steps = trainer.step, trainer.config.steps
        words_per_step = trainer.maker.sequences * trainer.maker.words_per_sequence
        log = None if folder is None else TrainingLog(folder, first)
        which = f"{number + 1}/{len(self.preset.ensemble)}"
        name = f"training model {which}" + (f" from step {first}" if first else "")
        with self.progress.stage(name, (steps - first) * words_per_step, "words", stoppable=False) as shown:

            def report(news: StepReport) -> None:
                recalls = {}
                if self.watch is not None and news.validation is not None:
                    trained = [*members, member_of(trainer, morphemes)]
                    source = self.preset.trees(trained, self.device, self.pieces)
                    recalls = self.watch.recalls(source, f"model {which}, step {news.step}")
                if log is not None:
                    log.write(news, recalls)

            def save(of: Trainer) -> None:
                if folder is not None:
                    save_checkpoint(of, folder)

            def step_taken(step: int) -> None:
                shown.at((step - first) * words_per_step, trainer.seconds - trainer.seconds_spent)

            finished = trainer.run(
                report,
                save,
                REPORT_EVERY,
                self.checkpoint_seconds,
                validate_every=VALIDATE_EVERY,
                step_taken=step_taken,
            )
        if log is not None:
            log.close()
        if not finished:
            raise Stopped(f"stopped at step {trainer.step} of {steps} of model {which}")
        if first == 0:
            self.budget.member_seconds = trainer.seconds_spent


def member_of(trainer: Trainer, morphemes: MorphemeVocabulary) -> EnsembleMember:
    learner = trainer.learner
    parser = None if learner.parser is None else stored_parser(learner.parser, morphemes)
    return EnsembleMember(learner.composition, morphemes, parser)


def member_file(number: int) -> str:
    """Members are numbered from 0, files from 1."""
    return f"member-{number + 1}.safetensors"


def restore(folder: Path | None, load: Callable[[Path], None]) -> None:
    """Continue from the checkpoint in a folder if there is a valid one; otherwise the stage starts over."""
    if folder is None or not (folder / CHECKPOINT).exists():
        return
    try:
        load(folder)
    except TreetokError as error:
        warnings.warn(f"{error}: this stage begins anew", TreetokWarning, stacklevel=3)


def figures_of(trainer: Trainer) -> dict[str, Any]:
    """Figures of a trained model for the run record."""
    figures: dict[str, Any] = {
        "steps": trainer.step,
        "parameters": sum(parameter.numel() for parameter in trainer.learner.parameters()),
    }
    if len(trainer.validation_batches):
        figures |= {
            f"validation_{name}_loss": round(loss, 4)
            for name, loss in dataclasses.asdict(trainer.validate()).items()
        }
    return figures


def smaller_batches(sequences: int) -> str:
    """What to do if batches of this many sequences do not fit into memory."""
    fewer = max(1, sequences // 4)
    return (
        f"batches of {sequences} sequences are too large here; try --set training.sequences={fewer}, with more"
        " steps (--set training.steps=N), or --preset tiny"
    )

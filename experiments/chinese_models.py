"""Training of the models of the Chinese experiment: composition models, one by one or to be decoded together, and
the neural PCFG.

All are trained on stretches of the same text (`han_text.py`), each by its own schedule. A model that is stopped
goes on from its checkpoint.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from chinese_variants import CompositionVariant, EnsembleVariant, GrammarVariant, Settings, Variant
from composition_models import continued_run, device_name, single_model_trees
from han_text import Cuts, running_stretches
from model_scores import MBR_TREES
from neural_pcfg.grammar import NeuralGrammar
from neural_pcfg.training import Trainer as GrammarTrainer
from neural_pcfg.training import train as train_grammar
from neural_pcfg.trees import MbrTrees
from neural_pcfg.words import CharacterTable, TrainingWords
from treetok.corpus.counting import texts_of
from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokError
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, MorphemeVocabulary, find_morphemes
from treetok.model.data.piece_model import PieceModel
from treetok.model.decoding import CompositionTrees
from treetok.model.device import computing_threads, explained_memory_errors, free_memory
from treetok.model.ensemble import EnsembleMember
from treetok.model.presets import PRESETS
from treetok.model.training.build_trainer import ChartText, assemble_trainer
from treetok.model.training.checkpoint import load_checkpoint, save_checkpoint
from treetok.model.training.trainer import Trainer
from treetok.pipeline.ahead import Ahead
from treetok.pipeline.artefacts import BYTES, JSON
from treetok.pipeline.ensemble import figures_of, member_of, restore
from treetok.pipeline.find_pieces import piece_model
from treetok.pipeline.run_directory import Made
from treetok.progress import Progress
from treetok.sources import TreeSource
from treetok.stop_signal import stop_signal

CHECKPOINT_SECONDS = 30.0
TEXT_COLUMN = "text"
MORPHEMES, MEMBER = "morphemes.json", "member.safetensors"


@dataclass(frozen=True)
class TrainedModel:
    """trees: by the way in which they are decoded; figures: of training."""

    trees: dict[str, TreeSource]
    figures: dict[str, Any]


class ChineseTraining:
    """The text, read when it is first needed, and where models are kept.

    text_sha256: of the files of the text.
    """

    def __init__(self, text: list[Path], text_sha256: str, settings: Settings, folder: Path, device: str) -> None:
        self.text, self.text_sha256, self.settings = text, text_sha256, settings
        self.folder, self.device = folder, device
        self.progress = Progress(True)
        # Spent since the beginning, on models of any kind.
        self.seconds = 0.0
        self._sequences: dict[Cuts, WordSequence] = {}
        self._chart_texts: dict[Cuts, ChartText] = {}
        self._morphemes: dict[tuple[MorphemeConfig, Cuts], Ahead[MorphemeVocabulary]] = {}

    def train(self, name: str, variant: Variant) -> TrainedModel:
        if isinstance(variant, GrammarVariant):
            return self._train_grammar(name, variant)
        if isinstance(variant, EnsembleVariant):
            return self._train_ensemble(name, variant)
        return self._train_composition(name, variant)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds += time.monotonic() - began

    # ---- the text

    def sequence(self, cuts: Cuts) -> WordSequence:
        """The stretches of the text, cut where they are longer."""
        if cuts not in self._sequences:
            texts = texts_of(self.text, TEXT_COLUMN, self.progress, "reading stretches")
            sequence = running_stretches(texts, cuts)
            if not len(sequence.numbers):
                names = ", ".join(map(str, self.text))
                raise TreetokError(f"{names}: the text has no Han characters, which trees are built over")
            self._sequences[cuts] = sequence
        return self._sequences[cuts]

    def chart_text(self, cuts: Cuts) -> ChartText:
        if cuts not in self._chart_texts:
            began = time.monotonic()
            # Charts of both kinds are of the same substrings.
            model = dataclasses.replace(PRESETS["fast"].model, max_word_length=cuts.longest)
            text = ChartText.of(self.sequence(cuts), model)
            print(f"{len(text.table)} distinct substrings in {time.monotonic() - began:.0f} s", flush=True)
            # That of one kind of cuts at a time: it takes gigabytes.
            self._chart_texts = {cuts: text}
        return self._chart_texts[cuts]

    @cached_property
    def _kernels(self) -> Ahead[None] | None:
        """The kernels of complete charts, compiled in the background: not to be counted as time of training."""
        if self.device.startswith("cuda"):
            # PyTorch comes without Triton on some systems.
            with suppress(ImportError):
                from treetok.model.precompile import precompile_kernels

                return Ahead(lambda: precompile_kernels(PRESETS["fast"], self.device))
        return None

    def _ready_chart_text(self, cuts: Cuts) -> ChartText:
        """Tabulated while kernels are compiled."""
        kernels, text = self._kernels, self.chart_text(cuts)
        if kernels is not None:
            kernels.wait()
        return text

    def _found_morphemes(self, config: MorphemeConfig, cuts: Cuts) -> MorphemeVocabulary:
        """Found while substrings are tabulated and kernels compiled."""
        key = config, cuts
        if key not in self._morphemes:
            counts = self.sequence(cuts).counts()
            self._morphemes[key] = Ahead(lambda: find_morphemes(counts, config))
            self._ready_chart_text(cuts)
        found = self._morphemes[key].result()
        if not found.longer:
            # MorphOverriding would change nothing.
            raise TreetokError(
                f"of {config.size} morphemes, none is longer than a character: the text has"
                f" {len(found.characters)} characters that are morphemes, too; choose more --morphemes"
            )
        return found

    # ---- composition models

    def _identity(self, variant: CompositionVariant | EnsembleVariant) -> dict[str, Any]:
        return {
            "text": self.text_sha256,
            "settings": dataclasses.asdict(self.settings),
            "own_settings": variant.own_settings(self.settings),
        }

    def _train_composition(self, name: str, variant: CompositionVariant) -> TrainedModel:
        member, figures = self._member(name, variant)
        trees = single_model_trees(member, self.device, variant.model_preset(self.settings).model)
        return TrainedModel(trees, figures)

    def _train_ensemble(self, name: str, variant: EnsembleVariant) -> TrainedModel:
        members = [self._member(name, member)[0] for name, member in variant.members.items()]
        (overriding,) = {member.morph_overriding for member in variant.members.values()}
        figures: dict[str, Any] = {"device": device_name(self.device)}
        pieces = self._pieces(name, variant) if variant.pieces.size else None
        if pieces is not None:
            figures["pieces"] = len(pieces.pieces)
        trees = CompositionTrees(members, self.device, overriding, variant.decoding, pieces)
        return TrainedModel({MBR_TREES: trees}, figures)

    def _pieces(self, name: str, variant: EnsembleVariant) -> PieceModel | None:
        """The language model of pieces, of the stretches that the first member was trained on."""
        member = next(iter(variant.members.values()))
        cuts = member.cuts(self.settings)
        preset = dataclasses.replace(member.model_preset(self.settings), pieces=variant.pieces)
        run = continued_run(self.folder / name, self._identity(variant))
        return piece_model(preset, lambda: self.sequence(cuts), {}, run, self.progress)[0]

    def _member(self, name: str, variant: CompositionVariant) -> tuple[EnsembleMember, dict[str, Any]]:
        """A model, trained now or earlier, and the figures of its training."""
        preset = variant.model_preset(self.settings)
        cuts = variant.cuts(self.settings)
        run = continued_run(self.folder / name, self._identity(variant))

        def find() -> Made:
            found = self._found_morphemes(variant.morphemes, cuts)
            return {MORPHEMES: [found.characters, found.longer]}, {"morphemes": len(found)}

        morphemes = MorphemeVocabulary(*run.stage("morphemes", {}, {MORPHEMES: JSON}, find)[MORPHEMES])

        def train() -> Made:
            with explained_memory_errors(f"choose fewer --sequences than {variant.sequences}"):
                trainer = assemble_trainer(
                    self._ready_chart_text(cuts),
                    preset.model,
                    preset.training,
                    morphemes,
                    self.device,
                    PRESETS["paper"].parser,
                )
                with self._timed():
                    self._run(trainer, variant.seconds(self.settings), run.place("training"), name)
            per_step = trainer.maker.sequences * trainer.maker.words_per_sequence
            figures = {
                **figures_of(trainer),
                "stretches_seen": trainer.step * per_step,
                "stretches_in_text": len(self.sequence(cuts).numbers),
                "seconds": round(trainer.seconds_before, 1),
                "device": device_name(self.device),
                "morphemes": len(morphemes),
            }
            return {MEMBER: member_of(trainer, morphemes).as_bytes()}, figures

        with computing_threads(self.device, None):
            content = run.stage("training", {}, {MEMBER: BYTES}, train)[MEMBER]
        free_memory(self.device)
        record = run.records["training"]
        member = EnsembleMember.from_bytes(content, MEMBER, self.device)
        return member, {**record.figures, "peak_memory": record.peak_memory}

    def _run(self, trainer: Trainer, seconds: float, folder: Path | None, name: str) -> None:
        restore(folder, lambda place: load_checkpoint(trainer, place))
        trainer.seconds = seconds
        if trainer.seconds_before >= trainer.seconds:
            return
        first = trainer.step

        def save(of: Trainer) -> None:
            if folder is not None:
                save_checkpoint(of, folder)

        with self.progress.stage(f"training {name}", None, "steps", stoppable=False) as shown:
            finished = trainer.run(
                save=save,
                save_seconds=CHECKPOINT_SECONDS,
                step_taken=lambda step: shown.at(step - first),
            )
        if not finished:
            raise TreetokError(f"stopped at step {trainer.step} of {name}: the same command continues from there")

    # ---- the grammar

    def _train_grammar(self, name: str, variant: GrammarVariant) -> TrainedModel:
        sequence = self.sequence(Cuts(self.settings.longest))
        counts = sequence.counts()
        words, characters = TrainingWords(counts, self.settings.longest), CharacterTable.of_words(counts)
        torch.manual_seed(self.settings.seed)
        grammar = NeuralGrammar(variant.grammar, len(characters))
        trainer = GrammarTrainer(grammar, words, characters, variant.training(self.settings), self.device)
        with stop_signal() as stopped, computing_threads(self.device, None):
            self.progress.is_stopping = stopped.is_set
            with self._timed():
                train_grammar(trainer, self.folder / name, self.progress, CHECKPOINT_SECONDS)
        self.progress.is_stopping = lambda: False
        figures = {
            "steps": trainer.step,
            "stretches_seen": trainer.step * variant.words_per_step,
            "seconds": round(trainer.seconds, 1),
            "stretches_in_text": len(sequence.numbers),
            "device": device_name(self.device),
            "nats_per_stretch": round(trainer.mean_loss(), 3),
        }
        return TrainedModel({MBR_TREES: MbrTrees(grammar, characters, self.device)}, figures)

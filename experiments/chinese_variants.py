"""Settings of the Chinese experiment: those that all models share, and those of a composition model, of several
that are decoded together, and of the neural PCFG."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from han_text import Cuts
from neural_pcfg.grammar import GrammarConfig
from neural_pcfg.training import TrainingConfig as GrammarTraining
from neural_pcfg.training import check_end, check_seed
from treetok.errors import TreetokError
from treetok.model.data.morpheme_vocabulary import MorphemeConfig
from treetok.model.data.piece_model import PieceConfig
from treetok.model.decoding import DecodingConfig
from treetok.model.presets import PRESETS, Preset
from treetok.model.training.trainer import TrainingConfig

MOST_STEPS = 20_000
WARMUP = 0.08
WEAK_LINKS = "weak links"
# About 512 characters, the paper's context.
STRETCHES_PER_SEQUENCE = 64
# The paper's learning rate of the parser, for which that of our models is multiplied.
PARSER_LEARNING_RATE = 1e-2
LEARNING_RATE = 2e-3


@dataclass(frozen=True)
class Settings:
    """What all models share.

    longest: of the stretches to train on; longer ones are cut.
    seconds, steps: training ends when either is reached; 0 is no limit.
    """

    longest: int = 20
    seconds: float = 80.0
    steps: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_end(self.seconds, self.steps)
        check_seed(self.seed)
        if self.longest < 2:
            raise TreetokError(
                f"--longest must be at least 2, since one character has no tree, not {self.longest}"
            )


@dataclass(frozen=True)
class CompositionVariant:
    """A composition model. Complete charts take memory for every split, so that batches are smaller.

    times: how much longer it is trained than others.
    longest: of the stretches to train on, if not those of the settings.
    at_weak_links: where longer stretches are cut (`han_text.Cuts`).
    most_steps: more than its time allows: the learning rate then goes by time.
    """

    chart: str
    morph_overriding: bool
    sequences: int
    preset: Preset
    morphemes: MorphemeConfig
    times: int = 1
    longest: int | None = None
    at_weak_links: bool = False
    most_steps: int = MOST_STEPS

    def cuts(self, settings: Settings) -> Cuts:
        return Cuts(min(self.longest or settings.longest, settings.longest), self.at_weak_links)

    def seconds(self, settings: Settings) -> float:
        return settings.seconds * self.times or math.inf

    def model_preset(self, settings: Settings) -> Preset:
        objective = dataclasses.replace(self.preset.model.objective, morph_overriding=self.morph_overriding)
        steps = settings.steps * self.times or self.most_steps
        training = TrainingConfig(
            steps=steps,
            sequences=self.sequences,
            words_per_sequence=STRETCHES_PER_SEQUENCE,
            learning_rate=LEARNING_RATE,
            parser_learning_rate_factor=PARSER_LEARNING_RATE / LEARNING_RATE,
            warmup_steps=int(WARMUP * steps),
            seed=settings.seed,
        )
        model = dataclasses.replace(
            self.preset.model,
            objective=objective,
            chart=self.chart,
            max_word_length=self.cuts(settings).longest,
        )
        return dataclasses.replace(self.preset, model=model, training=training)

    def own_settings(self, settings: Settings) -> dict[str, Any]:
        preset = self.model_preset(settings)
        described = {
            "model": dataclasses.asdict(preset.model),
            "training": dataclasses.asdict(preset.training),
            "morphemes": dataclasses.asdict(self.morphemes),
        }
        if self.chart == "pruned":
            described["parser"] = dataclasses.asdict(PRESETS["paper"].parser)
        if self.times > 1:
            described["times"] = self.times
        if self.at_weak_links:
            described["cuts"] = WEAK_LINKS
        return described


@dataclass(frozen=True)
class EnsembleVariant:
    """Composition models, by name, that are decoded together; trained if they are not in the folder yet.

    pieces: of a language model of pieces that is decoded together with them, if its size is not 0.
    """

    members: dict[str, CompositionVariant]
    pieces: PieceConfig = field(default_factory=PieceConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def own_settings(self, settings: Settings) -> dict[str, Any]:
        described = {"members": {name: member.own_settings(settings) for name, member in self.members.items()}}
        if self.pieces.size:
            described |= {"pieces": dataclasses.asdict(self.pieces), "decoding": dataclasses.asdict(self.decoding)}
        return described


@dataclass(frozen=True)
class GrammarVariant:
    """The neural PCFG."""

    grammar: GrammarConfig = field(default_factory=GrammarConfig)
    words_per_step: int = 8192

    def training(self, settings: Settings) -> GrammarTraining:
        return GrammarTraining(
            steps=settings.steps,
            seconds=settings.seconds,
            words_per_step=self.words_per_step,
            seed=settings.seed,
        )

    def own_settings(self, settings: Settings) -> dict[str, Any]:
        return {
            "grammar": dataclasses.asdict(self.grammar),
            "training": dataclasses.asdict(self.training(settings)),
        }


Variant = CompositionVariant | EnsembleVariant | GrammarVariant

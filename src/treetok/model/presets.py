"""Presets: everything there is to choose about learning trees, under three names.

`paper` follows the appendix of the paper, `fast` is what we found to learn best on one GPU in minutes, `tiny`
learns something on a CPU in minutes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from treetok.errors import TreetokError
from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig
from treetok.model.data.morphemes import MorphemeConfig
from treetok.model.decoding import GREEDY, DecodingConfig
from treetok.model.distillation.distil import DistillationConfig
from treetok.model.network.parser import ParserConfig
from treetok.model.training.trainer import TrainingConfig


@dataclass(frozen=True)
class Preset:
    """One dataclass for each component.

    committee: a model is trained with the morphemes of each, one after the other; their trees are taken together.
    made_up: so many strings are made up for the parser to learn from, beside the words; at most two for a word.
    max_epochs: a small text is not gone through more often than this, however many steps the settings say.
    max_words: of a large text so many running words are learned from.
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    ensemble: tuple[MorphemeConfig, ...] = (MorphemeConfig(),)
    parser: ParserConfig = field(default_factory=ParserConfig)
    distillation: DistillationConfig = field(default_factory=DistillationConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    pseudo_words: int = 0
    max_epochs: int = 60
    max_words: int = 300_000_000

    def __post_init__(self) -> None:
        if not self.ensemble:
            raise TreetokError("a committee has at least one member")
        if len(self.ensemble) > 1 and not self.decoding.expected_spans:
            raise TreetokError("trees as in the paper come from one composition model, not from several")

    def settings_of_member(self, number: int) -> TrainingConfig:
        """What the members are trained with: all the same but for the seed."""
        return dataclasses.replace(self.training, seed=self.training.seed + number)

    def for_text(self, running_words: int, seed: int) -> Preset:
        """With the seed, and with fewer steps where the text is small."""
        words_per_step = self.training.sequences * self.training.words_per_sequence
        steps = min(self.training.steps, max(20, self.max_epochs * running_words // words_per_step))
        warmup = min(self.training.warmup_steps, steps // 4)
        return dataclasses.replace(
            self,
            training=dataclasses.replace(self.training, steps=steps, warmup_steps=warmup, seed=seed),
            distillation=dataclasses.replace(self.distillation, seed=seed),
        )


PRESETS = {
    "paper": Preset(
        ModelConfig(language_model=LanguageModelConfig(dropout=0.1), chart="pruned"),
        TrainingConfig(
            steps=12_000,
            sequences=1024,
            learning_rate=5e-4,
            parser_learning_rate_factor=20.0,
            warmup_steps=1200,
            final_lr_ratio=0.0,
        ),
        parser=ParserConfig(max_morpheme_length=0),
        distillation=DistillationConfig(learn_subtrees=True),
        decoding=GREEDY,
    ),
    # The same vocabulary twice, with other seeds, adds nothing; other vocabularies do (docs/training.md).
    "fast": Preset(
        training=TrainingConfig(steps=3000),
        ensemble=(
            MorphemeConfig("bpe", 10_000),
            MorphemeConfig("unigram", 10_000, count_power=0.5),
            MorphemeConfig("stems", 13_000, count_power=0.5),
        ),
        parser=ParserConfig(dimension=128, hidden=256),
        distillation=DistillationConfig(epochs=20, dropout=0.1),
        pseudo_words=600_000,
    ),
    "tiny": Preset(
        ModelConfig(
            CompositionConfig(dimension=32, hidden=64, inside_layers=2),
            LanguageModelConfig(layers=2),
            max_word_length=16,
        ),
        TrainingConfig(steps=750, sequences=8, words_per_sequence=24, learning_rate=4e-3, warmup_steps=50),
        (MorphemeConfig("bpe", 2000), MorphemeConfig("unigram", 2000, count_power=0.5)),
        ParserConfig(dimension=32, hidden=64, layers=2),
        DistillationConfig(epochs=20, words_per_batch=512, max_words=30_000, dropout=0.1),
        pseudo_words=20_000,
        max_epochs=200,
    ),
}


def preset_named(name: str | None, device: str) -> Preset:
    """A preset by name; without a name `fast` on a GPU and `tiny` on a CPU."""
    if name is None:
        name = "fast" if device.startswith("cuda") else "tiny"
    if not isinstance(name, str) or name not in PRESETS:
        raise TreetokError(f"unknown preset {name!r}: choose {', '.join(PRESETS)}")
    return PRESETS[name]

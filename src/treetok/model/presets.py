"""Presets: everything there is to choose about learning trees, under three names.

`paper` follows the appendix of the paper, `fast` is what we found to learn best on one GPU in minutes, `tiny`
learns something on a CPU in minutes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from treetok.errors import TreetokError
from treetok.model.configuration import CompositionSizes, LanguageModelSizes, ModelConfiguration
from treetok.model.distillation import DistillationSettings
from treetok.model.induction import AS_IN_THE_PAPER, TreeReading
from treetok.model.morphemes import MorphemeSettings
from treetok.model.parser import ParserSizes
from treetok.model.training import TrainingSettings


@dataclass(frozen=True)
class Preset:
    """One dataclass for each component.

    committee: a model is trained with the morphemes of each, one after the other; their trees are taken together.
    made_up: so many strings are made up for the parser to learn from, beside the words; at most two for a word.
    most_passes: a small text is not gone through more often than this, however many steps the settings say.
    most_words: of a large text so many running words are learned from.
    """

    model: ModelConfiguration = field(default_factory=ModelConfiguration)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    committee: tuple[MorphemeSettings, ...] = (MorphemeSettings(),)
    parser: ParserSizes = field(default_factory=ParserSizes)
    distillation: DistillationSettings = field(default_factory=DistillationSettings)
    reading: TreeReading = field(default_factory=TreeReading)
    made_up: int = 0
    most_passes: int = 60
    most_words: int = 300_000_000

    def __post_init__(self) -> None:
        if not self.committee:
            raise TreetokError("a committee has at least one member")
        if len(self.committee) > 1 and not self.reading.expected_spans:
            raise TreetokError("trees as in the paper come from one composition model, not from several")

    def settings_of_member(self, number: int) -> TrainingSettings:
        """What the members are trained with: all the same but for the seed."""
        return dataclasses.replace(self.training, seed=self.training.seed + number)

    def for_text(self, running_words: int, seed: int) -> Preset:
        """With the seed, and with fewer steps where the text is small."""
        words_a_step = self.training.sequences * self.training.words_a_sequence
        steps = min(self.training.steps, max(20, self.most_passes * running_words // words_a_step))
        warmup = min(self.training.warmup_steps, steps // 4)
        return dataclasses.replace(
            self,
            training=dataclasses.replace(self.training, steps=steps, warmup_steps=warmup, seed=seed),
            distillation=dataclasses.replace(self.distillation, seed=seed),
        )


PRESETS = {
    "paper": Preset(
        ModelConfiguration(language_model=LanguageModelSizes(dropout=0.1), chart="pruned"),
        TrainingSettings(
            steps=12_000,
            sequences=1024,
            learning_rate=5e-4,
            parser_learning_rate_factor=20.0,
            warmup_steps=1200,
            final_share=0.0,
        ),
        parser=ParserSizes(longest_morpheme=0),
        distillation=DistillationSettings(learn_subtrees=True),
        reading=AS_IN_THE_PAPER,
    ),
    # The same vocabulary twice, with other seeds, adds nothing; other vocabularies do (docs/training.md).
    "fast": Preset(
        training=TrainingSettings(steps=3000),
        committee=(
            MorphemeSettings("bpe", 10_000),
            MorphemeSettings("unigram", 10_000, count_power=0.5),
            MorphemeSettings("stems", 13_000, count_power=0.5),
        ),
        parser=ParserSizes(dimension=128, hidden=256),
        distillation=DistillationSettings(epochs=20, dropout=0.1),
        made_up=600_000,
    ),
    "tiny": Preset(
        ModelConfiguration(
            CompositionSizes(dimension=32, hidden=64, inside_layers=2),
            LanguageModelSizes(layers=2),
            longest_word=16,
        ),
        TrainingSettings(steps=750, sequences=8, words_a_sequence=24, learning_rate=4e-3, warmup_steps=50),
        (MorphemeSettings("bpe", 2000), MorphemeSettings("unigram", 2000, count_power=0.5)),
        ParserSizes(dimension=32, hidden=64, layers=2),
        DistillationSettings(epochs=20, words_a_batch=512, most_words=30_000, dropout=0.1),
        made_up=20_000,
        most_passes=200,
    ),
}


def preset_named(name: str | None, device: str) -> Preset:
    """A preset by name; without a name `fast` on a GPU and `tiny` on a CPU."""
    if name is None:
        name = "fast" if device.startswith("cuda") else "tiny"
    if not isinstance(name, str) or name not in PRESETS:
        raise TreetokError(f"unknown preset {name!r}: choose {', '.join(PRESETS)}")
    return PRESETS[name]

"""Presets: four named sets of all settings of neural training.

`best` trains the best ensemble we know, `fast` a smaller one, both on one GPU; `tiny` learns
something on a CPU in minutes; `paper` is the method of the paper, with its sizes (docs/algorithms.md has the
differences that are left).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from treetok.errors import TreetokError
from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig, check_at_least_one
from treetok.model.data.morpheme_vocabulary import MorphemeConfig
from treetok.model.data.piece_model import PieceConfig, PieceModel
from treetok.model.decoding import GREEDY, DecodingConfig, PrunedTrees, ensemble_trees
from treetok.model.distillation.trainer import DistillationConfig
from treetok.model.ensemble import EnsembleMember
from treetok.model.network.parser import ParserConfig
from treetok.model.training.trainer import TrainingConfig
from treetok.sources import TreeSource
from treetok.vocabulary import DEFAULT_METHOD

FEWEST_STEPS = 20


@dataclass(frozen=True)
class Preset:
    """One config for each component.

    ensemble: one model is trained per morpheme vocabulary; trees are decoded from all models together.
    pieces: a language model of pieces, decoded together with the ensemble; of size 0, there is none.
    pseudo_words: the number of pseudo-words the parser learns from in addition to words; at most two per word.
    pseudo_compounds: the same for pseudo-words that are two words in one; at most one per word.
    max_epochs: the maximum number of passes over a small text, regardless of the number of steps.
    max_words: the maximum number of running words to train on.
    vocab: how the vocabulary is chosen, unless the option `vocab` says otherwise.
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    ensemble: tuple[MorphemeConfig, ...] = (MorphemeConfig(),)
    parser: ParserConfig = field(default_factory=ParserConfig)
    distillation: DistillationConfig = field(default_factory=DistillationConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    pieces: PieceConfig = field(default_factory=PieceConfig)
    pseudo_words: int = 0
    pseudo_compounds: int = 0
    max_epochs: int = 60
    max_words: int = 300_000_000
    vocab: str = DEFAULT_METHOD

    def __post_init__(self) -> None:
        if not self.ensemble:
            raise TreetokError("an ensemble has at least one member")
        if self.ensemble[0].method == "trees":
            raise TreetokError("the first member of an ensemble has no trees to take morphemes from")
        if (len(self.ensemble) > 1 or self.pieces.size) and not self.decoding.mbr:
            raise TreetokError(
                "greedy decoding takes the trees of one model, not of an ensemble or of pieces: leave decoding.mbr"
                " at true, or have one model and pieces.size = 0"
            )
        sequence, longest = self.training.words_per_sequence, self.model.language_model.max_sequence_length
        if sequence > longest:
            raise TreetokError(f"words_per_sequence is {sequence}, more than max_sequence_length, {longest}")
        if self.keeps_joint_parser and not self.decoding.own_morpheme:
            raise TreetokError("pruned charts are decoded with own_morpheme = true")
        for name in ("pseudo_words", "pseudo_compounds"):
            if getattr(self, name) < 0:
                raise TreetokError(f"{name} must be at least 0, not {getattr(self, name)}")
        check_at_least_one(self, "max_epochs", "max_words")

    @property
    def keeps_joint_parser(self) -> bool:
        """Whether the parser trained with the composition model becomes the tokenizer's, and trees are read off
        the charts it prunes. MBR decoding needs complete charts; a parser is then distilled from their trees."""
        return self.model.chart == "pruned" and not self.decoding.mbr

    def trees(
        self, members: Sequence[EnsembleMember], device: str, pieces: PieceModel | None = None
    ) -> TreeSource:
        """The trees of trained models, decoded as this preset says."""
        overriding = self.model.objective.morph_overriding
        if self.keeps_joint_parser:
            (member,) = members
            return PrunedTrees(member, self.model.window, device, overriding)
        return ensemble_trees(members, device, overriding, self.decoding, pieces)

    def training_of_member(self, number: int) -> TrainingConfig:
        """All members have the same training settings except for the seed."""
        return dataclasses.replace(self.training, seed=self.training.seed + number)

    def for_text(self, running_words: int, seed: int) -> Preset:
        """The preset with the seed set, and with fewer steps if the text is small."""
        words_per_step = self.training.sequences * self.training.words_per_sequence
        steps = min(self.training.steps, max(FEWEST_STEPS, self.max_epochs * running_words // words_per_step))
        warmup = min(self.training.warmup_steps, steps // 4)
        return dataclasses.replace(
            self,
            training=dataclasses.replace(self.training, steps=steps, warmup_steps=warmup, seed=seed),
            distillation=dataclasses.replace(self.distillation, seed=seed),
        )


# Another seed with the same morphemes does not help; other morphemes do (docs/lab-notes.md).
BPE = MorphemeConfig("bpe", 10_000)
UNIGRAM = MorphemeConfig("unigram", 10_000, count_power=0.5)
# Strings suggested by the trees of the members before it.
TREES = MorphemeConfig("trees", 24_000)

# Large batches share most of their words, and long words have most of the splits (docs/lab-notes.md).
MODEL = ModelConfig(max_word_length=14)
TRAINING = TrainingConfig(steps=1300, sequences=512, learning_rate=2e-3, warmup_steps=150)
# Seven times as much arithmetic (128 dimensions, 4 layers) learns the same trees no better (docs/lab-notes.md).
PARSER = ParserConfig(dimension=64, hidden=128, layers=2)
DISTILLATION = DistillationConfig(epochs=25, dropout=0.05, learning_rate=4e-3)

PRESETS = {
    "best": Preset(
        MODEL,
        TRAINING,
        ensemble=(BPE, UNIGRAM, TREES),
        pieces=PieceConfig(40_000),
        parser=PARSER,
        distillation=DISTILLATION,
        pseudo_words=900_000,
    ),
    "fast": Preset(
        MODEL,
        TRAINING,
        ensemble=(BPE, UNIGRAM),
        pieces=PieceConfig(40_000),
        parser=PARSER,
        distillation=DISTILLATION,
        pseudo_words=600_000,
    ),
    "tiny": Preset(
        ModelConfig(
            CompositionConfig(dimension=32, hidden=64, inside_layers=2),
            LanguageModelConfig(layers=2),
            max_word_length=16,
        ),
        TrainingConfig(steps=750, sequences=8, words_per_sequence=24, learning_rate=4e-3, warmup_steps=50),
        (MorphemeConfig("bpe", 2000),),
        ParserConfig(dimension=32, hidden=64, layers=2),
        DistillationConfig(epochs=6, words_per_batch=512, learning_rate=5e-3, max_words=100_000, dropout=0.1),
        DecodingConfig(max_word_length=16),
        pieces=PieceConfig(16_000),
        pseudo_words=10_000,
        pseudo_compounds=20_000,
        max_epochs=200,
    ),
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
        (MorphemeConfig("bpe", 10_000, max_characters=1903),),
        ParserConfig(max_morpheme_length=0),
        decoding=GREEDY,
        vocab="paper",
    ),
}


def preset_named(name: str | None, device: str) -> Preset:
    """A preset by name; None is `fast` on a GPU and `tiny` on a CPU."""
    name = default_preset(device) if name is None else name
    if not isinstance(name, str) or name not in PRESETS:
        raise TreetokError(f"unknown preset {name!r}: choose {', '.join(PRESETS)}")
    return PRESETS[name]


def default_preset(device: str) -> str:
    return "fast" if device.startswith("cuda") else "tiny"

"""Training made so small that it takes seconds; nothing is asked of its trees."""

import os
import sys

from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig
from treetok.model.data.morpheme_vocabulary import MorphemeConfig
from treetok.model.decoding import DecodingConfig
from treetok.model.distillation.trainer import DistillationConfig
from treetok.model.network.parser import ParserConfig
from treetok.model.presets import Preset
from treetok.model.training.trainer import TrainingConfig

MINUTE = Preset(
    ModelConfig(
        CompositionConfig(dimension=8, heads=2, hidden=16, inside_layers=1),
        LanguageModelConfig(layers=1, heads=2),
        max_word_length=9,
    ),
    TrainingConfig(steps=12, sequences=4, words_per_sequence=8, warmup_steps=2),
    (MorphemeConfig("unigram", 150, count_power=0.5), MorphemeConfig("bpe", 100)),
    ParserConfig(dimension=8, heads=2, hidden=16, layers=1),
    DistillationConfig(epochs=2, words_per_batch=128),
    DecodingConfig(max_word_length=9),
)

# The same for the command, which takes settings of `tiny`, and a little longer: there must be time to stop it.
SETTINGS = {
    "model.composition.dimension": 8,
    "model.composition.heads": 2,
    "model.composition.hidden": 16,
    "model.composition.inside_layers": 1,
    "model.language_model.layers": 1,
    "model.max_word_length": 12,
    "decoding.max_word_length": 12,
    "training.steps": 60,
    "training.sequences": 4,
    "training.words_per_sequence": 8,
    "training.warmup_steps": 5,
    "ensemble.0.size": 150,
    "pieces.size": 150,
    "parser.dimension": 8,
    "parser.hidden": 16,
    "parser.layers": 1,
    "distillation.epochs": 6,
    "distillation.words_per_batch": 64,
    "pseudo_words": 400,
    "pseudo_compounds": 200,
}


def command(corpus, out, *further):
    # TREETOK_TINY=1 pytest: the preset as it is, which takes many minutes.
    settings = (
        []
        if os.environ.get("TREETOK_TINY")
        else [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    )
    basics = ["--vocab-size", "400", "--profile", "uncased", "--preset", "tiny", "--device", "cpu"]
    arguments = ["train", str(corpus), "-o", str(out), *basics, *settings, *map(str, further)]
    return [sys.executable, "-m", "treetok", *arguments]


def files_of(directory):
    """The files of a tokenizer, without the folder of its training."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}

"""Which models the Chinese experiment trains, and which of them are decoded together."""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass

from chinese_variants import (
    MOST_STEPS,
    CompositionVariant,
    EnsembleVariant,
    GrammarVariant,
    Variant,
)
from neural_pcfg.grammar import GrammarConfig
from treetok.model.data.morpheme_vocabulary import MorphemeConfig
from treetok.model.data.piece_model import PieceConfig
from treetok.model.decoding import DecodingConfig
from treetok.model.presets import PRESETS

MOST_TIMES_IN_QUICK = 3


@dataclass(frozen=True)
class Recipe:
    """What a model is named for.

    times: how much longer than others it is trained.
    method, factor: of its morphemes, and what --morphemes is multiplied by. Without MorphOverriding, they are
        what the span loss predicts.
    longest, at_weak_links: of its stretches, if not --longest (`han_text.Cuts`).
    """

    chart: str
    morph_overriding: bool
    times: int = 1
    method: str = "bpe"
    factor: float = 1
    longest: int | None = None
    at_weak_links: bool = False


# Of models that are trained longer: steps are worth more than batches, and complete charts of up to 12 characters,
# which are longer than most words, take half the time of those of up to 20; of up to 8, a quarter.
SEQUENCES_OF_LONGER, STRETCHES_OF_LONGER, SHORT_STRETCHES = 48, 12, 8
# More than fit into the time of any model.
STEPS_OF_SHORT = 60_000
# Models with the same stretches follow each other, so that their substrings are tabulated once.
RECIPES = {
    "complete": Recipe("complete", True),
    "complete-no-overriding": Recipe("complete", False),
    "pruned": Recipe("pruned", True),
    "pruned-no-overriding": Recipe("pruned", False),
    "complete-no-overriding-longer": Recipe("complete", False, 15, longest=STRETCHES_OF_LONGER),
    "complete-no-overriding-unigram": Recipe("complete", False, 11, "unigram", 2, STRETCHES_OF_LONGER),
    "pruned-no-overriding-unigram": Recipe("pruned", False, 11, "unigram", 2, STRETCHES_OF_LONGER),
    "weak-links": Recipe("complete", False, 6, "bpe", 1, SHORT_STRETCHES, True),
    "weak-links-bpe-x3": Recipe("complete", False, 6, "bpe", 3, SHORT_STRETCHES, True),
    "weak-links-unigram-x2": Recipe("complete", False, 6, "unigram", 2, SHORT_STRETCHES, True),
    "weak-links-unigram-x4": Recipe("complete", False, 6, "unigram", 4, SHORT_STRETCHES, True),
    "pruned-weak-links": Recipe("pruned", False, 3, "bpe", 2, SHORT_STRETCHES, True),
    "pruned-weak-links-unigram": Recipe("pruned", False, 3, "unigram", 2, SHORT_STRETCHES, True),
    "longer-weak-links": Recipe("complete", False, 14, "bpe", 1, STRETCHES_OF_LONGER, True),
    "longer-weak-links-fewer": Recipe("complete", False, 14, "bpe", 0.6, STRETCHES_OF_LONGER, True),
    "longer-weak-links-fewer-unigram": Recipe("complete", False, 14, "unigram", 0.8, STRETCHES_OF_LONGER, True),
}
# Models that are decoded together.
AT_WEAK_LINKS = tuple(
    name for name, recipe in RECIPES.items() if recipe.at_weak_links and recipe.chart == "complete"
)
ENSEMBLES = {
    "no-overriding-ensemble": ("complete-no-overriding-unigram", "pruned-no-overriding-unigram"),
    "weak-links-ensemble": AT_WEAK_LINKS,
    "weak-links-pieces": AT_WEAK_LINKS,
}
# With a language model of pieces, and temperatures that were chosen on the development sentences. Counts are taken
# as they are: stretches are not words, and few are frequent. Most new words have two characters.
WITH_PIECES = ("weak-links-pieces",)
PIECES_FACTOR = 4
PIECES = PieceConfig(count_power=1.0, shortest_new_piece=2)
DECODING_WITH_PIECES = DecodingConfig(temperature=1.75, piece_temperature=1.5)
PCFG = "pcfg"
TREE_MODELS = (*RECIPES, *ENSEMBLES, PCFG)
# Complete charts of 80 x 64 stretches of up to 20 characters take about 80 GB of a GPU.
SEQUENCES = {"complete": 80, "pruned": 128}
# All but 0.02 % of the running characters of Chinese Wikipedia.
CHARACTERS = 6000


def variants_of(options: argparse.Namespace) -> dict[str, Variant]:
    preset = PRESETS["tiny" if options.quick else "fast"]
    models = {
        name: CompositionVariant(
            recipe.chart,
            recipe.morph_overriding,
            options.sequences or (SEQUENCES[recipe.chart] if recipe.times == 1 else SEQUENCES_OF_LONGER),
            preset,
            MorphemeConfig(recipe.method, round(recipe.factor * options.morphemes), max_characters=CHARACTERS),
            min(recipe.times, MOST_TIMES_IN_QUICK) if options.quick else recipe.times,
            recipe.longest,
            recipe.at_weak_links,
            STEPS_OF_SHORT if recipe.longest == SHORT_STRETCHES else MOST_STEPS,
        )
        for name, recipe in RECIPES.items()
    }
    ensembles = {
        name: EnsembleVariant({member: models[member] for member in members})
        for name, members in ENSEMBLES.items()
    }
    pieces = dataclasses.replace(PIECES, size=PIECES_FACTOR * options.morphemes)
    for name in WITH_PIECES:
        ensembles[name] = dataclasses.replace(ensembles[name], pieces=pieces, decoding=DECODING_WITH_PIECES)
    grammar = GrammarVariant(GrammarConfig(8, 16, 16, 32), 64) if options.quick else GrammarVariant()
    return {**models, **ensembles, PCFG: grammar}

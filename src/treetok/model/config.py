"""The configuration of every component; the defaults are those of the paper's appendix."""

from __future__ import annotations

from dataclasses import dataclass, field

from treetok.errors import TreetokError

CHARTS = ("complete", "pruned")


def check_at_least_one(config: object, *names: str) -> None:
    for name in names:
        if getattr(config, name) < 1:
            raise TreetokError(f"{name} must be at least 1, not {getattr(config, name)}")


def check_count_power(power: float) -> None:
    """Counts are raised to this power."""
    if not 0 <= power <= 1:
        raise TreetokError(f"count_power must be between 0 and 1, not {power}")


@dataclass(frozen=True)
class CompositionConfig:
    """The composition function f_alpha, the outside function f_beta and their embeddings."""

    dimension: int = 128
    heads: int = 4
    hidden: int = 512
    inside_layers: int = 4
    outside_layers: int = 1

    def __post_init__(self) -> None:
        check_at_least_one(self, "dimension", "heads", "hidden", "inside_layers", "outside_layers")
        if self.dimension % self.heads:
            raise TreetokError(f"{self.heads} heads do not divide {self.dimension} dimensions")


@dataclass(frozen=True)
class LanguageModelConfig:
    """The causal language model over composed words."""

    layers: int = 3
    heads: int = 4
    dropout: float = 0.0
    max_sequence_length: int = 1024

    def __post_init__(self) -> None:
        check_at_least_one(self, "layers", "heads", "max_sequence_length")
        if not 0 <= self.dropout < 1:
            raise TreetokError(f"dropout must be at least 0 and below 1, not {self.dropout}")


@dataclass(frozen=True)
class ObjectiveConfig:
    """The training objectives, with a switch for each ablation of the paper's Table 3.

    context: the auto-regression loss L_ar; without it, words are trained in isolation.
    context_root: the outside vector of a word's root is the language model's state before the word.
    morph_overriding: spans that are morphemes have an embedding of their own.
    span_loss: L_ae predicts morphemes, not only characters.
    span_weights: morphemes in L_ae are weighted by the probability of their span.
    count_power: losses over distinct words are weighted by their count in the batch to this power; 1 is the
        paper's mean over running words.
    """

    context: bool = True
    context_root: bool = True
    morph_overriding: bool = True
    span_loss: bool = True
    span_weights: bool = True
    count_power: float = 1.0

    def __post_init__(self) -> None:
        check_count_power(self.count_power)


@dataclass(frozen=True)
class ModelConfig:
    """
    max_word_length: longer words are not trained on; they are still tokenized.
    chart: `complete` has a cell for every span of a word; `pruned` has those selected by a jointly trained parser,
        with runs of `window` + 1 blocks (`charts/pruned_cells.py`).
    """

    composition: CompositionConfig = field(default_factory=CompositionConfig)
    language_model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    max_word_length: int = 20
    chart: str = "complete"
    window: int = 4

    def __post_init__(self) -> None:
        if self.chart not in CHARTS:
            raise TreetokError(f"chart must be one of {', '.join(CHARTS)}, not {self.chart!r}")
        check_at_least_one(self, "window")
        if self.max_word_length < 2:
            raise TreetokError(f"model.max_word_length must be at least 2, not {self.max_word_length}")
        heads, dimension = self.language_model.heads, self.composition.dimension
        if dimension % heads:
            raise TreetokError(f"the {heads} heads of the language model do not divide {dimension} dimensions")

"""The sizes of every component; the defaults are those of the paper's appendix."""

from __future__ import annotations

from dataclasses import dataclass, field

from treetok.errors import TreetokError

CHARTS = ("complete", "pruned")


@dataclass(frozen=True)
class CompositionConfig:
    """The composition function f_alpha, the outside function f_beta, and the embeddings they work on."""

    dimension: int = 128
    heads: int = 4
    hidden: int = 512
    inside_layers: int = 4
    outside_layers: int = 1

    def __post_init__(self) -> None:
        if self.dimension % self.heads:
            raise TreetokError(f"{self.heads} heads do not divide {self.dimension} dimensions")


@dataclass(frozen=True)
class LanguageModelConfig:
    """The causal language model over composed words."""

    layers: int = 3
    heads: int = 4
    dropout: float = 0.0
    max_sequence_length: int = 1024


@dataclass(frozen=True)
class ObjectiveConfig:
    """What is learned from, with a switch for each ablation of the paper's Table 3.

    count_power: losses over distinct words are weighted by their count in the batch to this power; 1 is the
        paper's mean over running words.
    """

    context: bool = True
    context_root: bool = True
    morph_overriding: bool = True
    span_loss: bool = True
    span_weights: bool = True
    count_power: float = 1.0


@dataclass(frozen=True)
class ModelConfig:
    """
    chart: `complete` has a cell for every span of a word; `pruned` has those that a parser, trained along with the
        rest, leaves: its runs of `window` + 1 blocks (pruned_chart.py).
    """

    composition: CompositionConfig = field(default_factory=CompositionConfig)
    language_model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    # Longer words are kept out of training; they are still tokenized.
    max_word_length: int = 20
    chart: str = "complete"
    window: int = 4

    def __post_init__(self) -> None:
        if self.chart not in CHARTS:
            raise TreetokError(f"chart must be one of {', '.join(CHARTS)}, not {self.chart!r}")
        if self.window < 1:
            raise TreetokError(f"window must be at least 1, not {self.window!r}")

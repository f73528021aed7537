"""The tokenizers under comparison: models that exist already, and baselines trained on the same text."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from treetok.cached_property import cached_property
from treetok.corpus.counted_words import CountedWords
from treetok.corpus.counting import count_words
from treetok.errors import TreetokError, TreetokWarning, whole_number
from treetok.evaluate.baselines import DEFAULT_PROFILE, DEFAULT_VOCAB_SIZE, TOP_DOWN
from treetok.evaluate.baselines.pre_tokenized import (
    PreTokenization,
    PreTokenizedTokenizer,
    check_pre_tokenization,
)
from treetok.evaluate.baselines.top_down import top_down_only
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.load_tokenizer import load_tokenizers
from treetok.evaluate.tree_sources import tree_sources
from treetok.progress import Progress
from treetok.sources import TreeSource
from treetok.text import Profile, profile_named
from treetok.tokenizer import TreeTokenizer

if TYPE_CHECKING:
    from treetok.evaluate.baselines.morfessor_baseline import MorfessorTokenizer


@dataclass(frozen=True)
class TrainingText:
    """What baselines are trained on, and what trees from counts are computed from."""

    paths: Sequence[Path]
    profile: Profile
    progress: Progress

    @cached_property
    def word_counts(self) -> dict[str, int]:
        counts = count_words(list(self.paths), self.profile, progress=self.progress).counts()
        if not counts:
            raise TreetokError(f"{', '.join(map(str, self.paths))}: there are no words to train on")
        return counts


@dataclass(frozen=True)
class Lineup:
    """Models first, then baselines. `profile` and `vocab_size` are those of the baselines."""

    models: list[EvalTokenizer]
    baselines: list[EvalTokenizer]
    profile: Profile
    vocab_size: int
    training_text: TrainingText | None = None

    @property
    def tokenizers(self) -> list[EvalTokenizer]:
        return [*self.models, *self.baselines]

    @property
    def tree_tokenizers(self) -> list[NamedTreeTokenizer]:
        """The models that are TreeTok tokenizers."""
        return [model for model in self.models if isinstance(model, NamedTreeTokenizer)]

    @property
    def word_counts(self) -> dict[str, int]:
        """The words of the training text."""
        if self.training_text is None:
            raise TreetokError("there is no training text to count words in")
        return self.training_text.word_counts

    @property
    def notes(self) -> dict[str, Any]:
        """How the baselines were trained, for readers of a report."""
        if self.training_text is None:
            return {}
        notes: dict[str, Any] = {
            "training text": ", ".join(path.name for path in self.training_text.paths),
            "profile": self.profile.name,
            "entries": self.vocab_size,
        }
        if morfessor := self._morfessor:
            notes["Morfessor trained on"] = (
                f"the {morfessor.trained_types} most frequent of {morfessor.all_types} types"
            )
        return notes

    def trees(self, pre_tokenize: bool = True) -> dict[str, TreeSource]:
        """All sources of trees in this line-up, those of the first TreeTok model first.

        pre_tokenize: False takes every string as one word, as published results on trivial trees do; tokenizers
            have no such trees and are left out.
        """
        return tree_sources(
            self.profile,
            tokenizers=self.tree_tokenizers if pre_tokenize else (),
            morfessor=self._morfessor,
            word_counts=self.training_text.word_counts if self.training_text else None,
            pre_tokenize=pre_tokenize,
        )

    @property
    def _morfessor(self) -> MorfessorTokenizer | None:
        from treetok.evaluate.baselines.morfessor_baseline import MorfessorTokenizer

        return next((baseline for baseline in self.baselines if isinstance(baseline, MorfessorTokenizer)), None)


def build_lineup(
    models: Sequence[str],
    baselines: Sequence[str] = (),
    train_text: Sequence[Path] = (),
    *,
    vocab_size: int | None = None,
    profile: str | None = None,
    pre_tokenization: Sequence[PreTokenization] = ("equal",),
    morfessor_types: int | None = None,
    progress: Progress | None = None,
) -> Lineup:
    """Load the models and train the baselines.

    models: what `load_tokenizer` accepts.
    baselines: bpe, wordpiece, wordpiece-unmarked, unigram, morfessor, counts (TreeTok with trees from counts), or
        top-down (every TreeTok model without post-merge; this one is not trained).
    train_text: what baselines are trained on.
    vocab_size, profile: of the baselines; by default those of the first model, or else 30 000 and uncased.
    pre_tokenization: how text is split into words for bpe, wordpiece and unigram; each is trained once for every
        value given.
    morfessor_types: train Morfessor on this many of the most frequent types.
    """
    if set(baselines) - {TOP_DOWN} and not train_text:
        raise TreetokError("baselines need a text to be trained on")
    progress = progress or Progress(None)
    loaded = load_tokenizers(models)
    profile_used = chosen_profile(profile, loaded[0] if loaded else None)
    default_size = (loaded[0].vocabulary_size if loaded else None) or DEFAULT_VOCAB_SIZE
    if vocab_size is None:
        vocab_size = default_size
    vocab_size = whole_number("the vocabulary size of a baseline", vocab_size, least=1)
    for kind in pre_tokenization:
        check_pre_tokenization(kind, profile_used)
    training_text = TrainingText(train_text, profile_used, progress) if train_text else None
    trained: list[EvalTokenizer] = []
    for name in baselines:
        if name == TOP_DOWN:
            trained += top_down_variants(loaded)
        else:
            assert training_text is not None
            trained += train_baselines(name, training_text, vocab_size, pre_tokenization, morfessor_types)
    return Lineup(loaded, trained, profile_used, vocab_size, training_text)


def train_baselines(
    name: str,
    text: TrainingText,
    vocab_size: int,
    pre_tokenization: Sequence[PreTokenization],
    morfessor_types: int | None,
) -> list[EvalTokenizer]:
    """Train one baseline: a tokenizer, or one for every pre-tokenization."""
    counts = text.word_counts
    with text.progress.stage(f"training {name}", None, "tokenizers") as stage:
        if name == "counts":
            trained: list[EvalTokenizer] = [train_treetok_on_counts(counts, vocab_size, text.profile)]
        elif name == "morfessor":
            from treetok.evaluate.baselines.morfessor_baseline import DEFAULT_MAX_TYPES, train_morfessor

            max_types = DEFAULT_MAX_TYPES if morfessor_types is None else morfessor_types
            morfessor = train_morfessor(counts, text.profile, max_types=max_types)
            # The rest of its name is in the notes: tables have little room.
            morfessor.name = "Morfessor"
            trained = [morfessor]
        else:
            from treetok.evaluate.baselines.subword import Kind, train_baseline

            trained = []
            for kind in pre_tokenization:
                baseline = train_baseline(cast(Kind, name), counts, vocab_size, text.profile, kind)
                if (size := baseline.vocabulary_size) != vocab_size:
                    message = f"{baseline.name} has {size} entries; {vocab_size} were asked for"
                    warnings.warn(message, TreetokWarning, stacklevel=2)
                trained.append(baseline)
        # Reported once at the end: a rate would mean nothing here.
        stage.done = len(trained)
    return trained


def top_down_variants(models: Sequence[EvalTokenizer]) -> list[NamedTreeTokenizer]:
    """Every TreeTok model without post-merge."""
    variants = [top_down_only(model) for model in models if isinstance(model, NamedTreeTokenizer)]
    if not variants:
        raise TreetokError(f"{TOP_DOWN} is a TreeTok model without post-merge, and there is no TreeTok model here")
    return variants


def train_treetok_on_counts(counts: dict[str, int], vocab_size: int, profile: Profile) -> NamedTreeTokenizer:
    tokenizer = TreeTokenizer.train(
        CountedWords(counts), vocab_size, "counts", profile.name, profile_version=profile.version, progress=False
    )
    return NamedTreeTokenizer(tokenizer, "TreeTok, trees from counts")


def profile_of(tokenizer: EvalTokenizer | None) -> Profile:
    """The profile by which a tokenizer sees text, or the default where it has none."""
    if isinstance(tokenizer, NamedTreeTokenizer):
        return tokenizer.tokenizer.state.text_profile
    return tokenizer.profile if isinstance(tokenizer, PreTokenizedTokenizer) else profile_named(DEFAULT_PROFILE)


def chosen_profile(name: str | None, first: EvalTokenizer | None) -> Profile:
    """The profile of this name, in the version of the first model if it has this profile."""
    of_first = profile_of(first)
    return of_first if name in (None, of_first.name) else profile_named(str(name))

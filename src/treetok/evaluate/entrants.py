"""Who takes part in a comparison: tokenizers that exist already, and rivals trained for it on one text."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from treetok.corpus import count_words
from treetok.errors import TreetokError, TreetokWarning, whole_number
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.rivals.files import load_contestant
from treetok.evaluate.rivals.treetok_tokenizer import TreeTokContestant
from treetok.evaluate.rivals.wordwise import Cuts, WordwiseContestant, check_cuts
from treetok.evaluate.trees import trees_of_contest
from treetok.progress import Progress
from treetok.sources import TreeSource
from treetok.text import profile_named
from treetok.tokenizer import TreeTokenizer

if TYPE_CHECKING:
    from treetok.evaluate.rivals.morfessor_baseline import MorfessorContestant

DEFAULT_SIZE = 30_000
DEFAULT_PROFILE = "uncased"


class Entrants:
    """The contestants in order, the models first; `notes` says how they came about.

    models: what `load_contestant` takes.
    rivals: bpe, wordpiece, wordpiece-unmarked, unigram, morfessor, or counts, which is TreeTok with trees
        from counts.
    train_text: what rivals are trained on, and what trees from counts are read off.
    size, profile: of the rivals; those of the first model when None, or else 30 000 and uncased.
    cuts: how text is cut into words for bpe, wordpiece and unigram; with both, each of them takes part twice.
    """

    def __init__(
        self,
        models: Sequence[str],
        rivals: Sequence[str] = (),
        train_text: Sequence[Path] = (),
        *,
        size: int | None = None,
        profile: str | None = None,
        cuts: Sequence[Cuts] = ("equal",),
        morfessor_types: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if rivals and not train_text:
            raise TreetokError("rivals need a text to be trained on")
        self._train_text = list(train_text)
        self._progress = progress or Progress(None)
        self._morfessor_types = morfessor_types
        self._morfessor: MorfessorContestant | None = None
        self.models = load_models(models)
        first = self.models[0] if self.models else None
        self.profile = profile_named(profile or chosen_profile(self.models))
        own_size = (first.vocabulary_size if first else None) or DEFAULT_SIZE
        self.size = own_size if size is None else whole_number("the size of a rival", size, least=1)
        for kind in cuts:
            check_cuts(kind, self.profile)
        self.contestants: list[Contestant] = [*self.models]
        for rival in rivals:
            self.contestants += self._trained(rival, cuts)

    @property
    def notes(self) -> dict[str, Any]:
        if not self._train_text:
            return {}
        notes = {
            "training text": ", ".join(path.name for path in self._train_text),
            "profile": self.profile.name,
            "entries": self.size,
        }
        if self._morfessor:
            notes["Morfessor learned from"] = (
                f"{self._morfessor.learned_from} of {self._morfessor.of_types} types, the most frequent"
            )
        return notes

    @cached_property
    def word_counts(self) -> dict[str, int]:
        """The words of the training text."""
        counts = count_words(self._train_text, self.profile, progress=self._progress).counts()
        if not counts:
            raise TreetokError(f"{', '.join(map(str, self._train_text))}: there are no words to train on")
        return counts

    def trees(self, cut_first: bool = True) -> dict[str, TreeSource]:
        """Where trees come from, as far as there is something to read them off."""
        return trees_of_contest(
            self.profile,
            word_counts=self.word_counts if self._train_text else None,
            tokenizers=[contestant for contestant in self.models if isinstance(contestant, TreeTokContestant)],
            morfessor=self._morfessor,
            cut_first=cut_first,
        )

    def _trained(self, rival: str, cuts: Sequence[Cuts]) -> list[Contestant]:
        counts = self.word_counts
        with self._progress.stage(f"training {rival}", None, "tokenizers") as stage:
            if rival == "counts":
                trained: list[Contestant] = [self._train_on_counts()]
            elif rival == "morfessor":
                trained = [self._train_morfessor()]
            else:
                from treetok.evaluate.rivals.trained import Kind, train_rival

                trained = []
                for kind in cuts:
                    trained.append(train_rival(cast(Kind, rival), counts, self.size, self.profile, kind))
            for contestant in trained:
                size = contestant.vocabulary_size
                if rival not in ("morfessor", "counts") and size is not None and size != self.size:
                    warnings.warn(
                        f"{contestant.name} has {size} entries; {self.size} were asked for",
                        TreetokWarning,
                        stacklevel=2,
                    )
            # Said at the end alone: a rate means nothing here.
            stage.done = len(trained)
        return trained

    def _train_on_counts(self) -> TreeTokContestant:
        tokenizer = TreeTokenizer.train(
            self.word_counts, self.size, trees="counts", profile=self.profile.name, progress=False
        )
        return TreeTokContestant(tokenizer, "TreeTok, trees from counts")

    def _train_morfessor(self) -> MorfessorContestant:
        from treetok.evaluate.rivals.morfessor_baseline import MOST_TYPES, train_morfessor

        self._morfessor = train_morfessor(
            self.word_counts,
            self.profile,
            most_types=MOST_TYPES if self._morfessor_types is None else self._morfessor_types,
        )
        # What else its name says is in the notes: tables have little room.
        self._morfessor.name = "Morfessor"
        return self._morfessor


def chosen_profile(models: Sequence[Contestant]) -> str:
    """The profile by which the first model sees text, if that can be told."""
    first = models[0] if models else None
    if isinstance(first, TreeTokContestant):
        return first.tokenizer.profile
    return first.profile.name if isinstance(first, WordwiseContestant) else DEFAULT_PROFILE


def load_models(specs: Sequence[str]) -> list[Contestant]:
    """Tokenizers with names that tell them apart."""
    loaded = [load_contestant(spec) for spec in specs]
    names = [contestant.name for contestant in loaded]
    for number, (spec, name) in enumerate(zip(specs, names, strict=True)):
        if names.count(name) > 1:
            if specs.count(spec) > 1:
                raise TreetokError(f"{spec} is named twice")
            loaded[number] = load_contestant(spec, spec)
    return loaded

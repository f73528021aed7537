"""The time budget: how much of it a stage may use, and how long the rest of the run will take."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from treetok.errors import TreetokError
from treetok.native import why_not_native

# The cost of the stages after training, relative to training one member of the ensemble.
DECODING_PER_MEMBER, DISTILLATION = 0.25, 1.0
# For the lexicon and the vocabulary, for each distinct word; without the native core, the parser is slower.
SECONDS_PER_WORD, SECONDS_PER_WORD_WITHOUT_CORE = 2e-4, 5e-4
# The share of the budget for a stage that starts when nothing is left.
SMALLEST_SHARE = 0.03


@dataclass
class Budget:
    """Divides the time of a run among its stages. Without a limit, stages may take as long as they need."""

    minutes: float | None = None
    began: float = field(default_factory=time.monotonic)
    members: int = 0
    members_left: int = 0
    distinct_words: int = 0
    # Training time of the last member that was trained from start to finish in this run.
    member_seconds: float | None = None
    is_distilled: bool = False
    is_decoded: bool = False

    def left(self) -> float:
        return math.inf if self.minutes is None else 60 * self.minutes - (time.monotonic() - self.began)

    def tail(self) -> float:
        """Seconds reserved for the lexicon, choosing the vocabulary and saving the tokenizer."""
        per_word = SECONDS_PER_WORD if why_not_native() is None else SECONDS_PER_WORD_WITHOUT_CORE
        return per_word * self.distinct_words + 2.0

    def _parts_left(self) -> float:
        """The work left before the vocabulary, in units of training one member."""
        decoding = 0.0 if self.is_decoded else DECODING_PER_MEMBER * self.members
        distillation = 0.0 if self.is_distilled else DISTILLATION
        return self.members_left + decoding + distillation

    def for_member(self) -> float:
        """Seconds for training the next member of the ensemble."""
        seconds = (self.left() - self.tail()) / self._parts_left()
        if seconds <= 0 and self.members_left == self.members:
            raise TreetokError(
                f"--minutes {self.minutes:g} is too short: {time.monotonic() - self.began:.0f} s are spent, about"
                f" {self.tail():.0f} s are needed for the vocabulary, and nothing is left for training;"
                " what is done is kept: go on with --resume and more minutes"
            )
        return self._at_least(seconds)

    def for_decoding(self) -> float:
        """Seconds for decoding pseudo-words, which are optional for the parser."""
        return (self.left() - self.tail()) / 2

    def for_distillation(self) -> float:
        return self._at_least(self.left() - self.tail())

    def _at_least(self, seconds: float) -> float:
        """A minimum share: better to finish a little late than to waste what is already trained."""
        return seconds if self.minutes is None else max(seconds, SMALLEST_SHARE * 60 * self.minutes)

    def after_stage(self, stage: str, seconds: float) -> float | None:
        """The estimated seconds from the end of a stage to the end of the run, given the total duration of the
        stage; None if unknown."""
        if stage in ("vocabulary", "words"):
            return 0.0 if stage == "vocabulary" else None
        if stage in ("parser", "lexicon"):
            return self.tail()
        is_member = stage.startswith("member-")
        member_seconds = self.member_seconds or (seconds if is_member else None)
        if member_seconds is None:
            return None
        return (self._parts_left() - is_member) * member_seconds + self.tail()

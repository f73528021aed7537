"""Time: how much of the budget is left for a stage, and how long the whole run will still take."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from treetok.errors import TreetokError

# What the stages after training cost, in units of training one member of the ensemble.
DECODING_PER_MEMBER, DISTILLATION = 0.25, 1.0
# The vocabulary takes about as long as counting words.
VOCABULARY_PER_COUNTING = 1.2
# Of the budget, for a stage that comes too late.
SMALLEST_SHARE = 0.03


@dataclass
class Budget:
    """Shares out the time of a run. Without a limit, stages may take as long as they like."""

    minutes: float | None = None
    began: float = field(default_factory=time.monotonic)
    members: int = 0
    members_left: int = 0
    counting_seconds: float = 0.0
    # Of the last member that was trained from beginning to end in this run.
    member_seconds: float | None = None
    is_distilled: bool = False
    is_decoded: bool = False

    def left(self) -> float:
        return math.inf if self.minutes is None else 60 * self.minutes - (time.monotonic() - self.began)

    def tail(self) -> float:
        """Seconds to keep for the vocabulary and for writing the tokenizer."""
        return VOCABULARY_PER_COUNTING * self.counting_seconds + 2.0

    def _parts_left(self) -> float:
        """What is left to do before the vocabulary, in members of the ensemble."""
        decoding = 0.0 if self.is_decoded else DECODING_PER_MEMBER * self.members
        distillation = 0.0 if self.is_distilled else DISTILLATION
        return self.members_left + decoding + distillation

    def for_member(self) -> float:
        """Seconds that the next member of the ensemble may train for."""
        seconds = (self.left() - self.tail()) / self._parts_left()
        if seconds <= 0 and self.members_left == self.members:
            raise TreetokError(
                f"--minutes {self.minutes:g} is too short: {time.monotonic() - self.began:.0f} s are spent, about"
                f" {self.tail():.0f} s are needed for the vocabulary, and nothing is left for training;"
                " what is done is kept: go on with --resume and more minutes"
            )
        return self._at_least(seconds)

    def for_decoding(self) -> float:
        """Seconds for pseudo-words, which the parser can do without."""
        return (self.left() - self.tail()) / 2

    def for_distillation(self) -> float:
        return self._at_least(self.left() - self.tail())

    def _at_least(self, seconds: float) -> float:
        """Better a little late than nothing to show: what is trained already would be wasted."""
        return seconds if self.minutes is None else max(seconds, SMALLEST_SHARE * 60 * self.minutes)

    def after_stage(self, stage: str, seconds: float) -> float | None:
        """Seconds that the work after a stage will probably take, given how long the stage itself will have taken;
        None where that cannot be told yet."""
        if stage in ("vocabulary", "words"):
            return 0.0 if stage == "vocabulary" else None
        if stage in ("parser", "lexicon"):
            return self.tail()
        is_member = stage.startswith("member-")
        member_seconds = self.member_seconds or (seconds if is_member else None)
        if member_seconds is None:
            return None
        return (self._parts_left() - is_member) * member_seconds + self.tail()

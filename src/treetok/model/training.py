"""Training the composition model: one readable loop.

What happens in a step depends on the seed, the step's number and the parameters alone, so that a run that goes on
from a checkpoint does what an uninterrupted one would have done.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import torch
from torch import nn

from treetok.errors import TreetokError
from treetok.model.batches import BatchMaker, mixed_seed
from treetok.model.objectives import TreeLearner


@dataclass(frozen=True)
class TrainingSettings:
    """Batches of `sequences` times `words_a_sequence` running words; learning rate with warm-up and decay."""

    steps: int = 4000
    sequences: int = 256
    words_a_sequence: int = 96
    learning_rate: float = 1e-3
    warmup_steps: int = 200
    # What is left of the learning rate at the end.
    final_share: float = 0.05
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0

    def learning_rate_at(self, step: int) -> float:
        """
        >>> settings = TrainingSettings(steps=100, warmup_steps=10, learning_rate=1.0, final_share=0.0)
        >>> [round(settings.learning_rate_at(step), 3) for step in (0, 9, 55, 100)]
        [0.1, 1.0, 0.5, 0.0]
        """
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        share = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        cosine = (1 + math.cos(math.pi * min(1.0, share))) / 2
        return self.learning_rate * (self.final_share + (1 - self.final_share) * cosine)


@dataclass(frozen=True)
class StepReport:
    step: int
    character: float
    span: float
    next_word: float
    words_a_second: float


class NotANumber(TreetokError):
    def __init__(self, step: int) -> None:
        super().__init__(
            f"the loss is not a number after step {step}: the last checkpoint is good;"
            " go on from it with a lower learning rate"
        )


class Trainer:
    """A learner, its optimiser, and how far they have come."""

    def __init__(self, learner: TreeLearner, maker: BatchMaker, settings: TrainingSettings) -> None:
        self.learner, self.maker, self.settings = learner, maker, settings
        self.device = next(learner.parameters()).device
        self.step = 0
        self.optimiser = torch.optim.AdamW(
            learner.parameters(),
            lr=settings.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def take_step(self) -> torch.Tensor:
        """One step; returns the three losses, still on the device."""
        self.learner.train()
        torch.manual_seed(mixed_seed(self.settings.seed + 1, self.step))
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.learning_rate_at(self.step)
        batch = self.maker.draw(self.step)
        losses = self.learner(batch)
        self.optimiser.zero_grad(set_to_none=True)
        losses.total.backward()
        nn.utils.clip_grad_norm_(self.learner.parameters(), self.settings.clip)
        self.optimiser.step()
        self.step += 1
        return torch.stack([losses.character, losses.span, losses.next_word]).detach()

    def run(
        self,
        report: Callable[[StepReport], object] = lambda report: None,
        save: Callable[[Trainer], object] = lambda trainer: None,
        report_every: int = 50,
        save_seconds: float = 300,
        until: int | None = None,
    ) -> bool:
        """Train to the last step (or to `until`). Saves now and then and at the end. On SIGTERM it saves and
        stops; returns whether it came to the end."""
        last = self.settings.steps if until is None else min(until, self.settings.steps)
        words_a_step = self.maker.sequences * self.maker.words_a_sequence
        with stop_signal() as stopped:
            saved = reported = time.monotonic()
            reported_step = self.step
            while self.step < last:
                losses = self.take_step()
                if self.step % report_every == 0 or self.step == last:
                    character, span, next_word = losses.tolist()
                    if not math.isfinite(character + span + next_word):
                        raise NotANumber(self.step)
                    now = time.monotonic()
                    rate = (self.step - reported_step) * words_a_step / max(now - reported, 1e-9)
                    report(StepReport(self.step, character, span, next_word, rate))
                    reported, reported_step = now, self.step
                    if now - saved > save_seconds:
                        self._save_if_sound(save)
                        saved = now
                if stopped.is_set():
                    break
            self._save_if_sound(save)
        return self.step >= last

    def _save_if_sound(self, save: Callable[[Trainer], object]) -> None:
        """The losses of a step say nothing of the parameters after it: look at those before they are kept."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.learner.parameters()):
            raise NotANumber(self.step)
        save(self)


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM sets, where signals can be caught (in the main thread)."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGTERM, before)

"""Training the composition model: one readable loop.

What happens in a step depends on the seed, the step's number and the parameters alone, so that a run that goes on
from a checkpoint does what an uninterrupted one would have done.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import torch
from torch import nn

from treetok.errors import TreetokError
from treetok.model.batches.batch import Batch
from treetok.model.batches.maker import BatchMaker, mixed_seed
from treetok.model.losses.objectives import Losses, TreeLearner


@dataclass(frozen=True)
class TrainingConfig:
    """Batches of `sequences` times `words_per_sequence` running words; learning rate with warm-up and decay."""

    steps: int = 4000
    sequences: int = 256
    words_per_sequence: int = 96
    learning_rate: float = 1e-3
    # The parser of pruned charts has to keep up with its teacher: the paper's learns 20 times as fast.
    parser_learning_rate_factor: float = 1.0
    warmup_steps: int = 200
    # What is left of the learning rate at the end.
    final_lr_ratio: float = 0.05
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    # Of the running words, those at the end of the corpus that are never trained on.
    validation_share: float = 0.005

    def learning_rate_at(self, step: int) -> float:
        """
        >>> settings = TrainingConfig(steps=100, warmup_steps=10, learning_rate=1.0, final_lr_ratio=0.0)
        >>> [round(settings.learning_rate_at(step), 3) for step in (0, 9, 55, 100)]
        [0.1, 1.0, 0.5, 0.0]
        """
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        share = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        cosine = (1 + math.cos(math.pi * min(1.0, share))) / 2
        return self.learning_rate * (self.final_lr_ratio + (1 - self.final_lr_ratio) * cosine)


@dataclass(frozen=True)
class ValidationLosses:
    """The losses on words that were held back."""

    character: float
    span: float
    next_word: float


@dataclass(frozen=True)
class StepReport:
    """Where training stands after a step. `words_per_second` counts the time of steps alone; `seconds_left` takes
    reports and validation to go on as they did."""

    step: int
    character: float
    span: float
    next_word: float
    words_per_second: float
    learning_rate: float
    seconds_left: float
    validation: ValidationLosses | None = None
    # 0 where there is no parser.
    parser: float = 0.0

    def figures(self) -> dict[str, float]:
        """All figures by name; those of the validation only where there was one."""
        figures = {name: value for name, value in vars(self).items() if name != "validation"}
        if self.validation is not None:
            figures |= {f"validation_{name}": loss for name, loss in vars(self.validation).items()}
        return figures


class NotANumber(TreetokError):
    def __init__(self, step: int) -> None:
        super().__init__(
            f"the loss is not a number after step {step}: the last checkpoint is good;"
            " go on from it with a lower learning rate"
        )


class Trainer:
    """A learner, its optimiser, and how far they have come.

    validation_batches: the same few batches that every validation looks at, of words that are held back.
    """

    def __init__(
        self,
        learner: TreeLearner,
        maker: BatchMaker,
        settings: TrainingConfig,
        validation_batches: Sequence[Batch] = (),
    ) -> None:
        self.learner, self.maker, self.settings = learner, maker, settings
        self.validation_batches = validation_batches
        self.device = next(learner.parameters()).device
        self.step = 0
        # Tells texts apart: a checkpoint is of no use to another one.
        self.fingerprint = ""
        of_parser = [] if learner.parser is None else list(learner.parser.parameters())
        in_parser = set(map(id, of_parser))
        others = [parameter for parameter in learner.parameters() if id(parameter) not in in_parser]
        groups: list[dict[str, object]] = [{"params": others, "learning_rate_factor": 1.0}]
        if of_parser:
            groups.append({"params": of_parser, "learning_rate_factor": settings.parser_learning_rate_factor})
        self.optimiser = torch.optim.AdamW(
            groups,
            lr=settings.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def take_step(self) -> torch.Tensor:
        """One step; returns its losses, still on the device."""
        self.learner.train()
        torch.manual_seed(mixed_seed(self.settings.seed + 1, self.step))
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.learning_rate_at(self.step) * group["learning_rate_factor"]
        batch = self.maker.draw(self.step)
        losses = self.learn_from(batch)
        self.optimiser.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.learner.parameters(), self.settings.clip)
        self.optimiser.step()
        self.step += 1
        return self.of_all(losses.stacked().detach())

    def learn_from(self, batch: Batch) -> Losses:
        """The losses of a batch, from which gradients can be taken."""
        losses: Losses = self.learner(batch)
        return losses

    def of_all(self, losses: torch.Tensor) -> torch.Tensor:
        """The losses of all processes together, where there are several."""
        return losses

    def agreed(self, *wishes: bool) -> Sequence[bool]:
        """What is done where several processes decide together: whatever one of them wishes."""
        return wishes

    @torch.no_grad()
    def validate(self) -> ValidationLosses:
        """The mean losses on the batches that are held back."""
        was_training = self.learner.training
        self.learner.eval()
        total = torch.zeros(3, device=self.device)
        for batch in self.validation_batches:
            losses = self.learner(batch)
            total += torch.stack([losses.character, losses.span, losses.next_word])
        self.learner.train(was_training)
        return ValidationLosses(*self.of_all(total / len(self.validation_batches)).tolist())

    def run(
        self,
        report: Callable[[StepReport], object] = lambda report: None,
        save: Callable[[Trainer], object] = lambda trainer: None,
        report_every: int = 50,
        save_seconds: float = 300,
        until: int | None = None,
        validate_every: int = 500,
    ) -> bool:
        """Train to the last step (or to `until`). Saves now and then and at the end; validates now and then and
        after the last step of all. On SIGTERM or Ctrl-C it saves and stops; returns whether it came to the end."""
        last = self.settings.steps if until is None else min(until, self.settings.steps)
        words_per_step = self.maker.sequences * self.maker.words_per_sequence
        with stop_signal() as stopped:
            saved = reported = going_on = time.monotonic()
            first_step = reported_step = self.step
            while self.step < last:
                losses = self.take_step()
                is_end = self.step == self.settings.steps
                validates = bool(self.validation_batches) and (self.step % validate_every == 0 or is_end)
                if self.step % report_every == 0 or self.step == last or validates:
                    character, span, next_word, *others = losses.tolist()
                    of_parser = others[0] if others else 0.0
                    if not math.isfinite(character + span + next_word + of_parser):
                        raise NotANumber(self.step)
                    now, steps = time.monotonic(), self.step - reported_step
                    self._tell(
                        report,
                        StepReport(
                            self.step,
                            character,
                            span,
                            next_word,
                            steps * words_per_step / max(now - going_on, 1e-9),
                            self.settings.learning_rate_at(self.step - 1),
                            (last - self.step) * (now - reported) / steps,
                            self.validate() if validates else None,
                            of_parser,
                        ),
                    )
                    reported, reported_step = now, self.step
                    going_on = time.monotonic()
                elif self.step == first_step + 1:
                    # The first step may have to compile and record what the others replay: time the others.
                    reported, reported_step = time.monotonic(), self.step
                    going_on = reported
                # Looked at after every step: reports may be far apart, or take longer than the time between saves.
                stop, save_now = self.agreed(stopped.is_set(), time.monotonic() - saved > save_seconds)
                if stop:
                    break
                if save_now and self.step < last:
                    self._save_if_sound(save)
                    saved = time.monotonic()
            self._save_if_sound(save)
        return self.step >= last

    def _tell(self, report: Callable[[StepReport], object], news: StepReport) -> None:
        """Where there are several processes, one of them reports."""
        report(news)

    def _save_if_sound(self, save: Callable[[Trainer], object]) -> None:
        """The losses of a step say nothing of the parameters after it: look at those before they are kept."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.learner.parameters()):
            raise NotANumber(self.step)
        save(self)


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set, where signals can be caught (in the main thread). A second Ctrl-C
    interrupts at once."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Training the composition model: one readable loop.

A step depends only on the seed, the step number and the parameters, so a run that continues from a checkpoint does
exactly what an uninterrupted run would have done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from treetok.errors import TreetokError
from treetok.model.batches.batch import Batch
from treetok.model.batches.maker import BatchMaker, mixed_seed
from treetok.model.config import check_at_least_one
from treetok.model.losses.objectives import Losses, TreeLearner
from treetok.model.training.schedule import warmup_cosine
from treetok.stop_signal import stop_signal


@dataclass(frozen=True)
class TrainingConfig:
    """Batch size (`sequences` times `words_per_sequence` running words), learning-rate schedule and optimiser.

    parser_learning_rate_factor: the parser of pruned charts has to keep up with its teacher; the paper uses a
        learning rate 20 times as high.
    final_lr_ratio: the final learning rate relative to the peak.
    validation_share: the share of the running words, at the end of the corpus, held out for validation.
    """

    steps: int = 4000
    sequences: int = 256
    words_per_sequence: int = 96
    learning_rate: float = 1e-3
    parser_learning_rate_factor: float = 1.0
    warmup_steps: int = 200
    final_lr_ratio: float = 0.05
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    seed: int = 0
    validation_share: float = 0.005

    def __post_init__(self) -> None:
        check_at_least_one(self, "steps", "sequences", "words_per_sequence")
        for name in ("learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise TreetokError(f"{name} must be above 0 and finite, not {getattr(self, name)}")
        for name in ("warmup_steps", "weight_decay", "final_lr_ratio"):
            if not 0 <= getattr(self, name) < math.inf:
                raise TreetokError(f"{name} must be at least 0 and finite, not {getattr(self, name)}")
        if not 0 <= self.validation_share < 1:
            raise TreetokError(f"validation_share must be at least 0 and below 1, not {self.validation_share}")

    def learning_rate_at(self, step: int, done: float = 0.0) -> float:
        """The learning rate of a step; `done` is the share of the time budget spent, if there is one.

        >>> config = TrainingConfig(steps=100, warmup_steps=10, learning_rate=1.0, final_lr_ratio=0.0)
        >>> [round(config.learning_rate_at(step), 3) for step in (0, 9, 55, 100)]
        [0.1, 1.0, 0.5, 0.0]
        """
        # The first step is taken at 1 / warmup_steps of the rate, not at 0.
        position = max(step, min(step + 1, self.warmup_steps), done * self.steps)
        return self.learning_rate * warmup_cosine(position, self.warmup_steps, self.steps, self.final_lr_ratio)


@dataclass(frozen=True)
class ValidationLosses:
    """The losses on held-out words."""

    character: float
    span: float
    next_word: float


@dataclass(frozen=True)
class StepReport:
    """The state of training after a step. `words_per_second` counts only the time of steps; `seconds_left`
    includes reports and validation at their current pace."""

    step: int
    character: float
    span: float
    next_word: float
    words_per_second: float
    learning_rate: float
    seconds_left: float
    validation: ValidationLosses | None = None
    # 0 without a parser.
    parser: float = 0.0

    def figures(self) -> dict[str, float]:
        """All figures by name; validation losses only if there was a validation."""
        figures = {name: value for name, value in vars(self).items() if name != "validation"}
        if self.validation is not None:
            figures |= {f"validation_{name}": loss for name, loss in vars(self.validation).items()}
        return figures


class NotANumber(TreetokError):
    def __init__(self, step: int) -> None:
        super().__init__(
            f"the loss is not a number after step {step}: begin anew, in another directory, with a lower learning"
            " rate (training.learning_rate)"
        )


class Trainer:
    """A learner, its optimiser and the current step.

    validation_batches: a few batches of held-out words, the same for every validation.
    """

    def __init__(
        self,
        learner: TreeLearner,
        maker: BatchMaker,
        config: TrainingConfig,
        validation_batches: Sequence[Batch] = (),
    ) -> None:
        self.learner, self.maker, self.config = learner, maker, config
        self.validation_batches = validation_batches
        self.device = next(learner.parameters()).device
        self.step = 0
        # Identifies the text: a checkpoint is not valid for another one.
        self.fingerprint = ""
        # A time budget: if all steps would take longer, the learning rate decays with time instead. The result
        # then depends on the machine.
        self.seconds = math.inf
        self.seconds_before = 0.0
        self._began = time.monotonic()
        of_parser = [] if learner.parser is None else list(learner.parser.parameters())
        in_parser = set(map(id, of_parser))
        others = [parameter for parameter in learner.parameters() if id(parameter) not in in_parser]
        groups: list[dict[str, object]] = [{"params": others, "learning_rate_factor": 1.0}]
        if of_parser:
            groups.append({"params": of_parser, "learning_rate_factor": config.parser_learning_rate_factor})
        self.optimiser = torch.optim.AdamW(
            groups,
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=config.weight_decay,
            fused=True,
        )

    def take_step(self) -> torch.Tensor:
        """Take one step; returns its losses, still on the device."""
        torch.manual_seed(mixed_seed(self.config.seed + 1, self.step))
        learning_rate = self.config.learning_rate_at(self.step, self.budget_spent())
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate * group["learning_rate_factor"]
        losses = self.forward_backward()
        nn.utils.clip_grad_norm_(self.learner.parameters(), self.config.clip_norm)
        self.optimiser.step()
        self.step += 1
        return self.of_all(losses)

    def forward_backward(self) -> torch.Tensor:
        """The losses of this step's batch, as `Losses.stacked`; leaves their gradients in the parameters. Override
        this to run steps in another way."""
        self.learner.train()
        losses = self.learn_from(self.maker.draw(self.step))
        self.optimiser.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        return losses.stacked().detach()

    def budget_spent(self) -> float:
        """The share of the time budget spent: 0 without a budget, 1 when training has to end."""
        if math.isinf(self.seconds):
            return 0.0
        return min(1.0, (self.seconds_before + time.monotonic() - self._began) / max(self.seconds, 1e-9))

    @property
    def seconds_spent(self) -> float:
        """Seconds of training, including those of earlier runs."""
        return self.seconds_before + time.monotonic() - self._began

    def learn_from(self, batch: Batch) -> Losses:
        """The losses of a batch, with gradients."""
        losses: Losses = self.learner(batch)
        return losses

    def of_all(self, losses: torch.Tensor) -> torch.Tensor:
        """The losses averaged over all processes, if there are several."""
        return losses

    def agreed(self, *wishes: bool) -> Sequence[bool]:
        """The joint decision of all processes: true if any of them wishes it."""
        return wishes

    @torch.no_grad()
    def validate(self) -> ValidationLosses:
        """The mean losses on the held-out batches."""
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
        step_taken: Callable[[int], object] = lambda step: None,
    ) -> bool:
        """Train to the last step (or to `until`, or until the time budget is spent). Saves regularly and at the
        end; validates regularly and after the very last step; calls `step_taken` after every step. On SIGTERM or
        Ctrl-C it saves and stops. Returns whether training finished."""
        last = self.config.steps if until is None else min(until, self.config.steps)
        with stop_signal() as stopped:
            self._began = saved = time.monotonic()
            pace = Pace(self.maker.sequences * self.maker.words_per_sequence, self.step)
            out_of_time = False
            while self.step < last and not out_of_time:
                losses = self.take_step()
                step_taken(self.step)
                if not math.isinf(self.seconds):
                    (out_of_time,) = self.agreed(self.budget_spent() >= 1)
                is_end = self.step == self.config.steps or out_of_time
                validates = bool(self.validation_batches) and (self.step % validate_every == 0 or is_end)
                if self.step % report_every == 0 or self.step == last or validates:
                    self._tell(report, self._report(losses, pace, last, validates))
                    pace.reported(self.step)
                elif self.step == pace.first_step + 1:
                    # The first step may have to compile kernels and record the graph: leave it out of the timing.
                    pace.started(self.step)
                # Checked after every step: reports may be far apart, or take longer than the time between saves.
                stop, save_now = self.agreed(stopped.is_set(), time.monotonic() - saved > save_seconds)
                if stop:
                    break
                if save_now and self.step < last:
                    self._save_if_sound(save)
                    saved = time.monotonic()
            self.seconds_before, self._began = self.seconds_spent, time.monotonic()
            self._save_if_sound(save)
        return self.step >= last or out_of_time

    def _report(self, losses: torch.Tensor, pace: Pace, last: int, validates: bool) -> StepReport:
        character, span, next_word, parser = losses.tolist()
        if not math.isfinite(character + span + next_word + parser):
            raise NotANumber(self.step)
        words_per_second, seconds_per_step = pace.measured(self.step)
        return StepReport(
            self.step,
            character,
            span,
            next_word,
            words_per_second,
            self.config.learning_rate_at(self.step - 1, self.budget_spent()),
            min((last - self.step) * seconds_per_step, max(self.seconds - self.seconds_spent, 0.0)),
            self.validate() if validates else None,
            parser,
        )

    def _tell(self, report: Callable[[StepReport], object], news: StepReport) -> None:
        """Call `report`; with several processes, only in the first."""
        report(news)

    def _save_if_sound(self, save: Callable[[Trainer], object]) -> None:
        """Save if all parameters are finite: the losses of a step say nothing about the parameters after it."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.learner.parameters()):
            raise NotANumber(self.step)
        save(self)


class Pace:
    """The speed of training, with and without the time of reports and validation."""

    def __init__(self, words_per_step: int, step: int) -> None:
        self.words_per_step = words_per_step
        self.first_step = step
        self.started(step)

    def started(self, step: int) -> None:
        self._step = step
        self._since_report = self._since_step = time.monotonic()

    def measured(self, step: int) -> tuple[float, float]:
        """Words per second of steps only, and seconds per step including reports and validation."""
        now, steps = time.monotonic(), max(step - self._step, 1)
        self._measured = now
        return steps * self.words_per_step / max(now - self._since_step, 1e-9), (now - self._since_report) / steps

    def reported(self, step: int) -> None:
        self._step, self._since_report, self._since_step = step, self._measured, time.monotonic()

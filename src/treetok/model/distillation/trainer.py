"""Train the parser on its teacher's trees, with early stopping and checkpoints.

As when training composition models, a step depends only on the seed, the step number and the parameters.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from treetok.errors import TreetokError
from treetok.model.batches.maker import mixed_seed
from treetok.model.distillation.data import DistillationData
from treetok.model.network.parser import Parser
from treetok.model.training.checkpoint import read_checkpoint, write_checkpoint
from treetok.model.training.schedule import warmup_cosine
from treetok.stop_signal import stop_signal

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DistillationConfig:
    """How the parser is trained, and for how long.

    words_per_batch: an upper limit; with few words batches are smaller, so that an epoch has `batches_per_epoch`.
    patience: training ends when agreement has not improved for this many epochs.
    held_out: the share of words that are held out.
    max_words: if there are more words, a random sample of this size is trained on.
    count_power: words are weighted by their count to this power; 0 weights all words equally.
    learn_subtrees: train on every subtree of a word as if it were a word. With greedy decoding, the composition
        model splits a span by its letters only, so these are the trees it would give the spans as words.
    max_word_length: longer words are not trained on.
    """

    epochs: int = 40
    words_per_batch: int = 8192
    batches_per_epoch: int = 50
    patience: int = 8
    learning_rate: float = 3e-3
    warmup_share: float = 0.05
    weight_decay: float = 0.05
    dropout: float = 0.2
    clip_norm: float = 1.0
    held_out: float = 0.05
    max_words: int = 2_000_000
    count_power: float = 0.0
    learn_subtrees: bool = False
    max_word_length: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name in (
            "epochs",
            "words_per_batch",
            "batches_per_epoch",
            "patience",
            "max_words",
            "max_word_length",
        ):
            if getattr(self, name) < 1:
                raise TreetokError(f"{name} of the distillation must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise TreetokError(f"dropout must be at least 0 and below 1, not {self.dropout}")


@dataclass(frozen=True)
class DistillationReport:
    """`agreement` is the share of watched words whose whole tree the parser predicts correctly."""

    epoch: int
    loss: float
    agreement: float
    seconds: float


class ParserTrainer:
    """Trains until agreement on the watched words stops improving; the parser ends with its best parameters.

    learned, watched: the words for training and for early stopping, as indices into `data`.
    """

    def __init__(
        self, parser: Parser, data: DistillationData, learned: I64, watched: I64, config: DistillationConfig
    ) -> None:
        self.parser, self.data, self.config = parser, data, config
        self.learned, self.watched = learned, watched
        self.batch_size = min(config.words_per_batch, max(16, len(learned) // config.batches_per_epoch))
        self.batches_per_epoch = math.ceil(len(learned) / self.batch_size)
        self.optimiser = torch.optim.AdamW(
            parser.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.step = 0
        self.best, self.best_epoch = -1.0, 0
        self.best_parameters: dict[str, torch.Tensor] = {}
        # A time budget in addition to the number of epochs; if it is hit, the result depends on the machine.
        self.seconds = math.inf
        self.seconds_before = 0.0
        self._began = self._saved = time.monotonic()
        # Of the current epoch.
        self._loss = torch.zeros((), device=data.device)
        self._batches = 0

    @property
    def epoch(self) -> int:
        """The number of complete epochs."""
        return self.step // self.batches_per_epoch

    @property
    def seconds_spent(self) -> float:
        return self.seconds_before + time.monotonic() - self._began

    def is_done(self) -> bool:
        between_epochs = self.step % self.batches_per_epoch == 0
        out_of_patience = between_epochs and self.epoch - self.best_epoch >= self.config.patience
        return self.epoch >= self.config.epochs or out_of_patience or self._done_share() >= 1

    def run(
        self,
        report: Callable[[DistillationReport], object] = lambda report: None,
        save: Callable[[ParserTrainer], object] = lambda trainer: None,
        save_seconds: float = 300,
        step_taken: Callable[[int], object] = lambda step: None,
    ) -> bool:
        """Train to the end, saving regularly. On SIGTERM or Ctrl-C it saves and stops. Returns whether training
        finished."""
        with stop_signal() as stopped:
            self._began = self._saved = time.monotonic()

            def save_due() -> bool:
                return stopped.is_set() or time.monotonic() - self._saved > save_seconds

            while not self.is_done():
                self._run_epoch_until(save_due, step_taken)
                if self.step % self.batches_per_epoch == 0 or self._done_share() >= 1:
                    report(self._end_epoch())
                if save_due():
                    save(self)
                    self._saved = time.monotonic()
                if stopped.is_set():
                    break
        finished = self.is_done()
        if finished:
            if not self.best_parameters:
                # The time budget was spent before the first epoch was complete.
                self._end_epoch()
            self.parser.load_state_dict(self.best_parameters)
        return finished

    def _done_share(self) -> float:
        """The share of training that is done, by steps or by time."""
        steps = self.config.epochs * self.batches_per_epoch
        return max(self.step / steps, self.seconds_spent / self.seconds)

    def _run_epoch_until(self, due: Callable[[], bool], step_taken: Callable[[int], object]) -> None:
        """Train to the end of the epoch, or until `due` returns true."""
        first = self.step % self.batches_per_epoch
        if first == 0:
            self._loss, self._batches = torch.zeros((), device=self.data.device), 0
        rng = np.random.default_rng([self.config.seed + 1, self.epoch])
        for batch in shuffled_batches(self.learned, self.data.lengths, self.batch_size, rng)[first:]:
            self._loss += self._take_step(batch)
            self._batches += 1
            step_taken(self.step)
            if self._done_share() >= 1 or due():
                break

    def _take_step(self, batch: I64) -> torch.Tensor:
        torch.manual_seed(mixed_seed(self.config.seed + 2, self.step))
        factor = warmup_cosine(self._done_share(), self.config.warmup_share, 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.learning_rate * factor
        loss = self.data.loss(self.parser, batch)
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.parser.parameters(), self.config.clip_norm)
        self.optimiser.step()
        self.step += 1
        return loss.detach()

    def _end_epoch(self) -> DistillationReport:
        epoch = max(1, math.ceil(self.step / self.batches_per_epoch))
        agreement = self.data.agreement(self.parser, self.watched, self.config.words_per_batch)
        loss = float(self._loss) / max(self._batches, 1)
        if not math.isfinite(loss):
            raise TreetokError("the parser's loss is not a number: try a lower learning rate")
        if agreement > self.best:
            self.best, self.best_epoch = agreement, epoch
            self.best_parameters = {name: w.detach().clone() for name, w in self.parser.state_dict().items()}
        return DistillationReport(epoch, loss, agreement, self.seconds_spent)

    # ---- checkpoints

    def save(self, directory: Path, teacher: str) -> None:
        """Write a checkpoint. `teacher` identifies the trees to learn from."""
        progress = {
            "step": self.step,
            "seconds": self.seconds_spent,
            "best_agreement": self.best,
            "best_epoch": self.best_epoch,
            "loss": float(self._loss),
            "batches": self._batches,
        }
        run = self._run_description(teacher)
        write_checkpoint(directory, self.parser, self.optimiser, progress, run, self.best_parameters)

    def load(self, directory: Path, teacher: str) -> None:
        """Continue from a checkpoint."""
        last = self.config.epochs * self.batches_per_epoch
        head = read_checkpoint(directory, self.parser, self.optimiser, self._run_description(teacher), last)
        try:
            self.step, self.seconds_before = head["step"], float(head["seconds"])
            self.best, self.best_epoch = float(head["best_agreement"]), int(head["best_epoch"])
            self._loss = torch.tensor(float(head["loss"]), device=self.data.device)
            self._batches = int(head["batches"])
        except (KeyError, TypeError, ValueError) as error:
            raise TreetokError(f"the checkpoint in {directory} is damaged: {error}") from None
        self.best_parameters = {name: w.to(self.data.device) for name, w in head.get("best", {}).items()}

    def _run_description(self, teacher: str) -> dict[str, object]:
        return {
            "config": dataclasses.asdict(self.config),
            "parser": dataclasses.asdict(self.parser.config),
            "words": len(self.learned),
            "teacher": teacher,
        }


def shuffled_batches(words: I64, lengths: I64, size: int, rng: np.random.Generator) -> list[I64]:
    """All words once, in batches of words of similar length, to save padding."""
    shuffled = rng.permutation(words)
    in_order = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    batches = [in_order[start : start + size] for start in range(0, len(in_order), size)]
    return [batches[number] for number in rng.permutation(len(batches))]

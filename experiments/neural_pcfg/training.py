"""Training: maximise the mean log-probability of the running words of a text, for a number of steps or seconds.

A batch is drawn from the running words; each of its distinct words is computed once, and weighted by its count.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from neural_pcfg.grammar import NeuralGrammar, RankSpace
from neural_pcfg.inside import log_probabilities
from neural_pcfg.words import Batch, CharacterTable, TrainingWords, charts
from treetok.errors import TreetokError
from treetok.model.training.checkpoint import HEAD, read_checkpoint, write_checkpoint
from treetok.model.training.schedule import warmup_cosine
from treetok.pipeline.options import MAX_SEED
from treetok.progress import Progress, Stopped

# Of one chart: it has two tensors of this size, and as many for gradients.
VALUES_PER_CHART = {"cpu": 2**24, "cuda": 2**28}
# The share of training in which the learning rate rises, and what remains of it at the end.
WARMUP, FINAL_RATIO = 0.01, 0.1
MOST_WORDS_PER_STEP = 10_000_000
# No seed of training.
MEASURING_SEED = 2**40


def check_end(seconds: float, steps: int) -> None:
    if not 0 <= seconds < math.inf or steps < 0 or seconds == steps == 0:
        raise TreetokError(
            "training ends after --seconds or --steps, numbers from 0 of which one is above 0, not after"
            f" {seconds} and {steps}"
        )


def check_seed(seed: int) -> None:
    if not 0 <= seed <= MAX_SEED:
        raise TreetokError(f"--seed must be from 0 to {MAX_SEED}, not {seed}")


@dataclass(frozen=True)
class TrainingConfig:
    """The optimiser is that of the published grammar: Adam with these betas and this limit of the gradient.

    steps, seconds: training ends when either is reached; 0 is no limit.
    words_per_step: running words; of English text, about a quarter as many are distinct.
    dtype: of the charts.
    """

    steps: int = 0
    seconds: float = 300.0
    words_per_step: int = 16_384
    learning_rate: float = 2e-3
    betas: tuple[float, float] = (0.75, 0.999)
    max_gradient_norm: float = 3.0
    dtype: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        check_end(self.seconds, self.steps)
        check_seed(self.seed)
        if not 0 < self.learning_rate < math.inf:
            raise TreetokError(f"--learning-rate must be above 0 and finite, not {self.learning_rate}")
        if not 1 <= self.words_per_step <= MOST_WORDS_PER_STEP:
            raise TreetokError(
                f"--words-per-step must be from 1 to {MOST_WORDS_PER_STEP}, not {self.words_per_step}"
            )
        if self.dtype not in ("float32", "bfloat16"):
            raise TreetokError(f"--dtype must be float32 or bfloat16, not {self.dtype!r}")

    def share_done(self, step: int, seconds: float) -> float:
        by_steps = step / self.steps if self.steps > 0 else 0.0
        return max(by_steps, seconds / self.seconds if self.seconds > 0 else 0.0)


class Trainer:
    """A grammar, its optimiser, and how far training has got."""

    def __init__(
        self,
        grammar: NeuralGrammar,
        words: TrainingWords,
        characters: CharacterTable,
        config: TrainingConfig,
        device: str = "cpu",
    ) -> None:
        self.grammar, self.words, self.config, self.device = grammar.to(device), words, config, device
        self.is_cuda = device.startswith("cuda")
        self.ids_WN = torch.from_numpy(characters.ids(words.words)).to(device, torch.int32)
        self.optimiser = torch.optim.Adam(
            grammar.parameters(), lr=config.learning_rate, betas=config.betas, fused=self.is_cuda
        )
        self.step, self.seconds = 0, 0.0
        # Of the last step. Not read in every step, which would have to wait for the device.
        self.loss = torch.tensor(float("nan"))
        self.run = {
            "grammar": dataclasses.asdict(grammar.config),
            "training": dataclasses.asdict(config),
            "text": fingerprint(words, characters),
        }

    def is_finished(self) -> bool:
        return self.config.share_done(self.step, self.seconds) >= 1

    def take_step(self) -> None:
        config = self.config
        factor = warmup_cosine(
            config.share_done(self.step + 1, self.seconds), WARMUP, 1.0, final_ratio=FINAL_RATIO
        )
        for group in self.optimiser.param_groups:
            group["lr"] = factor * config.learning_rate
        batch = self.words.draw(config.words_per_step, config.seed, self.step)
        self.optimiser.zero_grad()
        self.loss = self.loss_with_gradients(batch)
        torch.nn.utils.clip_grad_norm_(self.grammar.parameters(), config.max_gradient_norm)
        # If a gradient overflows, nothing is learned from this batch; without waiting for the device to tell.
        for parameter in self.grammar.parameters():
            if parameter.grad is not None:
                parameter.grad.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
        self.optimiser.step()
        self.step += 1

    def loss_with_gradients(self, batch: Batch) -> Tensor:
        """The mean negative log-probability of the running words of a batch, chart by chart to save memory."""
        space = self.grammar.rules().in_rank_space()
        leaves = space.detached()
        loss = torch.zeros((), device=self.device)
        for of_chart in self.losses_of_charts(leaves, batch):
            of_chart.backward()
            loss += of_chart.detach()
        torch.autograd.backward(space.tensors(), [tensor.grad for tensor in leaves.tensors()])
        return loss

    def losses_of_charts(self, space: RankSpace, batch: Batch) -> Iterator[Tensor]:
        """What the words of each chart add to the loss."""
        weights = (batch.counts / batch.counts.sum()).astype(np.float32)
        rows, lengths, weights = map(self.on_device, (batch.rows, batch.lengths, weights))
        most_values = VALUES_PER_CHART[torch.device(self.device).type]
        dtype = getattr(torch, self.config.dtype)
        for chart in charts(batch.lengths, self.grammar.config.rank, most_values):
            longest, shortest = batch.lengths[chart][[0, -1]].tolist()
            ids_BN = self.ids_WN[rows[chart], :longest].long()
            log_probability_B = log_probabilities(space, ids_BN, lengths[chart], dtype=dtype, shortest=shortest)
            yield -(weights[chart] * log_probability_B).sum()

    def on_device(self, array: npt.NDArray[Any]) -> Tensor:
        """From pinned memory, so that preparing a step need not wait for the one before it."""
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.is_cuda else tensor

    @torch.no_grad()
    def mean_loss(self, running_words: int = 100_000) -> float:
        """Nats per word, on words that are the same for all grammars of a text and whatever the seed."""
        space = self.grammar.rules().in_rank_space()
        batch = self.words.draw(running_words, MEASURING_SEED, 0)
        return float(torch.stack(list(self.losses_of_charts(space, batch))).sum())

    def save(self, folder: Path) -> None:
        write_checkpoint(
            folder, self.grammar, self.optimiser, {"step": self.step, "seconds": self.seconds}, self.run
        )

    def load(self, folder: Path) -> None:
        last_step = self.config.steps or sys.maxsize
        progress: dict[str, Any] = read_checkpoint(folder, self.grammar, self.optimiser, self.run, last_step)
        self.step, self.seconds = progress["step"], float(progress["seconds"])


def train(
    trainer: Trainer, folder: Path, progress: Progress | None = None, checkpoint_seconds: float = 30.0
) -> None:
    """Train to the end, from the checkpoint in the folder if there is one. A stop leaves a checkpoint too."""
    progress = progress or Progress(None)
    if (folder / HEAD).exists():
        try:
            trainer.load(folder)
        except TreetokError as error:
            raise TreetokError(f"{error}; choose another folder, or remove it to begin anew") from None
    if trainer.is_finished():
        return
    steps = trainer.config.steps or None
    with tensor_cores(), progress.stage("training the grammar", steps, "steps", stoppable=False) as stage:
        before, began = trainer.seconds, time.monotonic()
        saved = began
        while not trainer.is_finished():
            trainer.take_step()
            now = time.monotonic()
            trainer.seconds = before + now - began
            stage.at(trainer.step)
            if now - saved > checkpoint_seconds or trainer.is_finished() or progress.is_stopping():
                # Waits for the device, whose time counts.
                loss = trainer.loss.item()
                trainer.seconds = before + time.monotonic() - began
                if loss != loss:
                    raise TreetokError(f"the loss is not a number after step {trainer.step}")
                progress.note(f"step {trainer.step}, {trainer.seconds:.0f} s: {loss:.3f} nats per word")
                trainer.save(folder)
                saved = time.monotonic()
            if progress.is_stopping() and not trainer.is_finished():
                raise Stopped(f"stopped at step {trainer.step}; the same command continues from there")


@contextmanager
def tensor_cores() -> Iterator[None]:
    """Matrix products in TF32: rounding matters less than the choice of words in a batch."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def fingerprint(words: TrainingWords, characters: CharacterTable) -> str:
    lines = [*characters.characters, *words.words, *map(str, words.ends)]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

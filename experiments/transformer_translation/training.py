"""Training a Transformer on encoded pairs; the weights with the best development loss are kept.

Batches have the same sentence pairs for every tokenizer, and the budget is a number of passes over the text.

Shapes: B sentences, S source tokens, T target tokens, M target tokens without padding, D dimensions, V vocabulary.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_translation.encoded_pairs import PADDING, EncodedSentences
from transformer_translation.network import Transformer
from treetok.errors import TreetokError
from treetok.evaluate.perplexity.batches import plan_batches
from treetok.evaluate.perplexity.config import PerplexityConfig
from treetok.evaluate.perplexity.likelihood import learning_rate_factor
from treetok.evaluate.perplexity.optimizer import adamw

BETAS = (0.9, 0.98)
MAX_GRADIENT_NORM = 1.0
# Development sentences measured at a time.
SENTENCES_AT_ONCE = 256


@dataclass(frozen=True)
class TrainingConfig:
    """
    epochs: passes over the training pairs; the development loss is measured after each.
    bytes_per_step: bytes of both languages in a batch.
    warm_up: share of the steps in which the learning rate rises.
    """

    epochs: int = 20
    bytes_per_step: int = 120_000
    learning_rate: float = 1e-3
    warm_up: float = 0.08
    weight_decay: float = 0.01
    label_smoothing: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise TreetokError(f"--learning-rate must be above 0 and finite, not {self.learning_rate}")


@dataclass(frozen=True)
class Trained:
    """bits_per_byte: of the German development sentences, after each epoch."""

    bits_per_byte: list[float]
    steps: int
    seconds: float

    @property
    def best_epoch(self) -> int:
        return 1 + self.bits_per_byte.index(min(self.bits_per_byte))


@dataclass(frozen=True)
class EncodedPairing:
    """Sentences in two languages, sentence by sentence."""

    source: EncodedSentences
    target: EncodedSentences

    def batch(self, numbers: Sequence[int], device: str) -> tuple[Tensor, Tensor, Tensor]:
        """Source ids BS, target ids BT, and where the tokens of the target are in its rows put together, M."""
        target_BT = self.target.padded(numbers)
        at_M = np.flatnonzero(target_BT != PADDING)
        source_BS, target, at = (
            on_device(array, device) for array in (self.source.padded(numbers), target_BT, at_M)
        )
        return source_BS, target, at


def on_device(array: npt.NDArray[np.int64], device: str) -> Tensor:
    """From pinned memory, so that preparing a step need not wait for the one before it."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor


def half_precision(device: str) -> torch.autocast:
    """bfloat16 on a GPU; weights and losses stay in float32."""
    return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=device.startswith("cuda"))


def planned_batches(sizes: npt.NDArray[np.int64], config: TrainingConfig, seed: int) -> list[list[int]]:
    """The pairs of every step: all of them once in each epoch."""
    plan = PerplexityConfig(
        characters=config.epochs * int(sizes.sum()), characters_per_step=config.bytes_per_step, seed=seed
    )
    return plan_batches(sizes.tolist(), plan)


def nats(network: Transformer, batch: tuple[Tensor, Tensor, Tensor], label_smoothing: float = 0.0) -> Tensor:
    """The mean of -log p over the target tokens of a batch."""
    source_BS, target_BT, at_M = batch
    state_ND = network.target_states(source_BS, target_BT).flatten(0, 1)
    # Logits are by far the largest tensor, so they are computed for tokens only.
    logits_MV = network.logits(state_ND.index_select(0, at_M))
    target_M = target_BT.flatten().index_select(0, at_M)
    return F.cross_entropy(logits_MV, target_M, label_smoothing=label_smoothing)


def train(
    network: Transformer,
    training: EncodedPairing,
    sizes: npt.NDArray[np.int64],
    development: EncodedPairing,
    development_bytes: int,
    config: TrainingConfig,
    seed: int,
    device: str,
    report: Callable[[int, int], object] = lambda step, steps: None,
) -> Trained:
    """Train a network and leave it with the weights that were best on the development sentences.

    sizes: bytes of the training pairs.
    """
    began = time.monotonic()
    batches = planned_batches(sizes, config, seed)
    optimizer = adamw(network, config.learning_rate, config.weight_decay, BETAS)
    ends = {round(len(batches) * epoch / config.epochs) for epoch in range(1, config.epochs + 1)}
    best, bits_per_byte = {}, []
    network.train()
    for step, numbers in enumerate(batches, start=1):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * learning_rate_factor(step - 1, len(batches), config.warm_up)
        with half_precision(device):
            loss = nats(network, training.batch(numbers, device), config.label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT_NORM)
        optimizer.step()
        if step in ends:
            bits_per_byte.append(total_nats(network, development, device) / development_bytes / math.log(2))
            if not math.isfinite(bits_per_byte[-1]):
                raise TreetokError(f"the development loss is not a number after step {step}")
            if bits_per_byte[-1] == min(bits_per_byte):
                best = copy.deepcopy(network.state_dict())
        report(step, len(batches))
    network.load_state_dict(best)
    return Trained(bits_per_byte, len(batches), time.monotonic() - began)


@torch.no_grad()
def total_nats(network: Transformer, pairing: EncodedPairing, device: str) -> float:
    """-log p of all target sentences together, END included."""
    was_training = network.training
    network.eval()
    total = 0.0
    for numbers in sorted_batches(pairing.target.lengths, SENTENCES_AT_ONCE):
        batch = pairing.batch(numbers, device)
        with half_precision(device):
            total += float(nats(network, batch)) * len(batch[2])
    network.train(was_training)
    return total


def sorted_batches(lengths: npt.NDArray[np.int64], size: int) -> Iterator[list[int]]:
    """Sentences of similar length together.

    >>> [batch for batch in sorted_batches(np.array([3, 9, 4]), 2)]
    [[0, 2], [1]]
    """
    order = np.argsort(lengths, kind="stable").tolist()
    for start in range(0, len(order), size):
        yield order[start : start + size]

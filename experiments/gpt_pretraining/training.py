"""Training a language model in one pass over a text.

All models see the same text in the same order. Since no part of it is seen twice, the loss of each step is that of
unseen text, and the curve of losses needs no validation.

Shapes: B windows, T tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gpt_pretraining.network import Gpt, NetworkConfig
from gpt_pretraining.token_stream import NumberedTexts
from gpt_pretraining.token_tables import END, TokenTable
from treetok.errors import TreetokError
from treetok.evaluate.perplexity.optimizer import adamw

POINTS_OF_CURVE = 100


@dataclass(frozen=True)
class TrainingConfig:
    """
    bytes_per_step: of text, whatever the number of tokens.
    warm_up, decay: the shares of the steps in which the learning rate rises at the beginning and falls to 0 at the
        end. It is constant in between, so that curves can be compared where all models are there.
    """

    learning_rate: float
    bytes_per_step: int
    warm_up: float = 0.05
    decay: float = 0.25
    weight_decay: float = 0.1

    def learning_rate_at(self, step: int, steps: int) -> float:
        """
        >>> config = TrainingConfig(1.0, 0, warm_up=0.2, decay=0.5)
        >>> [round(config.learning_rate_at(step, 10), 2) for step in range(10)]
        [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]
        """
        rising = (step + 1) / max(1, round(self.warm_up * steps))
        falling = (steps - step) / max(1, round(self.decay * steps))
        return self.learning_rate * min(1.0, rising, falling)


@dataclass(frozen=True)
class Curve:
    """Of stretches of the text, one after the other: where they end, in bytes and in floating-point operations,
    and their bits per byte before the model learned from them."""

    bytes_seen: list[int]
    flops: list[float]
    bits_per_byte: list[float]


@dataclass(frozen=True)
class Trained:
    model: Gpt
    curve: Curve
    figures: dict[str, Any]


@dataclass(frozen=True)
class Windows:
    """A stream of ids cut into windows of T tokens, and these into as many steps for every tokenizer. Numbers of
    windows differ by one at most between steps; less than a window is left over at the end."""

    stream: Tensor
    steps: int
    context: int

    @classmethod
    def of(cls, ids: npt.NDArray[np.uint32], size: int, bytes_per_step: int, context: int, device: str) -> Windows:
        """As many steps as make up about this many bytes each of the `size` bytes of the text."""
        steps = min(max(1, round(size / bytes_per_step)), len(ids) // context)
        if not steps:
            raise TreetokError(f"the text has {len(ids)} tokens, too few for a context of {context}")
        stream = torch.from_numpy(np.concatenate([[END], ids]).astype(np.int32)).to(device)
        return cls(stream, steps, context)

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """The number of tokens seen before each step, and after the last."""
        windows = (len(self.stream) - 1) // self.context
        return self.context * (windows * np.arange(self.steps + 1) // self.steps)

    def batch(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the tokens from `start` to `end`, BT."""
        tokens = self.stream[start : end + 1].long()
        return tokens[:-1].view(-1, self.context), tokens[1:].view(-1, self.context)


def train(
    table: TokenTable,
    texts: NumberedTexts,
    network: NetworkConfig,
    config: TrainingConfig,
    seed: int,
    device: str,
    report: Callable[[int, int], object] = lambda step, steps: None,
) -> Trained:
    order = np.random.default_rng(seed).permutation(len(texts.words))
    ids, size = texts.stream(table, order.tolist()), int(texts.sizes.sum())
    windows = Windows.of(ids, size, config.bytes_per_step, network.context, device)
    on_gpu = device.startswith("cuda")
    torch.manual_seed(seed)
    model = Gpt(table.entries + 1, network, torch.bfloat16 if on_gpu else torch.float32).to(device)
    if on_gpu:
        model.compile_parts()
    began = time.monotonic()
    nats = run_steps(model, windows, config, report)
    seconds = time.monotonic() - began
    tokens_seen = windows.ends
    ends = np.cumsum(np.concatenate([[0], texts.tokens_of_texts(table)[order]]))
    bytes_seen = np.interp(tokens_seen, ends, np.cumsum(np.concatenate([[0], texts.sizes[order]])))
    flops = float(network.flops_per_token(table.entries + 1))
    curve = curve_of(nats, bytes_seen, flops * tokens_seen)
    figures = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "tokens": len(ids),
        "bytes": size,
        "steps": windows.steps,
        "flops": flops * float(tokens_seen[-1]),
        "seconds": round(seconds, 1),
    }
    return Trained(model, curve, figures)


def run_steps(
    model: Gpt, windows: Windows, config: TrainingConfig, report: Callable[[int, int], object]
) -> npt.NDArray[np.float64]:
    """Take all steps; the nats of the tokens of each, before the model learned from them."""
    optimizer = adamw(model, config.learning_rate, config.weight_decay)
    steps, ends = windows.steps, windows.ends.tolist()
    nats_of_steps = torch.zeros(steps, dtype=torch.float64, device=windows.stream.device)
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate_at(step, steps)
        nats = model(*windows.batch(ends[step], ends[step + 1])).sum()
        (nats / (ends[step + 1] - ends[step])).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        nats_of_steps[step] = nats.detach()
        report(step + 1, steps)
    return nats_of_steps.cpu().numpy()


def curve_of(
    nats: npt.NDArray[np.float64], bytes_seen: npt.NDArray[np.float64], flops: npt.NDArray[np.float64]
) -> Curve:
    """The curve, from the nats of each step and what was seen and done before each step and after the last.

    >>> curve_of(np.log(2) * np.array([8.0, 4.0]), np.array([0, 4, 8]), np.array([0, 1, 2]))
    Curve(bytes_seen=[4, 8], flops=[1.0, 2.0], bits_per_byte=[2.0, 1.0])
    """
    ends = np.unique(np.linspace(0, len(nats), min(POINTS_OF_CURVE, len(nats)) + 1).round().astype(int))[1:]
    sums = np.diff(np.concatenate([[0], np.cumsum(nats)])[np.append(0, ends)]) / np.log(2)
    bits = sums / np.diff(bytes_seen[np.append(0, ends)])
    return Curve(
        bytes_seen[ends].round().astype(int).tolist(),
        flops[ends].astype(float).tolist(),
        bits.round(5).tolist(),
    )

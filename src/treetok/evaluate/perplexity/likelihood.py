"""Training a language model on tokenized sentences, and the likelihood of held-out sentences under it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import Figure, interval
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums
from treetok.evaluate.perplexity.batches import plan_batches
from treetok.evaluate.perplexity.config import PerplexityConfig
from treetok.evaluate.perplexity.language_model import TokenLanguageModel
from treetok.evaluate.perplexity.optimizer import adamw
from treetok.evaluate.perplexity.windows import IGNORED, EncodedSentences, adjacent_windows, overlapping_windows
from treetok.model.device import chosen_device
from treetok.model.training.schedule import warmup_cosine

# The number of outputs is a multiple of this: matrix products of odd sizes take twice as long.
VOCABULARY_MULTIPLE = 64
# Without cuDNN attention, which takes ten milliseconds to set up for every new batch shape.
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of held-out sentences, in nats for each, and what was done to measure it."""

    nats: list[float]
    tokens: int
    characters: int
    parameters: int
    steps: int
    seconds: float

    @property
    def nats_per_sentence(self) -> float:
        """The "PPL" of the paper."""
        return sum(self.nats) / len(self.nats)

    @property
    def by_sentence(self) -> Measurement:
        """Nats of every sentence, for a paired test against another model."""
        return Measurement(np.array([(nats, 1.0) for nats in self.nats]), share_of_sums)

    @property
    def bits_per_character(self) -> float:
        return sum(self.nats) / self.characters / math.log(2)


def measure_likelihood(
    tokenizer: EvalTokenizer,
    train: Sequence[str],
    held_out: Sequence[str],
    config: PerplexityConfig | None = None,
    report: Callable[[int, int], object] = lambda step, steps: None,
) -> Likelihood:
    """Train a model on tokenized sentences and measure held-out sentences with it.

    The same seed gives the same numbers on a CPU. Tokens that occur only in the held-out text have an output like
    any other token, but it is never trained.
    """
    config = config or PerplexityConfig()
    if not any(train) or not any(held_out):
        raise TreetokError("a language model needs sentences to train on and sentences to be measured on")
    started = time.monotonic()
    device = chosen_device(config.device)
    ids: dict[str, int] = {}
    train_tokens = EncodedSentences(tokenizer, train, ids, device)
    held_out_tokens = EncodedSentences(tokenizer, held_out, ids, device)
    vocabulary = max(len(ids), tokenizer.vocabulary_size or 0) + 1
    vocabulary += -vocabulary % VOCABULARY_MULTIPLE
    batches = plan_batches([len(sentence) for sentence in train], config)
    random_devices = [torch.cuda.current_device()] if device == "cuda" else []
    with torch.random.fork_rng(devices=random_devices), sdpa_kernel(ATTENTION):
        torch.manual_seed(config.seed)
        model = TokenLanguageModel(vocabulary, config).to(device)
        train_model(model, train_tokens, batches, config, report)
        nats = score_sentences(model, held_out_tokens, [len(sentence) for sentence in held_out], config)
    return Likelihood(
        nats,
        len(held_out_tokens.flat) + len(held_out),
        sum(map(len, held_out)),
        sum(parameter.numel() for parameter in model.parameters()),
        len(batches),
        time.monotonic() - started,
    )


def figures_of(likelihood: Likelihood) -> dict[str, Figure]:
    """The figures shown in tables; the interval is over sentences."""
    bits = likelihood.bits_per_character
    return {
        "nats_per_sentence": interval(likelihood.by_sentence),
        "bits_per_character": Figure(bits, bits, bits, len(likelihood.nats)),
    }


# ---- training


def train_model(
    model: TokenLanguageModel,
    sentences: EncodedSentences,
    batches: list[list[int]],
    config: PerplexityConfig,
    report: Callable[[int, int], object],
) -> None:
    optimizer = adamw(model, config.learning_rate, config.weight_decay)
    model.train()
    for step, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * learning_rate_factor(step, len(batches), config.warm_up)
        rows = [
            window
            for number in batch
            for window in adjacent_windows(number, int(sentences.lengths[number]), config.context_length)
        ]
        input_BT, target_BT = sentences.windows(rows, config.context_length)
        loss = model.nats(input_BT, target_BT).sum() / (target_BT != IGNORED).sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        report(step + 1, len(batches))


def learning_rate_factor(step: int, steps: int, warm_up: float) -> float:
    """Linear warm-up, then cosine decay to a tenth."""
    warm_up_steps = max(1, round(warm_up * steps))
    # The first step is taken at 1 / warm_up_steps of the rate, not at 0.
    return warmup_cosine(max(step, min(step + 1, warm_up_steps)), warm_up_steps, steps, final_ratio=0.1)


# ---- scoring


@torch.no_grad()
def score_sentences(
    model: TokenLanguageModel, sentences: EncodedSentences, lengths: Sequence[int], config: PerplexityConfig
) -> list[float]:
    """Nats of every sentence; `lengths` are in characters."""
    model.eval()
    nats = torch.zeros(len(lengths), dtype=torch.float64, device=sentences.device)
    windows: list[tuple[int, int, int, int]] = []
    room = config.characters_per_step
    by_length = sorted(range(len(lengths)), key=lambda number: int(sentences.lengths[number]))
    for place, number in enumerate(by_length):
        windows += overlapping_windows(number, int(sentences.lengths[number]), config.context_length)
        room -= lengths[number]
        if room <= 0 or place == len(by_length) - 1:
            add_nats(model, sentences, windows, nats, config.context_length)
            windows, room = [], config.characters_per_step
    return nats.tolist()


def add_nats(
    model: TokenLanguageModel,
    sentences: EncodedSentences,
    windows: list[tuple[int, int, int, int]],
    nats: Tensor,
    max_width: int,
) -> None:
    """Add the nats of the measured tokens of every window to those of its sentence."""
    input_BT, target_BT = sentences.windows([window[:3] for window in windows], max_width)
    nats_BT = model.nats(input_BT, target_BT).double()
    skipped_B = torch.tensor([measured - start for _, start, _, measured in windows], device=nats.device)
    is_measured_BT = torch.arange(nats_BT.shape[1], device=nats.device) >= skipped_B[:, None]
    sentence_B = torch.tensor([window[0] for window in windows], device=nats.device)
    nats.index_add_(0, sentence_B, (nats_BT * is_measured_BT).sum(1))

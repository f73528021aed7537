"""How well a small language model predicts text cut by a tokenizer: the "PPL" of the paper's Table 2.

What the paper calls perplexity is the sum of -log p over the tokens of a sentence, its end included, averaged over
sentences, in nats. Sums can be compared between tokenizers as perplexities per token cannot: a sentence is the
same however many tokens it has.

For every tokenizer a model of the same size, in the manner of GPT-2, is trained from scratch on the same sentences
in the same order, the same ones in every step: the budget is counted in characters, not in tokens.

Shapes: B sentences, T tokens, D dimensions, V tokens of the vocabulary.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import Figure, interval
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from treetok.model.config import LanguageModelConfig
    from treetok.model.device import chosen_device
    from treetok.model.network.language_model import LanguageModel
except ImportError as error:
    raise TreetokError(f"language models need {error.name}: pip install 'treetok[train]'") from None

# The token that ends a sentence, and that stands before its first.
END = 0
# No token: behind the end of shorter sentences in a batch.
NOTHING = -1
# Tokens are told in multiples of so many, and windows are as wide as a multiple of so many.
ROWS_AT_LEAST, WIDTH_AT_LEAST = 1024, 32
# The number of outputs is a multiple of this: products of matrices of odd sizes take twice as long.
OUTPUTS_AT_LEAST = 64
# cuDNN's attention is left out: it takes ten milliseconds to prepare itself for every new size of a batch.
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
# Sentences are sorted by length among so many batches, so that little of a batch is empty.
BATCHES_SORTED_TOGETHER = 50


@dataclass(frozen=True)
class LanguageModelSettings:
    """
    characters: how much text is trained on; the text is gone through again when it is shorter.
    characters_a_step: how much of it between two steps of the optimiser.
    longest_window: tokens that the model sees at once. Longer sentences are learned in pieces, and measured with
        at least half a window before every token.
    """

    layers: int = 4
    heads: int = 4
    dimension: int = 256
    longest_window: int = 512
    dropout: float = 0.0
    characters: int = 20_000_000
    characters_a_step: int = 32_768
    learning_rate: float = 1e-3
    warm_up: float = 0.05
    weight_decay: float = 0.1
    seed: int = 0
    device: str = "auto"


@dataclass(frozen=True)
class Likelihood:
    """What a model says of a held-out text: nats of each sentence, and what was done to get there."""

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
        """Nats of every sentence, to be compared with those of another model."""
        return Measurement(np.array([(nats, 1.0) for nats in self.nats]), share_of_sums)

    @property
    def bits_per_character(self) -> float:
        return sum(self.nats) / self.characters / math.log(2)


def measure_likelihood(
    contestant: Contestant,
    train: Sequence[str],
    held_out: Sequence[str],
    settings: LanguageModelSettings | None = None,
    report: Callable[[int, int], object] = lambda step, steps: None,
) -> Likelihood:
    """Train a model on sentences cut by a tokenizer, and measure others with it.

    The same seed gives the same numbers on a CPU. Tokens of the held-out text that the training text lacks have an
    output like any other token that was never trained.
    """
    settings = settings or LanguageModelSettings()
    if not any(train) or not any(held_out):
        raise TreetokError("a language model needs sentences to learn from and others to be measured on")
    started = time.monotonic()
    device = chosen_device(settings.device)
    ids: dict[str, int] = {}
    train_tokens = NumberedSentences(contestant, train, ids, device)
    held_out_tokens = NumberedSentences(contestant, held_out, ids, device)
    vocabulary = max(len(ids), contestant.vocabulary_size or 0) + 1
    vocabulary += -vocabulary % OUTPUTS_AT_LEAST
    batches = plan_batches([len(sentence) for sentence in train], settings)
    random_devices = [torch.cuda.current_device()] if device == "cuda" else []
    with torch.random.fork_rng(devices=random_devices), sdpa_kernel(ATTENTION):
        torch.manual_seed(settings.seed)
        model = TokenModel(vocabulary, settings).to(device)
        learn(model, train_tokens, batches, settings, report)
        nats = measure(model, held_out_tokens, [len(sentence) for sentence in held_out], settings)
    return Likelihood(
        nats,
        len(held_out_tokens.flat) + len(held_out),
        sum(map(len, held_out)),
        sum(parameter.numel() for parameter in model.parameters()),
        len(batches),
        time.monotonic() - started,
    )


def figures_of(likelihood: Likelihood) -> dict[str, Figure]:
    """What tables show of a model; the interval is over sentences."""
    bits = likelihood.bits_per_character
    return {
        "nats_per_sentence": interval(likelihood.by_sentence),
        "bits_per_character": Figure(bits, bits, bits, len(likelihood.nats)),
    }


class NumberedSentences:
    """The tokens of sentences as numbers, all on one device; `ids` gives the numbers and grows with new tokens."""

    def __init__(self, contestant: Contestant, sentences: Sequence[str], ids: dict[str, int], device: str) -> None:
        numbers: list[int] = []
        starts = [0]
        for sentence in sentences:
            numbers += [ids.setdefault(token, len(ids) + 1) for token in contestant.tokenize(sentence)]
            starts.append(len(numbers))
        # One more behind the last, so that the place behind a sentence can be looked at.
        self.flat = torch.tensor(numbers, dtype=torch.int32)
        self._padded = torch.cat([self.flat, torch.tensor([END], dtype=torch.int32)]).to(device)
        self._starts = torch.tensor(starts, device=device)
        self.lengths = np.diff(np.array(starts))
        self.device = device

    def windows(self, rows: Sequence[tuple[int, int, int]], widest: int = 0) -> tuple[Tensor, Tensor]:
        """What the model sees and what it is to tell, for (sentence, first, behind last) in tokens: number 0 is
        the first token of a sentence, its end has the number of the sentence's length. They are filled up to a
        multiple of WIDTH_AT_LEAST, as far as `widest` allows."""
        sentence_B, first_B, last_B = torch.tensor(rows, device=self.device).T
        length_B = self._starts[sentence_B + 1] - self._starts[sentence_B]
        longest = max(last - first for _, first, last in rows)
        longest = min(longest + -longest % WIDTH_AT_LEAST, max(longest, widest))
        number_BT = first_B[:, None] + torch.arange(longest, device=self.device)
        place_BT = (self._starts[sentence_B][:, None] + number_BT).clamp(max=len(self.flat))
        told_BT = self._padded[place_BT].long()
        told_BT = told_BT.masked_fill(number_BT == length_B[:, None], END)
        told_BT = told_BT.masked_fill(number_BT >= last_B[:, None], NOTHING)
        before_B1 = self._padded[(place_BT[:, :1] - 1).clamp(min=0)].long()
        before_B1 = before_B1.masked_fill(first_B[:, None] == 0, END)
        seen_BT = torch.cat([before_B1, told_BT[:, :-1]], 1).clamp(min=END)
        return seen_BT, told_BT


class TokenModel(nn.Module):
    """Embeddings, a causal Transformer, and the same embeddings again as its output."""

    def __init__(self, vocabulary: int, settings: LanguageModelSettings) -> None:
        super().__init__()
        sizes = LanguageModelConfig(settings.layers, settings.heads, settings.dropout, settings.longest_window)
        self.embedding = nn.Embedding(vocabulary, settings.dimension)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.transformer = LanguageModel(settings.dimension, sizes)
        # Sixteen bits where the device is made for them; parameters and losses stay in 32.
        self.precision = torch.bfloat16 if chosen_device(settings.device) == "cuda" else torch.float32

    def forward(self, seen_BT: Tensor) -> Tensor:
        """The scores of what comes next, BTV."""
        weight_VD = self.embedding.weight.to(self.precision)
        return self._scores(self._states(seen_BT, weight_VD), weight_VD)

    def _states(self, seen_BT: Tensor, weight_VD: Tensor) -> Tensor:
        states_BTD: Tensor = self.transformer(F.embedding(seen_BT, weight_VD))
        return states_BTD

    def _scores(self, states: Tensor, weight_VD: Tensor) -> Tensor:
        return F.linear(states, weight_VD).float()

    def nats(self, seen_BT: Tensor, told_BT: Tensor) -> Tensor:
        """-log p of every token that is to be told, 0 where there is none."""
        weight_VD = self.embedding.weight.to(self.precision)
        state_ND = self._states(seen_BT, weight_VD).flatten(0, 1)
        at_M = (told_BT.flatten() != NOTHING).nonzero().squeeze(1)
        # The scores of all tokens of the vocabulary are by far the largest thing there is. Their number is filled
        # up, so that there are few sizes and memory is used again.
        filled = F.pad(at_M, (0, -len(at_M) % ROWS_AT_LEAST))
        told_M = F.pad(told_BT.flatten().index_select(0, at_M), (0, len(filled) - len(at_M)), value=NOTHING)
        scores_MV = self._scores(state_ND.index_select(0, filled), weight_VD)
        nats_M = F.cross_entropy(scores_MV, told_M, ignore_index=NOTHING, reduction="none")
        nats_N = nats_M.new_zeros(told_BT.numel()).index_copy(0, at_M, nats_M[: len(at_M)])
        return nats_N.view(told_BT.shape)


def plan_batches(lengths: Sequence[int], settings: LanguageModelSettings) -> list[list[int]]:
    """The sentences of every step, by number: as many as make `characters_a_step`, until the budget is used.
    Lengths are in characters, so that the plan is the same for every tokenizer.

    >>> plan_batches([5, 5, 5, 5], LanguageModelSettings(characters=20, characters_a_step=10))
    [[1, 3], [2, 0]]
    """
    random = np.random.default_rng(settings.seed)
    batches: list[list[int]] = []
    left = settings.characters
    while left > 0:
        order = random.permutation(len(lengths))
        pool: list[int] = []
        characters = 0
        for number in order.tolist():
            pool.append(number)
            characters += lengths[number]
            left -= lengths[number]
            if characters >= BATCHES_SORTED_TOGETHER * settings.characters_a_step or left <= 0:
                batches += batches_of_pool(pool, lengths, settings.characters_a_step, random)
                pool, characters = [], 0
            if left <= 0:
                break
        if pool:
            batches += batches_of_pool(pool, lengths, settings.characters_a_step, random)
    return batches


def batches_of_pool(
    pool: list[int], lengths: Sequence[int], characters_a_step: int, random: np.random.Generator
) -> list[list[int]]:
    """Sentences of about one length together, in batches that come in any order."""
    batches: list[list[int]] = [[]]
    characters = 0
    for number in sorted(pool, key=lengths.__getitem__):
        if characters >= characters_a_step:
            batches.append([])
            characters = 0
        batches[-1].append(number)
        characters += lengths[number]
    return [batches[number] for number in random.permutation(len(batches))]


def learn(
    model: TokenModel,
    sentences: NumberedSentences,
    batches: list[list[int]],
    settings: LanguageModelSettings,
    report: Callable[[int, int], object],
) -> None:
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=settings.learning_rate,
        betas=(0.9, 0.95),
        fused=True,
    )
    model.train()
    for step, batch in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * rate_at(step, len(batches), settings.warm_up)
        rows = [
            window for number in batch for window in pieces_of(number, int(sentences.lengths[number]), settings)
        ]
        seen_BT, told_BT = sentences.windows(rows, settings.longest_window)
        loss = model.nats(seen_BT, told_BT).sum() / (told_BT != NOTHING).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        report(step + 1, len(batches))


def rate_at(step: int, steps: int, warm_up: float) -> float:
    """The share of the learning rate: rises in a line, falls along a cosine to a tenth."""
    warm_steps = max(1, round(warm_up * steps))
    if step < warm_steps:
        return (step + 1) / warm_steps
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm_steps) / max(1, steps - warm_steps)))


def pieces_of(number: int, length: int, settings: LanguageModelSettings) -> list[tuple[int, int, int]]:
    """A sentence as windows side by side.

    >>> pieces_of(7, 5, LanguageModelSettings(longest_window=4))
    [(7, 0, 4), (7, 4, 6)]
    """
    return [
        (number, first, min(first + settings.longest_window, length + 1))
        for first in range(0, length + 1, settings.longest_window)
    ]


def overlapping_pieces(number: int, length: int, window: int) -> list[tuple[int, int, int, int]]:
    """Windows (sentence, first, behind last, measured from) so that every token of a sentence is measured once,
    and with half a window before it wherever the sentence has so much.

    >>> overlapping_pieces(7, 5, 4)
    [(7, 0, 4, 0), (7, 2, 6, 4)]
    """
    pieces = [(number, 0, min(window, length + 1), 0)]
    while pieces[-1][2] < length + 1:
        measured = pieces[-1][2]
        first = measured - window // 2
        pieces.append((number, first, min(first + window, length + 1), measured))
    return pieces


@torch.no_grad()
def measure(
    model: TokenModel, sentences: NumberedSentences, lengths: Sequence[int], settings: LanguageModelSettings
) -> list[float]:
    """Nats of every sentence."""
    model.eval()
    nats = torch.zeros(len(lengths), dtype=torch.float64, device=sentences.device)
    waiting: list[tuple[int, int, int, int]] = []
    room = settings.characters_a_step
    by_length = sorted(range(len(lengths)), key=lambda number: int(sentences.lengths[number]))
    for place, number in enumerate(by_length):
        waiting += overlapping_pieces(number, int(sentences.lengths[number]), settings.longest_window)
        room -= lengths[number]
        if room <= 0 or place == len(by_length) - 1:
            add_nats(model, sentences, waiting, nats, settings.longest_window)
            waiting, room = [], settings.characters_a_step
    return nats.tolist()


def add_nats(
    model: TokenModel,
    sentences: NumberedSentences,
    pieces: list[tuple[int, int, int, int]],
    nats: Tensor,
    widest: int,
) -> None:
    seen_BT, told_BT = sentences.windows([piece[:3] for piece in pieces], widest)
    nats_BT = model.nats(seen_BT, told_BT).double()
    skipped_B = torch.tensor([measured - first for _, first, _, measured in pieces], device=nats.device)
    is_measured_BT = torch.arange(nats_BT.shape[1], device=nats.device) >= skipped_B[:, None]
    sentence_B = torch.tensor([piece[0] for piece in pieces], device=nats.device)
    nats.index_add_(0, sentence_B, (nats_BT * is_measured_BT).sum(1))

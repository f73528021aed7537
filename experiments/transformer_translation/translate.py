"""One system with one seed: train it, translate the tests, and keep what came out as a line of a file."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import sdpa_kernel

from transformer_translation.beam_search import beam_search
from transformer_translation.encoded_pairs import FIRST_TOKEN, EncodedPairs, EncodedSentences
from transformer_translation.network import NetworkConfig, Transformer, TransformerHypotheses
from transformer_translation.training import (
    EncodedPairing,
    TrainingConfig,
    half_precision,
    on_device,
    sorted_batches,
    train,
)
from treetok.evaluate.perplexity.likelihood import ATTENTION
from treetok.model.device import computing_threads
from treetok.progress import Progress


@dataclass(frozen=True)
class SearchConfig:
    """
    width: hypotheses of each sentence.
    length_exponent: hypotheses are ranked by log-probability / length ** length_exponent.
    sentences: translated at once.
    """

    width: int = 4
    length_exponent: float = 1.0
    sentences: int = 250


@dataclass(frozen=True)
class Experiment:
    """The tokenizers of one system, the seed, and all settings."""

    name: str
    english: str
    german: str
    seed: int
    network: NetworkConfig
    training: TrainingConfig
    search: SearchConfig

    def identity(self, pairs: EncodedPairs) -> str:
        """Different for experiments that may have different translations."""
        settings = {key: value for key, value in asdict(self).items() if key != "name"}
        content = json.dumps([settings, pairs.digest(self.english, self.german)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def train_and_translate(experiment: Experiment, pairs_file: Path, device: str) -> dict[str, Any]:
    """The translations of all tests as tokens, and how they came about."""
    pairs = EncodedPairs.load(pairs_file)
    kinds = {"en": experiment.english, "de": experiment.german}
    sizes = [pairs.vocab_sizes[item] for item in kinds.items()]
    training, development = (
        EncodedPairing(*(pairs.sentences[part, *item] for item in kinds.items()))
        for part in ("training", "development")
    )
    title = f"{experiment.name}, seed {experiment.seed}"
    random_devices = [torch.cuda.current_device()] if device.startswith("cuda") else []
    with computing_threads(device, None), torch.random.fork_rng(devices=random_devices), sdpa_kernel(ATTENTION):
        torch.manual_seed(experiment.seed)
        network = Transformer(experiment.network, *sizes).to(device)
        with Progress(True).stage(title, None, "steps") as stage:
            trained = train(
                network,
                training,
                pairs.training_sizes,
                development,
                pairs.development_bytes,
                experiment.training,
                experiment.seed,
                device,
                lambda step, steps: stage.at(step),
            )
        began = time.monotonic()
        translations = {
            test: translate(network, pairs.sentences[test, "en", experiment.english], experiment.search, device)
            for test in pairs.tests
        }
    return {
        "identity": experiment.identity(pairs),
        **asdict(experiment),
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "steps": trained.steps,
        "bits_per_byte": trained.bits_per_byte,
        "best_epoch": trained.best_epoch,
        "training_seconds": round(trained.seconds, 1),
        "translation_seconds": round(time.monotonic() - began, 1),
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else "CPU",
        "translations": translations,
    }


def translate(
    network: Transformer, sentences: EncodedSentences, config: SearchConfig, device: str
) -> list[list[int]]:
    """The tokens of the best translation of each sentence."""
    network.eval()
    translations: list[list[int]] = [[] for _ in range(len(sentences))]
    for numbers in sorted_batches(sentences.lengths, config.sentences):
        source_BS = on_device(sentences.padded(numbers), device)
        # Translations are hardly ever longer than this; it ends those that repeat themselves.
        limit_B = on_device(2 * sentences.lengths[numbers] + 10, device)
        with half_precision(device), torch.no_grad():
            hypotheses = TransformerHypotheses(network, source_BS, config.width)
            found = beam_search(hypotheses, limit_B, config.width, config.length_exponent)
        for number, ids in zip(numbers, found, strict=True):
            translations[number] = [token - FIRST_TOKEN for token in ids]
    return translations


# ---- the file of translations


def finished_translations(file: Path) -> dict[str, dict[str, Any]]:
    """All results in a file, by identity. A line that was not written to its end is not one."""
    results: dict[str, dict[str, Any]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            result = json.loads(line)
        except ValueError:
            continue
        results[result["identity"]] = result
    return results


def add_translations(file: Path, results: Iterable[dict[str, Any]]) -> None:
    """Append results, each as it comes, below whatever a run that was stopped has left."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for result in results:
        with file.open("a+", encoding="utf-8") as lines:
            if file.stat().st_size and not file.read_bytes().endswith(b"\n"):
                lines.write("\n")
            lines.write(json.dumps(result) + "\n")

"""The time of a training step on a GPU, kernel by kernel, against the bounds set by its FLOPs and memory traffic.

PYTHONPATH=src python benchmarks/training.py CORPUS [--sequences 256]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import torch

from treetok.corpus.reading import read_texts
from treetok.corpus.word_ids import read_sequence
from treetok.model.batches.padding import BatchShape
from treetok.model.config import ModelConfig
from treetok.model.data.morpheme_vocabulary import find_morphemes
from treetok.model.losses.plain_or_fused import PLAIN, Operations, fused_operations
from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words
from treetok.model.training.cuda_graph import CudaGraphTrainer
from treetok.model.training.trainer import Trainer, TrainingConfig
from treetok.text import profile_named


def floating_point_operations(
    shape: BatchShape, config: ModelConfig, settings: TrainingConfig, morphemes: int
) -> float:
    """Multiplications and additions of one step: forward, and twice as many backward."""
    composition = config.composition
    d = composition.dimension
    layer = 4 * d * d + 2 * d * composition.hidden
    inside = (
        sum(cells * width for width, cells in enumerate(shape.inside_cells))
        * 3
        * composition.inside_layers
        * layer
    )
    pairs = sum(cells * depth for depth, cells in enumerate(shape.outside_cells))
    outside = pairs * (2 * composition.outside_layers * layer + 2 * (d * d + 64 * d))
    words = settings.sequences * settings.words_per_sequence
    language_model = words * (config.language_model.layers * 12 * d * d + shape.words * d)
    prediction = (shape.characters + shape.spans) * morphemes * d
    return 6.0 * (inside + outside + language_model + prediction)


def bytes_moved(shape: BatchShape, config: ModelConfig, settings: TrainingConfig, morphemes: int) -> float:
    """The memory traffic of one step in which every kernel reads its input and writes its output once."""
    composition = config.composition
    d, hidden = composition.dimension, composition.hidden
    # Values of 16 bits per token and layer. Forward: x, qkv (written, read), mixed (twice), x, y, out.
    forward = 12 * d
    # Backward: d_out, out, y, d_fed, d_z (twice), d_mixed (twice), qkv, d_qkv (twice), d_x; activated, d_hidden.
    backward = 18 * d + 2 * hidden
    # Weight gradients: x, d_qkv, d_z, mixed, y, d_fed; d_hidden, activated.
    products = 8 * d + 2 * hidden
    inside = 3 * composition.inside_layers * sum(cells * width for width, cells in enumerate(shape.inside_cells))
    outside = (
        2 * composition.outside_layers * sum(cells * depth for depth, cells in enumerate(shape.outside_cells))
    )
    # Logits are written, read, read, overwritten, and read by two matrix products.
    words = settings.sequences * settings.words_per_sequence
    logits = 6 * ((shape.characters + shape.spans) * morphemes + words * shape.words)
    return 2.0 * ((inside + outside) * (forward + backward + products) + logits)


def check_fused(trainer: CudaGraphTrainer) -> dict[str, float]:
    """The error of fused kernels against plain operations in 32 bits, beside that of plain operations in 16
    bits."""
    learner = trainer.learner
    batch = trainer.maker.draw(0)

    def gradient(operations: Operations, precision: torch.dtype | None) -> tuple[torch.Tensor, torch.Tensor]:
        learner.operations, learner.precision = operations, precision
        learner.zero_grad(set_to_none=True)
        losses = learner(batch)
        losses.total.backward()
        found = torch.cat([p.grad.flatten() for p in learner.parameters() if p.grad is not None])
        learner.zero_grad(set_to_none=True)
        return torch.stack([losses.character, losses.span, losses.next_word]).detach(), found

    exact_losses, exact = gradient(PLAIN, None)
    result = {}
    for name, operations in (("fused", fused_operations()), ("plain", PLAIN)):
        losses, found = gradient(operations, torch.bfloat16)
        result[f"{name}: largest error of a loss"] = round(float((losses - exact_losses).abs().max()), 5)
        result[f"{name}: relative error of the gradient"] = round(float((found - exact).norm() / exact.norm()), 5)
    return result


def measured_rates() -> tuple[float, float]:
    """FLOP/s of a large bf16 matrix product, and bytes/s of a large copy."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    big = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(big)
    rates = []
    for work, amount in ((lambda: a @ a, 2 * 8192**3), (lambda: other.copy_(big), 2 << 30)):
        for _ in range(3):
            work()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(20):
            work()
        torch.cuda.synchronize()
        rates.append(20 * amount / (time.perf_counter() - start))
    return rates[0], rates[1]


def seconds_per_step(trainer: Trainer, steps: int = 20) -> float:
    for _ in range(5):
        trainer.take_step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        trainer.take_step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def profile_graph(trainer: CudaGraphTrainer, replays: int = 3) -> tuple[Counter[str], int]:
    """Milliseconds of every kernel in the captured step, and how many kernels it launches."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(replays):
            trainer._graph.replay()
        torch.cuda.synchronize()
    kernels = Counter()
    launches = 0
    for event in profile.key_averages():
        kernels[event.key] += event.self_device_time_total / (1000 * replays)
        launches += event.count // replays
    return kernels, launches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sequences", type=int, default=256)
    parser.add_argument("--rows", type=int, default=25)
    parser.add_argument("--max-word-length", type=int, default=20)
    parser.add_argument("--skip-check", action="store_true")
    options = parser.parse_args()
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    config = ModelConfig(max_word_length=options.max_word_length)
    morphemes = find_morphemes(chart_words(sequence, config))
    settings = TrainingConfig(sequences=options.sequences)
    trainer = assemble_trainer(ChartText.of(sequence, config), config, settings, morphemes, "cuda")
    assert isinstance(trainer, CudaGraphTrainer)
    if not options.skip_check:
        print(json.dumps(check_fused(trainer)), flush=True)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    trainer.take_step()
    torch.cuda.synchronize()
    first_step = time.perf_counter() - start
    print(json.dumps({"seconds to compile, capture and take the first step": round(first_step, 1)}))
    step_seconds = seconds_per_step(trainer)
    kernels, launches = profile_graph(trainer)
    matrix_rate, copy_rate = measured_rates()
    flops = floating_point_operations(trainer.capacity, config, settings, len(morphemes))
    traffic = bytes_moved(trainer.capacity, config, settings, len(morphemes))
    result = {
        "words per second": round(options.sequences * settings.words_per_sequence / step_seconds),
        "ms per step": round(1000 * step_seconds, 1),
        "ms in captured kernels": round(sum(kernels.values()), 1),
        "captured kernels": launches,
        "TFLOP per step": round(flops / 1e12, 2),
        "ms at the measured matrix rate": round(1000 * flops / matrix_rate, 1),
        "GB moved per step": round(traffic / 1e9, 1),
        "ms at the measured bandwidth": round(1000 * traffic / copy_rate, 1),
        "TFLOP/s measured": round(matrix_rate / 1e12),
        "TB/s measured": round(copy_rate / 1e12, 2),
        "peak GB": round(torch.cuda.max_memory_allocated() / 1e9, 1),
        "batches redrawn": trainer.redrawn,
    }
    print(json.dumps(result))
    for name, milliseconds in kernels.most_common(options.rows):
        print(f"{milliseconds:7.2f} ms  {name[:110]}")


if __name__ == "__main__":
    main()

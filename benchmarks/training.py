"""Where the time of a training step goes on a GPU, against what its arithmetic and its memory traffic allow.

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
from treetok.model.config import ModelConfig
from treetok.model.data.morphemes import find_morphemes
from treetok.model.data.padding import BatchShape
from treetok.model.losses.operations import PLAIN, Operations
from treetok.model.training.assembly import assemble_trainer, chart_words
from treetok.model.training.cuda_graph import CudaGraphTrainer
from treetok.model.training.trainer import TrainingConfig
from treetok.text import profile_named


def operations(room: BatchShape, config: ModelConfig, settings: TrainingConfig, morphemes: int) -> float:
    """Multiplications and additions of one step, forward and twice that backward."""
    sizes = config.composition
    d = sizes.dimension
    layer = 4 * d * d + 2 * d * sizes.hidden
    inside = sum(cells * width for width, cells in enumerate(room.inside_cells)) * 3 * sizes.inside_layers * layer
    pairs = sum(cells * depth for depth, cells in enumerate(room.outside_cells))
    outside = pairs * (2 * sizes.outside_layers * layer + 2 * (d * d + 64 * d))
    words = settings.sequences * settings.words_per_sequence
    reading = words * (config.language_model.layers * 12 * d * d + room.words * d)
    telling = (room.characters + room.spans) * morphemes * d
    return 6.0 * (inside + outside + reading + telling)


def bytes_moved(room: BatchShape, config: ModelConfig, settings: TrainingConfig, morphemes: int) -> float:
    """What the kernels must read and write in one step where each reads its input and writes its output once."""
    sizes = config.composition
    d, hidden = sizes.dimension, sizes.hidden
    # Of one token in one layer, in numbers of 16 bits. Forward: x, qkv (written, read), mixed (twice), x, y, out.
    forward = 12 * d
    # Backward: d_out, out, y, d_fed, d_z (twice), d_mixed (twice), qkv, d_qkv (twice), d_x; activated, d_hidden.
    backward = 18 * d + 2 * hidden
    # Gradients of the weights: x, d_qkv, d_z, mixed, y, d_fed; d_hidden, activated.
    products = 8 * d + 2 * hidden
    inside = 3 * sizes.inside_layers * sum(cells * width for width, cells in enumerate(room.inside_cells))
    outside = 2 * sizes.outside_layers * sum(cells * depth for depth, cells in enumerate(room.outside_cells))
    # Logits are written, read, read, overwritten, and read twice for products.
    words = settings.sequences * settings.words_per_sequence
    logits = 6 * ((room.characters + room.spans) * morphemes + words * room.words)
    return 2.0 * ((inside + outside) * (forward + backward + products) + logits)


def check_fused(trainer: CudaGraphTrainer) -> dict[str, float]:
    """How far fused kernels are from plain arithmetic in 32 bits, beside plain arithmetic in 16 bits."""
    from treetok.model.kernels import FUSED

    learner = trainer.learner
    batch = trainer.maker.draw(0)

    def gradient(arithmetic: Operations, precision: torch.dtype | None) -> tuple[torch.Tensor, torch.Tensor]:
        learner.arithmetic, learner.precision = arithmetic, precision
        learner.zero_grad(set_to_none=True)
        losses = learner(batch)
        losses.total.backward()
        found = torch.cat([p.grad.flatten() for p in learner.parameters() if p.grad is not None])
        learner.zero_grad(set_to_none=True)
        return torch.stack([losses.character, losses.span, losses.next_word]).detach(), found

    exact_losses, exact = gradient(PLAIN, None)
    result = {}
    for name, arithmetic in (("fused", FUSED), ("plain", PLAIN)):
        losses, found = gradient(arithmetic, torch.bfloat16)
        result[f"{name}: largest error of a loss"] = round(float((losses - exact_losses).abs().max()), 5)
        result[f"{name}: relative error of the gradient"] = round(float((found - exact).norm() / exact.norm()), 5)
    return result


def measured_rates() -> tuple[float, float]:
    """Operations a second of a large bf16 product, and bytes a second of a large copy."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sequences", type=int, default=256)
    parser.add_argument("--rows", type=int, default=25)
    parser.add_argument("--longest-word", type=int, default=20)
    parser.add_argument("--skip-check", action="store_true")
    options = parser.parse_args()
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    config = ModelConfig(max_word_length=options.max_word_length)
    morphemes = find_morphemes(chart_words(sequence, config))
    settings = TrainingConfig(sequences=options.sequences)
    trainer = assemble_trainer(sequence, config, settings, morphemes, "cuda")
    assert isinstance(trainer, CudaGraphTrainer)
    if not options.skip_check:
        print(json.dumps(check_fused(trainer)), flush=True)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    trainer.take_step()
    torch.cuda.synchronize()
    print(
        json.dumps({"seconds to compile, record and take the first step": round(time.perf_counter() - start, 1)})
    )
    for _ in range(5):
        trainer.take_step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        trainer.take_step()
    torch.cuda.synchronize()
    step_seconds = (time.perf_counter() - start) / 20
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            trainer._graph.replay()
        torch.cuda.synchronize()
    kernels = Counter()
    launches = 0
    for event in profile.key_averages():
        kernels[event.key] += event.self_device_time_total / 3000
        launches += event.count // 3
    matrix_rate, copy_rate = measured_rates()
    work = operations(trainer.room, config, settings, len(morphemes))
    traffic = bytes_moved(trainer.room, config, settings, len(morphemes))
    print(
        json.dumps(
            {
                "words a second": round(options.sequences * settings.words_per_sequence / step_seconds),
                "ms a step": round(1000 * step_seconds, 1),
                "ms in recorded kernels": round(sum(kernels.values()), 1),
                "recorded kernels": launches,
                "TFLOP a step": round(work / 1e12, 2),
                "ms at the measured matrix rate": round(1000 * work / matrix_rate, 1),
                "GB moved a step": round(traffic / 1e9, 1),
                "ms at the measured bandwidth": round(1000 * traffic / copy_rate, 1),
                "TFLOP/s measured": round(matrix_rate / 1e12),
                "TB/s measured": round(copy_rate / 1e12, 2),
                "peak GB": round(torch.cuda.max_memory_allocated() / 1e9, 1),
                "batches drawn again": trainer.redrawn,
            }
        )
    )
    for name, milliseconds in kernels.most_common(options.rows):
        print(f"{milliseconds:7.2f} ms  {name[:110]}")


if __name__ == "__main__":
    main()

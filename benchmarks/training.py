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
from treetok.corpus.sequences import read_sequence
from treetok.model.assembly import assemble_trainer, chart_words
from treetok.model.configuration import ModelConfiguration
from treetok.model.fixed_size import BatchSizes
from treetok.model.morphemes import find_morphemes
from treetok.model.recorded_step import RecordedTrainer
from treetok.model.training import TrainingSettings
from treetok.text import profile_named


def operations(
    room: BatchSizes, configuration: ModelConfiguration, settings: TrainingSettings, morphemes: int
) -> float:
    """Multiplications and additions of one step, forward and twice that backward."""
    sizes = configuration.composition
    d = sizes.dimension
    layer = 4 * d * d + 2 * d * sizes.hidden
    inside = sum(cells * width for width, cells in enumerate(room.inside_cells)) * 3 * sizes.inside_layers * layer
    pairs = sum(cells * depth for depth, cells in enumerate(room.outside_cells))
    outside = pairs * (2 * sizes.outside_layers * layer + 2 * (d * d + 64 * d))
    words = settings.sequences * settings.words_a_sequence
    reading = words * (configuration.language_model.layers * 12 * d * d + room.words * d)
    telling = (room.characters + room.spans) * morphemes * d
    return 6.0 * (inside + outside + reading + telling)


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
    options = parser.parse_args()
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    configuration = ModelConfiguration()
    morphemes = find_morphemes(chart_words(sequence, configuration))
    settings = TrainingSettings(sequences=options.sequences)
    trainer = assemble_trainer(sequence, configuration, settings, morphemes, "cuda")
    assert isinstance(trainer, RecordedTrainer)
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
    work = operations(trainer.room, configuration, settings, len(morphemes))
    print(
        json.dumps(
            {
                "words a second": round(options.sequences * settings.words_a_sequence / step_seconds),
                "ms a step": round(1000 * step_seconds, 1),
                "ms in recorded kernels": round(sum(kernels.values()), 1),
                "recorded kernels": launches,
                "TFLOP a step": round(work / 1e12, 2),
                "ms at the measured matrix rate": round(1000 * work / matrix_rate, 1),
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

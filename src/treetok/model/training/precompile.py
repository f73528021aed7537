"""Compile the kernels in the background: they depend only on the model's configuration."""

from __future__ import annotations

import threading

import numpy as np
import torch

from treetok.model.batches.maker import BatchMaker
from treetok.model.charts.complete import CompleteCharts
from treetok.model.config import ModelConfig
from treetok.model.data.substrings import tabulate_substrings
from treetok.model.losses.objectives import TreeLearner

WORDS = ["abcd", "abc", "ab", "a"]


def precompile_kernels(config: ModelConfig, device: str) -> None:
    """Run one small training step. Parameters are zero, so that no random numbers are drawn."""
    with torch.device("meta"):
        learner = TreeLearner(config, 64)
    learner.to_empty(device=device)
    for parameter in learner.parameters():
        parameter.data.zero_()
    learner.use_gpu()
    table = tabulate_substrings(WORDS)
    charts = CompleteCharts(table, np.arange(len(table)) % 64, device)
    word_ids = np.arange(32, dtype=np.int32) % len(WORDS)
    batch = BatchMaker(word_ids, table.lengths, charts.plan, 2, 8, 0, device).draw(0)
    learner(batch).total.backward()
    torch.cuda.synchronize()


def start_precompiling(config: ModelConfig, device: str) -> threading.Thread:
    """Compile in a thread. A trainer that needs a kernel earlier compiles it itself."""
    thread = threading.Thread(target=precompile_kernels, args=(config, device), daemon=True)
    thread.start()
    return thread

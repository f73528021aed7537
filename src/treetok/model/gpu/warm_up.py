"""Compiling the kernels while text is still being read: they depend on the model's sizes alone."""

from __future__ import annotations

import threading

import numpy as np
import torch

from treetok.model.batches import BatchMaker
from treetok.model.complete_chart import CompleteCharts
from treetok.model.configuration import ModelConfiguration
from treetok.model.objectives import TreeLearner
from treetok.model.substrings import tabulate_substrings

WORDS = ["abcd", "abc", "ab", "a"]


def compile_kernels(configuration: ModelConfiguration, device: str) -> None:
    """One small step of a model of these sizes; its parameters are zeros, so that no random numbers are drawn."""
    with torch.device("meta"):
        learner = TreeLearner(configuration, 64)
    learner.to_empty(device=device)
    for parameter in learner.parameters():
        parameter.data.zero_()
    learner.use_gpu()
    table = tabulate_substrings(WORDS)
    charts = CompleteCharts(table, np.arange(len(table)) % 64, device)
    numbers = np.arange(32, dtype=np.int32) % len(WORDS)
    batch = BatchMaker(numbers, table.lengths, charts.plan, 2, 8, 0, device).draw(0)
    learner(batch).total.backward()
    torch.cuda.synchronize()


def start_compiling(configuration: ModelConfiguration, device: str) -> threading.Thread:
    """Compile in the background; whoever needs the kernels earlier compiles them himself."""
    thread = threading.Thread(target=compile_kernels, args=(configuration, device), daemon=True)
    thread.start()
    return thread

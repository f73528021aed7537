"""Training on a GPU: the forward and backward pass of a step recorded once as a CUDA graph and replayed.

Charts need thousands of small kernels; launched one by one, they leave the GPU idle most of the time. Batches are
padded to a fixed size (`batches/padding.py`); the next one is planned on a second stream while the recorded step
runs.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from treetok.model.batches.batch import Batch
from treetok.model.batches.padding import capacity_for, pad_batch, shape_of
from treetok.model.training.trainer import Trainer

BATCHES_TO_MEASURE = 12
# Batches that do not fit are redrawn, with step numbers that no run reaches.
NEXT_TRY = 1_000_000_000


def tensors_of(thing: Any) -> list[Tensor]:
    """All tensors in nested dataclasses and lists, in order."""
    if isinstance(thing, Tensor):
        return [thing]
    if dataclasses.is_dataclass(thing):
        return [t for field in dataclasses.fields(thing) for t in tensors_of(getattr(thing, field.name))]
    if isinstance(thing, list):
        return [t for item in thing for t in tensors_of(item)]
    return []


class CudaGraphTrainer(Trainer):
    """A trainer whose steps are replayed; otherwise like `Trainer`."""

    _graph: torch.cuda.CUDAGraph | None = None
    redrawn = 0

    def _prepare(self) -> None:
        """Measure batches and record the step."""
        self.learner.use_gpu()
        self.learner.train()
        measured = (shape_of(self.maker.draw(NEXT_TRY - 1 - number)) for number in range(BATCHES_TO_MEASURE))
        self.capacity = capacity_for(measured)
        self._static: Batch = self._draw(self.step)
        self._side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            for _ in range(3):
                self.optimiser.zero_grad(set_to_none=True)
                self._forward_and_backward()
        torch.cuda.current_stream().wait_stream(self._side)
        self.optimiser.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._losses = self._forward_and_backward()
        self._graph = graph
        self._next: tuple[int, Batch] | None = None

    def _forward_and_backward(self) -> Tensor:
        losses = self.learner(self._static)
        losses.total.backward()
        stacked: Tensor = losses.stacked().detach()
        return stacked

    def _draw(self, step: int) -> Batch:
        """The batch of a step, padded to the fixed size."""
        batch = self.maker.draw(step)
        tries = 0
        while not shape_of(batch).fits(self.capacity):
            tries += 1
            self.redrawn += 1
            batch = self.maker.draw(step + tries * NEXT_TRY)
        return pad_batch(batch, self.capacity)

    def forward_backward(self) -> Tensor:
        if self._graph is None:
            self._prepare()
        assert self._graph is not None
        main = torch.cuda.current_stream()
        if self._next is None or self._next[0] != self.step:
            self._next = (self.step, self._draw(self.step))
        else:
            main.wait_stream(self._side)
        torch._foreach_copy_(tensors_of(self._static), tensors_of(self._next[1]))
        self._side.wait_stream(main)
        self._graph.replay()
        return self._losses.clone()

    def take_step(self) -> Tensor:
        losses = super().take_step()
        # Plan the next batch while the GPU is still busy with this step.
        with torch.cuda.stream(self._side):
            self._next = (self.step, self._draw(self.step))
        return losses

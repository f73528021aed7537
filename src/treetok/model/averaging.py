"""A running average of the parameters: steadier than they are themselves, and better trees for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class AveragedWeights:
    """average <- decay * average + (1 - decay) * parameters, after every step; at first of the steps there are."""

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.parameters = dict(module.named_parameters())
        self.decay = decay
        self.averages = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the parameters after step number `step` (from 1) in."""
        decay = min(self.decay, step / (step + 10))
        torch._foreach_lerp_(list(self.averages.values()), self._tensors(), 1 - decay)

    def _tensors(self) -> list[Tensor]:
        return [parameter.detach() for parameter in self.parameters.values()]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within it the parameters are their averages."""
        kept = [tensor.clone() for tensor in self._tensors()]
        torch._foreach_copy_(self._tensors(), list(self.averages.values()))
        try:
            yield
        finally:
            torch._foreach_copy_(self._tensors(), kept)

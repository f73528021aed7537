"""Training with several processes, one per GPU, that together compute exactly what one process would.

A batch cannot simply be split: a distinct word is computed once for all its occurrences, and all words of the
batch are candidates for the next word. So every process draws the whole batch (only word ids, which depend on seed
and step) and computes a share of it: the charts of every R-th distinct word, in order of length, and the states of
every R-th sequence. Word vectors and states are exchanged, and so are their gradients. A loss is divided by the
weights of the whole batch and multiplied by the number of processes, so that the mean gradient, which
DistributedDataParallel computes, is the gradient of the loss of the whole batch.

Shapes: W distinct words, B sequences of T words, D dimensions; R processes (ranks).
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from treetok.errors import TreetokError
from treetok.model.batches.batch import Batch
from treetok.model.batches.maker import BatchMaker, DrawnWords
from treetok.model.losses.objectives import Losses, TreeLearner
from treetok.model.losses.reduction import BatchReduction
from treetok.model.network.functional import precise
from treetok.model.training.trainer import StepReport, Trainer, TrainingConfig
from treetok.torchrun import is_first_process, is_started_by_torchrun


@contextmanager
def joined_processes(device: str) -> Iterator[str]:
    """Join the process group if started by `torchrun`, and leave it at the end. Yields the device of this process:
    one GPU each, or the CPU for all.

    with joined_processes("cuda") as device:
        trainer = assemble_trainer(ChartText.of(sequence, config), config, settings, morphemes, device)
    """
    if not is_started_by_torchrun():
        yield device
        return
    backend = "gloo"
    if device.startswith("cuda"):
        number, gpus = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
        if number >= gpus:
            raise TreetokError(f"torchrun started {number + 1} or more processes here, but there are {gpus} GPUs")
        device, backend = f"cuda:{number}", "nccl"
        torch.cuda.set_device(number)
    try:
        dist.init_process_group(backend)
    except (RuntimeError, ValueError) as error:
        raise TreetokError(f"cannot join the other processes of torchrun: {error}") from None
    try:
        yield device
    finally:
        # Trainers no longer in use still hold the group. Its threads have to end here: a thread that ends during
        # interpreter shutdown can abort the process.
        gc.collect()
        dist.destroy_process_group()


def several_processes() -> bool:
    """Whether this process trains together with others."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


@dataclass(frozen=True)
class ShareOfBatch(Batch):
    """The plan, the targets, `chosen_W` and `count_W` cover the words of this process, `words_BT` its sequences.
    Words are numbered and occurrences counted in the whole batch, whose sizes are the fields below."""

    whole_words: int
    whole_sequences: int


class ShareMaker(BatchMaker):
    """Makes this process's share of every batch."""

    def planned(self, drawn: DrawnWords) -> ShareOfBatch:
        rank, ranks = dist.get_rank(), dist.get_world_size()
        # Every process must use all parameters: DistributedDataParallel waits for each gradient.
        if len(drawn.distinct_W) < ranks or self.lengths[drawn.distinct_W[ranks - 1]] < 2:
            raise TreetokError(f"a batch has fewer words of several letters than there are processes ({ranks})")
        mine = DrawnWords(
            drawn.distinct_W[rank::ranks],
            drawn.words_BT[rank::ranks],
            drawn.chosen_W[rank::ranks],
            drawn.count_W[rank::ranks],
        )
        share = super().planned(mine)
        whole_words = len(drawn.distinct_W)
        return ShareOfBatch(
            share.plan,
            share.words_BT,
            share.chosen_W,
            share.count_W,
            share.characters,
            share.spans,
            torch.ones(whole_words + 1, dtype=torch.bool, device=drawn.distinct_W.device),
            whole_words,
            len(drawn.words_BT),
        )


class GatherRows(torch.autograd.Function):
    """All rows of a table of which this process has every R-th. The gradient of a row is summed over all
    processes."""

    @staticmethod
    def forward(ctx: Any, mine: Tensor, rows: int) -> Tensor:
        ranks = dist.get_world_size()
        padded = mine.new_zeros((-(-rows // ranks), *mine.shape[1:]))
        padded[: len(mine)] = mine
        parts = [torch.empty_like(padded) for _ in range(ranks)]
        dist.all_gather(parts, padded)
        return torch.stack(parts, 1).flatten(0, 1)[:rows]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        # A copy even if already in 32 bits: all_reduce works in place.
        total = precise(gradients[0]).clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[dist.get_rank() :: dist.get_world_size()].to(gradients[0].dtype), None


def gather_rows(mine: Tensor, rows: int) -> Tensor:
    gathered: Tensor = GatherRows.apply(mine, rows)  # type: ignore[no-untyped-call]
    return gathered


class DistributedReduction(BatchReduction):
    """Gathers and averages over the shares of all processes."""

    def gather_words(self, words_WD: Tensor, batch: Batch) -> Tensor:
        assert isinstance(batch, ShareOfBatch)
        return gather_rows(words_WD, batch.whole_words)

    def gather_states(self, states_BTD: Tensor, batch: Batch) -> Tensor:
        assert isinstance(batch, ShareOfBatch)
        return gather_rows(states_BTD, batch.whole_sequences)

    def mean(self, losses: Tensor, weights: Tensor) -> Tensor:
        """This process's part times R: the mean over processes is the mean over the whole batch."""
        weight = weights.detach().sum()
        dist.all_reduce(weight)
        return (losses * weights).sum() * dist.get_world_size() / weight.clamp_min(1e-9)


class DataParallelTrainer(Trainer):
    """A trainer that computes a share of every batch. All processes return the losses of the whole batch, take the
    same steps and stop after the same step; only the first calls `report` and `save`."""

    def __init__(
        self,
        learner: TreeLearner,
        maker: BatchMaker,
        config: TrainingConfig,
        validation_batches: Sequence[Batch] = (),
    ) -> None:
        if config.sequences < dist.get_world_size():
            raise TreetokError(
                f"batches of {config.sequences} sequences cannot be shared by {dist.get_world_size()} processes:"
                " there must be a sequence for each"
            )
        super().__init__(learner, maker, config, validation_batches)
        learner.reduction = DistributedReduction()
        if self.device.type == "cuda":
            learner.use_gpu()
        bytes_of_gradients = sum(p.numel() * p.element_size() for p in learner.parameters())
        self._parallel = DistributedDataParallel(
            learner,
            # One bucket: gradients are exchanged after the whole backward pass, never between the exchanges of the
            # backward pass itself, whose order must be the same in all processes.
            bucket_cap_mb=1 + bytes_of_gradients // 2**20,
            # The parameters of the language model are unused without context.
            find_unused_parameters=not learner.config.objective.context,
        )

    def learn_from(self, batch: Batch) -> Losses:
        losses: Losses = self._parallel(batch)
        return losses

    def of_all(self, losses: Tensor) -> Tensor:
        dist.all_reduce(losses)
        return losses / dist.get_world_size()

    def agreed(self, *wishes: bool) -> Sequence[bool]:
        votes = torch.tensor(wishes, dtype=torch.int32, device=self.device)
        dist.all_reduce(votes, dist.ReduceOp.MAX)
        return [bool(vote) for vote in votes.tolist()]

    def _tell(self, report: Callable[[StepReport], object], news: StepReport) -> None:
        if is_first_process():
            report(news)

    def _save_if_sound(self, save: Callable[[Trainer], object]) -> None:
        super()._save_if_sound(lambda trainer: self._save_once(save))

    def _save_once(self, save: Callable[[Trainer], object]) -> None:
        """The first process saves while the others wait; if it fails, all stop."""
        error: Exception | None = None
        if is_first_process():
            try:
                save(self)
            except Exception as caught:
                error = caught
        (failed,) = self.agreed(error is not None)
        if error is not None:
            raise error
        if failed:
            raise TreetokError("the first process could not save a checkpoint")

"""Checkpoints: everything needed to continue exactly where training stopped, in files of moderate size."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from treetok.errors import TreetokError, first_difference
from treetok.model.training.trainer import Trainer
from treetok.storage.atomic import open_file, save_atomically

HEAD = "checkpoint.json"
PARAMETERS = "parameters.safetensors"
# The two moments of Adam, one file each.
MOMENTS = {"exp_avg": "first_moments.safetensors", "exp_avg_sq": "second_moments.safetensors"}
BEST_PARAMETERS = "best_parameters.safetensors"
FILES = [HEAD, PARAMETERS, *MOMENTS.values(), BEST_PARAMETERS]


def save_checkpoint(trainer: Trainer, directory: Path) -> None:
    """Write a checkpoint of a trainer; if that fails, the previous checkpoint stays intact."""
    progress = {"step": trainer.step, "seconds": trainer.seconds_spent}
    write_checkpoint(directory, trainer.learner, trainer.optimiser, progress, run_of(trainer))


def load_checkpoint(trainer: Trainer, directory: Path) -> None:
    """Continue from a checkpoint: restore the parameters, the optimiser and the step."""
    progress = read_checkpoint(
        directory, trainer.learner, trainer.optimiser, run_of(trainer), trainer.config.steps
    )
    trainer.step = progress["step"]
    trainer.seconds_before = float(progress.get("seconds", 0.0))


def run_of(trainer: Trainer) -> dict[str, Any]:
    """A checkpoint is valid only for the same model on the same text, morphemes and schedule."""
    return {
        "config": dataclasses.asdict(trainer.learner.config),
        "training": dataclasses.asdict(trainer.config),
        "morphemes": trainer.learner.composition.embedding.num_embeddings,
        "text": trainer.fingerprint,
    }


def write_checkpoint(
    directory: Path,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: Mapping[str, Any],
    run: Mapping[str, Any],
    best: Mapping[str, torch.Tensor] | None = None,
) -> None:
    """progress: how far training has got, including `step`; run: what must be unchanged to continue; best: the
    best parameters so far."""
    parameters = dict(model.named_parameters())
    contents = {PARAMETERS: safetensors.torch.save({name: p.detach().cpu() for name, p in parameters.items()})}
    for moment, file in MOMENTS.items():
        moments = {
            name: optimiser.state[p][moment].detach().cpu()
            for name, p in parameters.items()
            if p in optimiser.state
        }
        contents[file] = safetensors.torch.save(moments)
    if best:
        contents[BEST_PARAMETERS] = safetensors.torch.save({name: p.detach().cpu() for name, p in best.items()})
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    head = {**progress, **run, "sha256": sums}
    contents[HEAD] = (json.dumps(head, indent=1) + "\n").encode()
    save_atomically(directory, contents, HEAD)


def read_checkpoint(
    directory: Path,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    run: Mapping[str, Any],
    last_step: int,
) -> dict[str, Any]:
    """Load a checkpoint into a model and its optimiser; returns its head, with the best parameters, if saved, as
    `best`."""
    head_path = directory / HEAD
    try:
        head: dict[str, Any] = json.loads(head_path.read_text(encoding="utf-8"))
        step, sums = head["step"], head["sha256"]
        for name, here in json.loads(json.dumps(run)).items():
            there = head[name]
            if there != here:
                difference = first_difference(there, here)
                raise TreetokError(f"the checkpoint in {directory} is of another run: {name}: {difference}")
        if type(step) is not int or not 0 <= step <= last_step:
            raise ValueError(f"there is no step {step!r}")
        parameters = dict(model.named_parameters())
        saved = read_tensors(directory, PARAMETERS, sums[PARAMETERS], parameters)
        moments = {
            moment: read_tensors(directory, file, sums[file], parameters if step else {}, may_lack_some=True)
            for moment, file in MOMENTS.items()
        }
        if BEST_PARAMETERS in sums:
            head["best"] = read_tensors(directory, BEST_PARAMETERS, sums[BEST_PARAMETERS], parameters)
    except FileNotFoundError as error:
        raise TreetokError(
            f"there is no checkpoint in {directory}: {Path(error.filename).name} is missing"
        ) from None
    except OSError as error:
        raise TreetokError(f"cannot read the checkpoint in {directory}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise TreetokError(f"{head_path} is damaged: {error}") from None
    put_tensors(parameters, saved, optimiser, moments, step)
    return head


def put_tensors(
    parameters: Mapping[str, torch.nn.Parameter],
    saved: Mapping[str, torch.Tensor],
    optimiser: torch.optim.Optimizer,
    moments: Mapping[str, Mapping[str, torch.Tensor]],
    step: int,
) -> None:
    optimiser.state.clear()
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(saved[name])
            # Parameters that the objective does not use have no moments.
            if all(name in tensors for tensors in moments.values()):
                optimiser.state[parameter] = {
                    "step": torch.tensor(float(step), device=parameter.device),
                    **{moment: tensors[name].to(parameter.device) for moment, tensors in moments.items()},
                }


def read_tensors(
    directory: Path,
    name: str,
    sha256: str,
    expected: Mapping[str, torch.nn.Parameter],
    may_lack_some: bool = False,
) -> dict[str, torch.Tensor]:
    """The tensors in a file of a checkpoint, whose names and shapes must match the model."""
    path = directory / name
    with open_file(directory, HEAD, name) as file:
        content = file.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise TreetokError(f"{path} is damaged: its checksum is not the one in {HEAD}")
    try:
        tensors = safetensors.torch.load(content)
    except safetensors.SafetensorError as error:
        raise TreetokError(f"{path} is damaged: {error}") from None
    expected = {n: p for n, p in expected.items() if n in tensors or not may_lack_some}
    if {name: tensor.shape for name, tensor in tensors.items()} != {n: p.shape for n, p in expected.items()}:
        raise TreetokError(f"{path} is damaged: its tensors are not those of the model")
    return tensors

"""Checkpoints: what is needed to go on exactly where training stopped, in files of moderate size."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from treetok.errors import TreetokError
from treetok.model.training.trainer import Trainer
from treetok.storage.atomic import find_file, save_atomically

HEAD = "checkpoint.json"
PARAMETERS = "parameters.safetensors"
# The two moments of Adam, a file each.
MOMENTS = {"exp_avg": "first_moments.safetensors", "exp_avg_sq": "second_moments.safetensors"}
FILES = [HEAD, PARAMETERS, *MOMENTS.values()]


def what_must_agree(trainer: Trainer) -> dict[str, Any]:
    """A checkpoint is of use to a run of the same model on the same vocabulary and schedule only."""
    return {
        "config": dataclasses.asdict(trainer.learner.config),
        "settings": dataclasses.asdict(trainer.settings),
        "morphemes": trainer.learner.composition.embedding.num_embeddings,
        "text": trainer.fingerprint,
    }


def save_checkpoint(trainer: Trainer, directory: Path) -> None:
    """Write a checkpoint; the one that is there survives whatever goes wrong."""
    parameters = dict(trainer.learner.named_parameters())
    contents = {PARAMETERS: safetensors.torch.save({name: p.detach().cpu() for name, p in parameters.items()})}
    for moment, file in MOMENTS.items():
        moments = {
            name: trainer.optimiser.state[p][moment].detach().cpu()
            for name, p in parameters.items()
            if p in trainer.optimiser.state
        }
        contents[file] = safetensors.torch.save(moments)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    head = {"step": trainer.step, **what_must_agree(trainer), "sha256": sums}
    contents[HEAD] = (json.dumps(head, indent=1) + "\n").encode()
    save_atomically(directory, contents, HEAD)


def load_checkpoint(trainer: Trainer, directory: Path) -> None:
    """Go on from a checkpoint: parameters, optimiser and step become what they were."""
    head_path = find_file(directory, HEAD)
    try:
        head = json.loads(head_path.read_text(encoding="utf-8"))
        step, sums = head["step"], head["sha256"]
        for name, here in what_must_agree(trainer).items():
            there = head[name]
            if there != here:
                raise TreetokError(
                    f"the checkpoint in {directory} is of another run: {name}: {difference(there, here)}"
                )
        if type(step) is not int or not 0 <= step <= trainer.settings.steps:
            raise ValueError(f"there is no step {step!r}")
        parameters = dict(trainer.learner.named_parameters())
        saved = read_tensors(find_file(directory, PARAMETERS), sums[PARAMETERS], parameters)
        moments = {
            moment: read_tensors(
                find_file(directory, file), sums[file], parameters if step else {}, may_lack_some=True
            )
            for moment, file in MOMENTS.items()
        }
    except FileNotFoundError as error:
        raise TreetokError(
            f"there is no checkpoint in {directory}: {Path(error.filename).name} is missing"
        ) from None
    except OSError as error:
        raise TreetokError(f"cannot read the checkpoint in {directory}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise TreetokError(f"{head_path} is damaged: {error}") from None
    trainer.optimiser.state.clear()
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(saved[name])
            # What an objective makes no use of has no moments.
            if all(name in tensors for tensors in moments.values()):
                trainer.optimiser.state[parameter] = {
                    "step": torch.tensor(float(step), device=parameter.device),
                    **{moment: tensors[name].to(parameter.device) for moment, tensors in moments.items()},
                }
    trainer.step = step


def read_tensors(
    path: Path, sha256: str, expected: dict[str, torch.nn.Parameter], may_lack_some: bool = False
) -> dict[str, torch.Tensor]:
    """The tensors of a file, if they are those of the model in name and shape."""
    content = path.read_bytes()
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


def difference(there: Any, here: Any) -> str:
    """Where two descriptions differ first."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            if there.get(key) != here.get(key):
                return f"{key}: {difference(there.get(key), here.get(key))}"
    return f"{there} there, {here} here"

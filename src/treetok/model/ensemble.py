"""A member of a committee: a trained composition model with the morphemes it knows, and the file it is kept in."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from treetok.errors import TreetokError
from treetok.model.config import CompositionConfig
from treetok.model.data.morphemes import MorphemeVocabulary
from treetok.model.network.composition import CompositionModel
from treetok.storage.atomic import save_atomically

WEIGHT = "composition."
STRINGS = ("characters", "morphemes")


@dataclass(frozen=True)
class EnsembleMember:
    """One composition model among those whose trees are taken together."""

    composition: CompositionModel
    morphemes: MorphemeVocabulary

    def save(self, path: Path) -> None:
        """Write the member into one file, in 16 bits: enough for trees, not for training to go on."""
        tensors = {WEIGHT + name: w.detach().cpu().half() for name, w in self.composition.state_dict().items()}
        for name, strings in zip(STRINGS, (self.morphemes.characters, self.morphemes.longer), strict=True):
            tensors[name] = torch.frombuffer(bytearray(json.dumps(strings).encode()), dtype=torch.uint8)
        sizes = json.dumps(dataclasses.asdict(self.composition.config))
        content = safetensors.torch.save(tensors, {"sizes": sizes})
        save_atomically(path.parent, {path.name: content}, path.name)

    @classmethod
    def load(cls, path: Path, device: torch.device | str = "cpu") -> EnsembleMember:
        try:
            with safetensors.safe_open(path, "pt") as file:
                sizes = CompositionConfig(**json.loads((file.metadata() or {})["sizes"]))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            morphemes = MorphemeVocabulary(*(json.loads(tensors[name].numpy().tobytes()) for name in STRINGS))
            composition = CompositionModel(sizes, len(morphemes))
            weights = {n.removeprefix(WEIGHT): w.float() for n, w in tensors.items() if n.startswith(WEIGHT)}
            composition.load_state_dict(weights)
        except OSError as error:
            raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise TreetokError(f"{path} is damaged: {error}") from None
        return cls(composition.to(device), morphemes)

"""A member of the ensemble: a trained composition model, the morphemes it knows and the parser that prunes its
charts, if they are pruned; with its file format."""

from __future__ import annotations

import dataclasses
import json
import struct
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from treetok.errors import TreetokError
from treetok.model.config import CompositionConfig
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.network.composition import CompositionModel
from treetok.sources.parser import ParserTrees
from treetok.storage.atomic import save_atomically

WEIGHT, PARSER = "composition.", "parser."
STRINGS = ("characters", "morphemes")


@dataclass(frozen=True)
class EnsembleMember:
    """One of the composition models that trees are decoded from together.

    parser: trained jointly with the model; None with complete charts.
    """

    composition: CompositionModel
    morphemes: MorphemeVocabulary
    parser: ParserTrees | None = None

    def as_bytes(self) -> bytes:
        """The member in 16-bit precision: enough to decode trees, not to continue training."""
        tensors = {WEIGHT + name: w.detach().cpu().half() for name, w in self.composition.state_dict().items()}
        for name, strings in zip(STRINGS, (self.morphemes.characters, self.morphemes.longer), strict=True):
            tensors[name] = torch.frombuffer(bytearray(json.dumps(strings).encode()), dtype=torch.uint8)
        if self.parser is not None:
            tensors |= {PARSER + name: torch.tensor(array) for name, array in self.parser.arrays().items()}
        sizes = json.dumps(dataclasses.asdict(self.composition.config))
        return safetensors.torch.save(tensors, {"sizes": sizes})

    @classmethod
    def from_bytes(cls, content: bytes, name: str, device: torch.device | str = "cpu") -> EnsembleMember:
        """The inverse of `as_bytes`; `name` is for error messages."""
        try:
            tensors = safetensors.torch.load(content)
            sizes = CompositionConfig(**json.loads(metadata_of(content)["sizes"]))
            strings = (json.loads(tensors[name].numpy().tobytes()) for name in STRINGS)
            morphemes = MorphemeVocabulary(*strings)
            composition = CompositionModel(sizes, len(morphemes))
            weights = {n.removeprefix(WEIGHT): w.float() for n, w in tensors.items() if n.startswith(WEIGHT)}
            composition.load_state_dict(weights)
            of_parser = {n.removeprefix(PARSER): w.numpy() for n, w in tensors.items() if n.startswith(PARSER)}
            parser = ParserTrees.from_arrays(of_parser) if of_parser else None
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RuntimeError, TreetokError) as error:
            raise TreetokError(f"{name} is damaged: {error}") from None
        return cls(composition.to(device), morphemes, parser)

    def save(self, path: Path) -> None:
        save_atomically(path.parent, {path.name: self.as_bytes()}, path.name)

    @classmethod
    def load(cls, path: Path, device: torch.device | str = "cpu") -> EnsembleMember:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
        return cls.from_bytes(content, str(path), device)


def metadata_of(content: bytes) -> dict[str, str]:
    """The metadata of a safetensors file: its header is JSON, preceded by a 64-bit length."""
    (length,) = struct.unpack("<Q", content[:8])
    metadata: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return metadata

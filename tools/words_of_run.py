"""What a training run leaves beside its checkpoint: words, counts, trees and morphemes, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy

from treetok.lexicon import Lexicon
from treetok.model.morphemes import MorphemeVocabulary

FILE = "words.safetensors"


@dataclass(frozen=True)
class WordsOfRun:
    lexicon: Lexicon
    counts: dict[str, int]
    morphemes: MorphemeVocabulary

    def save(self, directory: Path) -> None:
        def as_bytes(text: str) -> np.ndarray:
            return np.frombuffer(text.encode(), dtype=np.uint8)

        arrays = {
            "text": as_bytes(self.lexicon.text),
            "lengths": self.lexicon.lengths,
            "depths": self.lexicon.depths,
            "counts": np.array([self.counts[word] for word in self.lexicon.words()], dtype=np.int64),
            "characters": as_bytes("".join(self.morphemes.characters)),
            "morphemes": as_bytes("\n".join(self.morphemes.longer)),
        }
        (directory / FILE).write_bytes(safetensors.numpy.save(arrays))

    @classmethod
    def load(cls, directory: Path) -> WordsOfRun:
        arrays = safetensors.numpy.load((directory / FILE).read_bytes())
        text = {name: arrays[name].tobytes().decode() for name in ("text", "characters", "morphemes")}
        lexicon = Lexicon(text["text"], arrays["lengths"], arrays["depths"])
        counts = dict(zip(lexicon.words(), arrays["counts"].tolist(), strict=True))
        return cls(lexicon, counts, MorphemeVocabulary(text["characters"], text["morphemes"].split("\n")))

    def scores(self) -> dict[str, np.ndarray]:
        """Minus the depth of every split of every word."""
        ends = np.cumsum(self.lexicon.lengths.astype(np.int64) - 1)
        depths = np.split(-self.lexicon.depths.astype(np.float32), ends[:-1])
        return dict(zip(self.lexicon.words(), depths, strict=True))

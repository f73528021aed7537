"""What a training run leaves beside its members: the words of the text, their counts and trees, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from treetok import TreetokError
from treetok.lexicon import Lexicon

FILE = "words.safetensors"


@dataclass(frozen=True)
class WordsOfRun:
    lexicon: Lexicon
    counts: dict[str, int]

    def save(self, directory: Path) -> None:
        arrays = {
            "text": np.frombuffer(self.lexicon.text.encode(), dtype=np.uint8),
            "lengths": self.lexicon.lengths,
            "depths": self.lexicon.depths,
            "counts": np.array([self.counts[word] for word in self.lexicon.words()], dtype=np.int64),
        }
        (directory / FILE).write_bytes(safetensors.numpy.save(arrays))

    @classmethod
    def load(cls, directory: Path) -> WordsOfRun:
        if not (directory / FILE).exists():
            raise TreetokError(f"{directory} is not a run: {FILE} is missing")
        try:
            arrays = safetensors.numpy.load((directory / FILE).read_bytes())
            lexicon = Lexicon(arrays["text"].tobytes().decode(), arrays["lengths"], arrays["depths"])
            counts = dict(zip(lexicon.words(), arrays["counts"].tolist(), strict=True))
        except (safetensors.SafetensorError, KeyError, ValueError, TreetokError) as error:
            raise TreetokError(f"{directory / FILE} is damaged: {error}") from None
        return cls(lexicon, counts)

    def scores(self) -> dict[str, np.ndarray]:
        """Minus the depth of every split of every word."""
        ends = np.cumsum(self.lexicon.lengths.astype(np.int64) - 1)
        depths = np.split(-self.lexicon.depths.astype(np.float32), ends[:-1])
        return dict(zip(self.lexicon.words(), depths, strict=True))

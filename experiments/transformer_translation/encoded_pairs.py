"""Sentence pairs as ids, in one file that is all that training needs.

Shapes: B sentences, T tokens.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whole_file import write_whole

# Ids of the network: tokens of the tokenizer follow.
PADDING, END, FIRST_TOKEN = 0, 1, 2
# Widths are padded to a multiple of this: matrix products of odd sizes take longer.
WIDTH_MULTIPLE = 8


@dataclass(frozen=True, eq=False)
class EncodedSentences:
    """Sentences as ids of the network, each with END behind it; sentence k is flat[starts[k]:starts[k + 1]]."""

    flat: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]

    @classmethod
    def of_tokens(cls, sentences: Sequence[Sequence[int]]) -> EncodedSentences:
        """
        >>> EncodedSentences.of_tokens([[0, 5], [3]]).flat.tolist()
        [2, 7, 1, 5, 1]
        """
        flat = [token for tokens in sentences for token in [*(t + FIRST_TOKEN for t in tokens), END]]
        starts = np.cumsum([0, *(len(tokens) + 1 for tokens in sentences)])
        return cls(np.array(flat, dtype=np.int32), starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """In tokens, with END."""
        return np.diff(self.starts)

    def padded(self, numbers: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Some of the sentences as rows of a matrix BT.

        >>> EncodedSentences.of_tokens([[0, 5], [3]]).padded([1, 0]).tolist()
        [[5, 1, 0, 0, 0, 0, 0, 0], [2, 7, 1, 0, 0, 0, 0, 0]]
        """
        start_B = self.starts[np.asarray(numbers)]
        length_B = self.lengths[np.asarray(numbers)]
        width = int(length_B.max())
        place_T = np.arange(width + -width % WIDTH_MULTIPLE)
        index_BT = np.minimum(start_B[:, None] + place_T, len(self.flat) - 1)
        return np.where(place_T < length_B[:, None], self.flat[index_BT], PADDING).astype(np.int64)


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """All sentences in all tokenizations.

    sentences: by part (training, development or the name of a test), language and tokenizer.
    training_sizes: bytes of each training pair, by which batches are planned.
    development_bytes: of the German development sentences.
    vocab_sizes: by language and tokenizer.
    """

    sentences: dict[tuple[str, str, str], EncodedSentences]
    training_sizes: npt.NDArray[np.int64]
    development_bytes: int
    vocab_sizes: dict[tuple[str, str], int]

    @property
    def tests(self) -> list[str]:
        parts = dict.fromkeys(part for part, _, _ in self.sentences)
        return [part for part in parts if part not in ("training", "development")]

    def digest(self, english: str, german: str) -> str:
        """A hash of all that the training of a system with these tokenizers sees."""
        digest = hashlib.sha256(repr((self.tests, self.development_bytes)).encode())
        digest.update(self.training_sizes.tobytes())
        for (part, language, kind), sentences in self.sentences.items():
            if kind == (english if language == "en" else german):
                digest.update(f"{part} {language} {self.vocab_sizes[language, kind]}".encode())
                digest.update(sentences.flat.tobytes() + sentences.starts.tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        arrays: dict[str, npt.NDArray[Any]] = {
            "sizes|training": self.training_sizes,
            "sizes|development": np.array(self.development_bytes),
        }
        for key, size in self.vocab_sizes.items():
            arrays["|".join(["vocab", *key])] = np.array(size)
        for key_of_part, sentences in self.sentences.items():
            arrays["|".join(["ids", *key_of_part])] = sentences.flat
            arrays["|".join(["starts", *key_of_part])] = sentences.starts
        archive = io.BytesIO()
        np.savez_compressed(archive, **arrays)
        write_whole(path, archive.getvalue())

    @classmethod
    def load(cls, path: Path) -> EncodedPairs:
        sentences: dict[tuple[str, str, str], EncodedSentences] = {}
        vocab_sizes: dict[tuple[str, str], int] = {}
        with np.load(path) as arrays:
            for name in arrays.files:
                match name.split("|"):
                    case ["vocab", language, kind]:
                        vocab_sizes[language, kind] = int(arrays[name])
                    case ["ids", part, language, kind]:
                        starts = arrays[f"starts|{part}|{language}|{kind}"]
                        sentences[part, language, kind] = EncodedSentences(arrays[name], starts)
            return cls(sentences, arrays["sizes|training"], int(arrays["sizes|development"]), vocab_sizes)

"""The native core (`native/`). `reference_encoder.py` and `sources/parser.py` say what these do."""

from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Specials = Sequence[tuple[str, int]]

class Encoder:
    def __init__(
        self,
        profile: int,
        names: list[str],
        kinds: npt.NDArray[np.uint8],
        costs: npt.NDArray[np.int64],
        cost_per_token: int,
        unknown_id: int,
        lexicon: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.uint8]] | None,
        source: Parser | tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]],
    ) -> None: ...
    def encode(self, text: str, specials: Specials | None = None) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int, specials: Specials | None = None
    ) -> list[list[int]]: ...
    def encode_sampled(
        self, texts: list[str], threads: int, threshold: int, seed: int, specials: Specials | None = None
    ) -> list[list[int]]: ...
    def encode_flat(
        self, texts: list[str], threads: int, specials: Specials | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]: ...
    def encode_with_offsets(
        self, texts: list[str], threads: int, specials: Specials | None = None
    ) -> tuple[
        npt.NDArray[np.uint32],
        npt.NDArray[np.int64],
        npt.NDArray[np.int64],
        npt.NDArray[np.int64],
        npt.NDArray[np.uint64],
    ]: ...
    def encode_utf8(self, text: bytes, threads: int) -> npt.NDArray[np.uint32]: ...
    def encode_stream(self, stream: IO[bytes], threads: int, expected: int = 0) -> npt.NDArray[np.uint32]: ...
    def decode(self, ids: Sequence[int], skip_special_tokens: bool, separator: str) -> str | None: ...
    def split(self, text: str) -> list[str]: ...
    def pieces(self, word: str) -> list[str]: ...
    def scores(self, word: str) -> list[float]: ...

def vocabulary_entries(
    text: str, unescape: Callable[[str], str | int], most: int
) -> list[tuple[str | int, int]] | None: ...

class Parser:
    def __init__(
        self,
        weights: Mapping[str, npt.NDArray[Any]],
        heads: int,
        characters: str,
        morphemes: Sequence[str],
        instructions: str = "",
    ) -> None: ...
    def split_scores(self, words: Sequence[str]) -> list[npt.NDArray[np.float32]]: ...
    @staticmethod
    def instructions() -> list[str]: ...

class WordCounter:
    def __init__(self, profile: int) -> None: ...
    def __len__(self) -> int: ...
    def add(self, text: str, times: int) -> None: ...
    def drop_rare(self, most: int) -> int: ...
    def counts(self) -> dict[str, int]: ...

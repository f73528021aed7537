"""What encoding with offsets returns: for one text, or for many as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Encoding:
    """Ids, the text of each token, its (start, end) offsets in the input, end exclusive, and the number of its
    word, as the profile splits the text; special tokens are in none.

    In the lossless profile the slices concatenate to the input: when a character is encoded as several bytes, the
    first byte has the character's offsets and the others are empty spans after it.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]

    def __len__(self) -> int:
        return len(self.ids)

    def _repr_html_(self) -> str:
        """Tokens as coloured spans, in notebooks."""
        from treetok.coloured_tokens import draw_html

        return draw_html(self)


@dataclass(frozen=True, eq=False)
class FlatEncoding:
    """The tokens of many texts in arrays: ids, where they start and end in their text, and the numbers of their
    words there, -1 for special tokens. Those of text k are ids[text_offsets[k]:text_offsets[k + 1]], and so on."""

    ids: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    word_ids: npt.NDArray[np.int64]
    text_offsets: npt.NDArray[np.uint64]

    def encodings(self, names: Sequence[str]) -> Iterator[Encoding]:
        """The texts one by one; `names` are those of the tokens, by id."""
        for first, last in pairwise(self.text_offsets.tolist()):
            here = slice(first, last)
            ids, words = self.ids[here].tolist(), self.word_ids[here].tolist()
            if -1 in words:
                words = [None if word == -1 else word for word in words]
            offsets = list(zip(self.starts[here].tolist(), self.ends[here].tolist(), strict=True))
            yield Encoding(ids, list(map(names.__getitem__, ids)), offsets, words)

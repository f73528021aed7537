"""Words whose trees were worked out in advance: three flat arrays, looked up by the letters of a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError
from treetok.text.longest import LONGEST_WORD
from treetok.tree import split_depths


class Lexicon:
    """Words (in the form their trees are read off) and the depth of every split in their trees.

    >>> lexicon = Lexicon.from_scores({"asking": [1, 2, 9, 2, 1], "bed": [1, 2]})
    >>> len(lexicon), lexicon.scores("bed"), lexicon.scores("ask")
    (2, [-1, 0], None)
    """

    def __init__(self, text: str, lengths: npt.NDArray[np.uint8], depths: npt.NDArray[np.uint8]) -> None:
        """`text` is all words in a row, `lengths` how many characters each has, `depths` those of all words."""
        if len(lengths) and (lengths.min() < 2 or lengths.max() > LONGEST_WORD):
            raise TreetokError(f"a word of the lexicon has fewer than 2 or more than {LONGEST_WORD} characters")
        characters = int(lengths.sum(dtype=np.int64))
        if characters != len(text) or characters - len(lengths) != len(depths):
            raise TreetokError("the words of the lexicon and their trees differ in length")
        self.text, self.lengths, self.depths = text, lengths, depths
        self._position: dict[str, tuple[int, int]] | None = None

    @classmethod
    def from_scores(cls, scores: Mapping[str, Sequence[float]]) -> Lexicon:
        words = sorted(scores)
        depths = bytearray()
        for word in words:
            depths += bytes(split_depths(scores[word]))
        lengths = np.array([len(word) for word in words], dtype=np.uint8)
        return cls("".join(words), lengths, np.frombuffer(bytes(depths), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.lengths)

    def __reduce__(self) -> tuple[type[Lexicon], tuple[object, ...]]:
        return Lexicon, (self.text, self.lengths, self.depths)

    def words(self) -> list[str]:
        ends = np.cumsum(self.lengths, dtype=np.int64).tolist()
        return [self.text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []

    def scores(self, letters: str) -> list[int] | None:
        """The scores of a word's splits, None for a word that is not in the lexicon."""
        if self._position is None:
            # Made when first needed: loading a tokenizer stays quick.
            ends = np.cumsum(self.lengths.astype(np.int64) - 1).tolist()
            self._position = (
                dict(zip(self.words(), zip([0, *ends[:-1]], ends, strict=True), strict=True)) if ends else {}
            )
        position = self._position.get(letters)
        if position is None:
            return None
        return [-depth for depth in self.depths[position[0] : position[1]].tolist()]

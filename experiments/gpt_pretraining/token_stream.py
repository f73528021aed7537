"""Text as numbers of words, once for all tokenizers, and from there as one stream of ids for each."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpt_pretraining.token_tables import TokenTable
from treetok.errors import TreetokError
from treetok.text import Profile, profile_named

WordNumbers = npt.NDArray[np.int32]

END_OF_DOCUMENT = np.int32(-1)
# Texts that a process splits at a time.
TEXTS_AT_ONCE = 256

# Of the processes that split text: set before they start, so that they share its memory.
_number_of_word: dict[str, int] = {}


@dataclass(frozen=True)
class NumberedTexts:
    """Texts as numbers of words, and their sizes in bytes. Each ends with END_OF_DOCUMENT."""

    words: list[WordNumbers]
    sizes: npt.NDArray[np.int64]

    def part(self, place: slice) -> NumberedTexts:
        return NumberedTexts(self.words[place], self.sizes[place])

    def stream(self, table: TokenTable, order: Sequence[int] | None = None) -> npt.NDArray[np.uint32]:
        """The ids of all texts, one after the other."""
        numbers = range(len(self.words)) if order is None else order
        return table.encode(np.concatenate([self.words[number] for number in numbers]))

    def tokens_of_texts(self, table: TokenTable) -> npt.NDArray[np.int64]:
        """The number of ids of each text, with its end."""
        lengths = np.append(np.diff(table.first), 1)
        return np.array([lengths[words].sum() for words in self.words], dtype=np.int64)


def number_words(texts: Sequence[str], words: Sequence[str], processes: int | None = None) -> NumberedTexts:
    """Split texts and look their words up; all cores take part, unless told otherwise.

    >>> numbered = number_words(["so so", "no"], [" so", "no", "so"], processes=1)
    >>> [one.tolist() for one in numbered.words], numbered.sizes.tolist()
    ([[2, 0, -1], [1, -1]], [5, 2])
    """
    _number_of_word.clear()
    _number_of_word.update({word: number for number, word in enumerate(words)})
    batches = [texts[at : at + TEXTS_AT_ONCE] for at in range(0, len(texts), TEXTS_AT_ONCE)]
    processes = min(processes or os.cpu_count() or 1, max(len(batches), 1))
    if processes == 1:
        numbered = [numbers_of(batch) for batch in batches]
    else:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            numbered = pool.map(numbers_of, batches, chunksize=1)
    sizes = np.array([len(text.encode()) for text in texts], dtype=np.int64)
    return NumberedTexts([one for batch in numbered for one in batch], sizes)


def numbers_of(texts: Sequence[str]) -> list[WordNumbers]:
    profile = lossless()
    try:
        return [
            np.array([*map(_number_of_word.__getitem__, profile.split(text)), END_OF_DOCUMENT], dtype=np.int32)
            for text in texts
        ]
    except KeyError as error:
        raise TreetokError(
            f"the word {error} is not in the tables, which were made of other text: choose another --folder"
        ) from None


def lossless() -> Profile:
    return profile_named("lossless")

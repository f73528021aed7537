"""How far the frequencies of tokens in held-out text are from those in training text.

A tokenizer with a token for "space and comma" hardly meets it in text where commas follow words, and a model then
knows little of it. One that writes a space and a comma knows both, wherever they stand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]


def frequency_mismatch(training: Ids, held_out: Ids, size: int) -> float:
    """The bits per byte of held-out text of `size` bytes that a model of single tokens loses by having the
    frequencies of the training text (counts plus one) instead of its own: a Kullback-Leibler divergence.

    >>> same = np.array([0, 1, 1, 2] * 1000, dtype=np.uint32)
    >>> round(frequency_mismatch(same, same, 4000), 3), round(frequency_mismatch(same, same[same < 2], 3000), 3)
    (0.0, 0.415)
    """
    entries = 1 + int(max(training.max(), held_out.max()))
    times, expected = (np.bincount(ids, minlength=entries) for ids in (held_out, training))
    occurs = times > 0
    share = times[occurs] / times.sum()
    expected_share = (expected[occurs] + 1) / (expected.sum() + entries)
    return float((times[occurs] * np.log2(share / expected_share)).sum() / size)

"""How many tokens text takes, and how evenly the vocabulary is used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treetok.errors import TreetokError, whole_number
from treetok.evaluate.metrics.measurement import Measurement, check_same_length, share_of_sums

DEFAULT_POWER = 2.5


@dataclass(frozen=True)
class RenyiEfficiency:
    """Renyi efficiency and what it depends on: the power (alpha), and the vocabulary size it is normalised by,
    which is either given or the number of distinct tokens observed. Only values that agree in both can be
    compared.
    """

    value: float
    entropy: float
    power: float
    vocabulary_size: int
    vocabulary: Literal["given", "observed"]


def count_tokens(tokenized: Iterable[Iterable[str]]) -> Counter[str]:
    """How often each token occurs.

    >>> count_tokens([["surf", "ing"], ["ski", "ing"]])["ing"]
    2
    """
    counts: Counter[str] = Counter()
    for tokens in tokenized:
        counts.update(tokens)
    return counts


def renyi_efficiency(
    token_counts: Mapping[str, int], vocabulary_size: int | None = None, power: float = DEFAULT_POWER
) -> RenyiEfficiency:
    """H / log2 |V|, where H = log2(sum of p^power) / (1 - power) is the Renyi entropy of the tokens (Zouhar et al.
    2023): 1 when all entries are equally frequent. Power 1 is Shannon entropy, power `inf` min-entropy.

    >>> renyi_efficiency({"a": 2, "b": 2}).value, renyi_efficiency({"a": 2, "b": 2}, vocabulary_size=16).value
    (1.0, 0.25)
    >>> round(renyi_efficiency({"a": 3, "b": 1}, power=2).value, 4), round(-math.log2(9 / 16 + 1 / 16), 4)
    (0.6781, 0.6781)
    """
    if not power > 0:
        raise TreetokError(f"the power of Renyi entropy must be a number above 0, not {power!r}")
    counts = np.array(sorted(count for count in token_counts.values() if count), dtype=np.float64)
    if not counts.size or counts[0] < 0:
        raise TreetokError("Renyi efficiency needs the counts of some tokens")
    size = _checked_vocabulary_size(len(counts), vocabulary_size)
    if size < 2:
        raise TreetokError("Renyi efficiency is not defined for a vocabulary of one token")
    shares = counts / counts.sum()
    if power == 1:
        entropy = -float(np.sum(shares * np.log2(shares)))
    elif math.isinf(power):
        entropy = -math.log2(shares[-1])
    else:
        # Relative to the largest share, so that high powers do not underflow.
        relative = np.sum((shares / shares[-1]) ** power)
        entropy = float(np.log2(relative) + power * np.log2(shares[-1])) / (1 - power)
    entropy = max(0.0, entropy)  # this order turns -0.0 into 0.0
    return RenyiEfficiency(
        entropy / math.log2(size), entropy, float(power), size, "observed" if vocabulary_size is None else "given"
    )


def vocabulary_use(token_counts: Mapping[str, int], vocabulary_size: int) -> float:
    """The share of the vocabulary that occurs.

    >>> vocabulary_use({"surf": 3, "ing": 5}, vocabulary_size=8)
    0.25
    """
    used = sum(1 for count in token_counts.values() if count)
    return used / _checked_vocabulary_size(used, vocabulary_size)


def tokens_per_word(texts: Sequence[str], tokenized: Sequence[Sequence[str]]) -> Measurement:
    """Tokens divided by white-space-separated words, the same for every tokenizer. One row per text.

    >>> tokens_per_word(["he surfs", "no"], [["he", "surf", "s"], ["n", "o"]]).value
    1.6666666666666667
    """
    check_same_length(texts, tokenized, "tokenized texts")
    rows = [(len(tokens), len(text.split())) for text, tokens in zip(texts, tokenized, strict=True)]
    return _ratio(rows)


def tokens_per_sentence(tokenized: Sequence[Sequence[str]]) -> Measurement:
    """Tokens divided by texts.

    >>> tokens_per_sentence([["he", "surf", "s"], ["n", "o"]]).value
    2.5
    """
    return _ratio([(len(tokens), 1) for tokens in tokenized])


def bytes_per_token(texts: Sequence[str], tokenized: Sequence[Sequence[str]]) -> Measurement:
    """UTF-8 bytes of the text before any normalisation, divided by tokens.

    >>> bytes_per_token(["he surfs"], [["he", "surf", "s", "."]]).value
    2.0
    """
    check_same_length(texts, tokenized, "tokenized texts")
    pairs = zip(texts, tokenized, strict=True)
    # A lone surrogate has no UTF-8 form; it counts as three bytes.
    return _ratio([(len(text.encode("utf-8", "surrogatepass")), len(tokens)) for text, tokens in pairs])


def pieces_per_word(predictions: Sequence[Sequence[str]]) -> Measurement:
    """Average number of pieces per word (fertility).

    >>> pieces_per_word([["surf", "s"], ["no"]]).value
    1.5
    """
    return tokens_per_sentence(predictions)


def kept_whole(predictions: Sequence[Sequence[str]]) -> Measurement:
    """The share of words that are one piece.

    >>> kept_whole([["surf", "s"], ["no"]]).value
    0.5
    """
    return _ratio([(len(pieces) == 1, 1) for pieces in predictions])


def _ratio(rows: Sequence[tuple[float, float]]) -> Measurement:
    return Measurement(np.array(rows, dtype=np.float64).reshape(-1, 2), share_of_sums)


def _checked_vocabulary_size(used: int, vocabulary_size: int | None) -> int:
    if vocabulary_size is None:
        return used
    size = whole_number("vocabulary_size", vocabulary_size, least=1)
    if used > size:
        raise TreetokError(f"{used} different tokens occur, more than the vocabulary of {size} has")
    return size

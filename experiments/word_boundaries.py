"""Words of Chinese sentences against trees and against tokens.

A binary tree over n characters is split at every one of its n - 1 boundaries, so "recall of word boundaries" says
nothing unless it is about spans: a word is found if it is a span of the tree. What counts as a word to be found is
a convention (`CONVENTIONS`); single characters are leaves of every tree, and a whole stretch is its root.

Tokens have boundaries of their own. A boundary next to a character that is not Han (punctuation, digits) is easy
to find; `POSITIONS` tells whether these count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from han_text import GoldSentence, Span
from treetok.errors import TreetokError
from treetok.evaluate.metrics.measurement import Floats, Measurement, divide, share_of_sums
from treetok.evaluate.metrics.segmentation import boundaries_of

# Whether a word counts, given its length and that of its stretch.
INNER_WORDS, LONGER_WORDS, ALL_WORDS = "inner words", "words of 2+", "all words"
CONVENTIONS: dict[str, Callable[[int, int], bool]] = {
    # That of the paper's other columns: neither leaves nor the root.
    INNER_WORDS: lambda word, stretch: 2 <= word < stretch,
    LONGER_WORDS: lambda word, stretch: word >= 2,
    ALL_WORDS: lambda word, stretch: True,
}
BETWEEN_HAN, ANYWHERE = "between Han characters", "anywhere"
POSITIONS = (BETWEEN_HAN, ANYWHERE)

# Of every sentence, numbers of which sums are taken.
Rows = list[list[int]]


def written_rows(rows: Sequence[Sequence[float]]) -> str:
    """Without the sentences, so that scores can be kept anywhere.

    >>> written_rows([[1, 2], [0, 0], [1.5, 3]])
    '1/2 0/0 1.5/3'
    """
    return " ".join("/".join(f"{value:.6g}" for value in row) for row in rows)


def read_rows(written: str, sentences: int, columns: int) -> Floats:
    """Rows of which the first number is of what was found, and no other is smaller.

    >>> read_rows("1/2 0/0 1.5/3", sentences=3, columns=2).tolist()
    [[1.0, 2.0], [0.0, 0.0], [1.5, 3.0]]
    """
    rows = np.array([row.split("/") for row in written.split(" ")], dtype=np.float64)
    if rows.shape != (sentences, columns):
        raise ValueError(f"not {sentences} rows of {columns} numbers")
    # Also false for numbers that are none.
    if not ((rows[:, :1] >= 0) & (rows[:, :1] <= rows[:, 1:]) & (rows[:, 1:] < np.inf)).all():
        raise ValueError("more is found than there is")
    return rows


# ---- trees


def words_of_stretches(sentence: GoldSentence) -> list[tuple[Span, Span]]:
    """The words that are inside a stretch, and their stretches. What is left are punctuation, numbers, and words
    that are partly Han (20万).

    >>> words_of_stretches(GoldSentence("他有20万元。", ("他", "有", "20万", "元", "。")))
    [((0, 1), (0, 2)), ((1, 2), (0, 2)), ((5, 6), (4, 6))]
    """
    found = []
    stretches = iter(sentence.stretch_spans)
    stretch = next(stretches, None)
    for start, end in sentence.word_spans:
        while stretch is not None and stretch[1] <= start:
            stretch = next(stretches, None)
        if stretch is not None and stretch[0] <= start and end <= stretch[1]:
            found.append(((start, end), stretch))
    return found


def words_found(
    sentences: Sequence[GoldSentence], spans_of_stretch: Mapping[str, frozenset[Span]]
) -> dict[str, Rows]:
    """For each convention and sentence: how many words are spans of the trees, and how many words there are."""
    rows: dict[str, Rows] = {convention: [] for convention in CONVENTIONS}
    for sentence in sentences:
        counts = {convention: [0, 0] for convention in CONVENTIONS}
        for (start, end), (first, last) in words_of_stretches(sentence):
            is_span = (start - first, end - first) in spans_of_stretch[sentence.text[first:last]]
            for convention, counted in CONVENTIONS.items():
                if counted(end - start, last - first):
                    counts[convention][0] += is_span
                    counts[convention][1] += 1
        for convention, count in counts.items():
            rows[convention].append(count)
    return rows


def pooled_recall(rows: Floats) -> Measurement:
    """Of all words."""
    return Measurement(rows, share_of_sums, rows[:, 1] > 0)


def mean_recall(rows: Floats) -> Measurement:
    """The mean over the sentences that have words to be found."""
    counted = rows[:, 1] > 0
    of_sentence = divide(rows[:, 0], rows[:, 1], otherwise=0.0)
    return Measurement(np.stack([of_sentence, counted], axis=1), share_of_sums, counted)


# ---- tokens


@dataclass(frozen=True)
class BoundaryScores:
    """Of all boundaries, and F1 as the mean over sentences."""

    precision: Measurement
    recall: Measurement
    f1: Measurement
    mean_f1: Measurement


def boundaries_found(sentences: Sequence[GoldSentence], tokens: Sequence[Sequence[str]]) -> dict[str, Rows]:
    """For each kind of position and sentence: boundaries between words that are boundaries between tokens,
    boundaries between tokens, boundaries between words."""
    rows: dict[str, Rows] = {positions: [] for positions in POSITIONS}
    for sentence, pieces in zip(sentences, tokens, strict=True):
        if "".join(pieces) != sentence.text:
            raise TreetokError(f"the tokens {list(pieces)} do not join to {sentence.text!r}")
        predicted, right = boundaries_of(pieces), boundaries_of(sentence.words)
        inside = {at for start, end in sentence.stretch_spans for at in range(start + 1, end)}
        for positions, among in ((BETWEEN_HAN, inside), (ANYWHERE, predicted | right)):
            hits = predicted & right & among
            rows[positions].append([len(hits), len(predicted & among), len(right & among)])
    return rows


def boundary_scores(rows: Floats) -> BoundaryScores:
    """Where nothing is predicted, precision is nan, and where there is nothing to find, recall; F1 is then 0, and
    sentences with neither do not count."""
    hits, predicted, right = rows.T
    counted = predicted + right > 0
    of_sentence = divide(2 * hits, predicted + right, otherwise=0.0)
    return BoundaryScores(
        precision=Measurement(np.stack([hits, predicted], axis=1), share_of_sums),
        recall=Measurement(np.stack([hits, right], axis=1), share_of_sums),
        f1=Measurement(rows, f1_of_sums),
        mean_f1=Measurement(np.stack([of_sentence, counted], axis=1), share_of_sums, counted),
    )


def f1_of_sums(sums: Floats) -> Floats:
    return divide(2 * sums[..., 0], sums[..., 1] + sums[..., 2], otherwise=np.nan)


def one_token_per_character(sentence: GoldSentence) -> list[str]:
    return list(sentence.text)


def one_token_per_stretch(sentence: GoldSentence) -> list[str]:
    """What is between stretches is divided into characters.

    >>> one_token_per_stretch(GoldSentence("他来了。20万元", ("他来了。20万元",)))
    ['他来了', '。', '2', '0', '万元']
    """
    tokens: list[str] = []
    end_before = 0
    for start, end in [*sentence.stretch_spans, (len(sentence.text),) * 2]:
        tokens += sentence.text[end_before:start]
        tokens += [sentence.text[start:end]] if start < end else []
        end_before = end
    return tokens

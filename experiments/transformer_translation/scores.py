"""BLEU and chrF of translations, compared by paired bootstrap resampling of sentences.

A system's score is the mean over its seeds. Both are corpus scores, computed by sacreBLEU from counts that are
summed over sentences; a resample is a sum in which sentences count as often as they were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError

try:
    from sacrebleu.metrics import BLEU, CHRF
except ImportError as error:
    raise TreetokError(f"scores need {error.name}: pip install sacrebleu, then repeat with --score") from None

Floats = npt.NDArray[np.float64]
METRICS = {"BLEU": BLEU, "chrF": CHRF}
RESAMPLES = 1000


class SentenceCounts:
    """What each sentence adds to the corpus score of one set of translations: one row per sentence."""

    def __init__(self, metric_name: str, translations: Sequence[str], references: Sequence[str]) -> None:
        self.metric: Any = METRICS[metric_name]()
        # What sacreBLEU's own significance tests use.
        rows = self.metric._extract_corpus_statistics(translations, [references])
        self.rows: Floats = np.array(rows, dtype=np.float64)

    def score(self, sums: Floats | None = None) -> float:
        sums = self.rows.sum(0) if sums is None else sums
        return float(self.metric._compute_score_from_stats(sums.astype(int).tolist()).score)

    def resampled(self, times_drawn: npt.NDArray[np.int64], sentences: slice) -> Floats:
        """The score of each resample of some of the sentences."""
        return np.array([self.score(sums) for sums in times_drawn @ self.rows[sentences]])

    @property
    def signature(self) -> str:
        return str(self.metric.get_signature())


@dataclass(frozen=True)
class Compared:
    """The mean score over seeds; and how it differs from that of the baseline: in points, a 95% interval, and the
    two-sided p-value."""

    score: float
    difference: float
    low: float
    high: float
    p_value: float


def compare(
    systems: dict[str, list[SentenceCounts]], sentences: slice, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Compared]:
    """Compare all systems with the first, on some of the sentences.

    systems: for each, one set of translations per seed.
    """
    count = len(range(*sentences.indices(len(next(iter(systems.values()))[0].rows))))
    times_drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    compared: dict[str, Compared] = {}
    of_baseline: tuple[float, Floats] | None = None
    for name, of_seeds in systems.items():
        score = float(np.mean([counts.score(counts.rows[sentences].sum(0)) for counts in of_seeds]))
        resampled = np.mean([counts.resampled(times_drawn, sentences) for counts in of_seeds], axis=0)
        if of_baseline is None:
            of_baseline = score, resampled
        differences = resampled - of_baseline[1]
        difference = score - of_baseline[0]
        low, high = np.quantile(differences, [0.025, 0.975]).tolist()
        # As in sacreBLEU: how often resamples stray from their mean by as much as the difference.
        strays = np.abs(differences - differences.mean()) >= abs(difference)
        compared[name] = Compared(
            score, difference, low, high, (int(np.count_nonzero(strays)) + 1) / (resamples + 1)
        )
    return compared

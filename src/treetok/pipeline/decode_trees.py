"""The stage `trees`: decode the trees of all words, and of pseudo-words, from the ensemble."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from treetok.errors import TreetokWarning
from treetok.model.data.piece_model import PieceModel
from treetok.model.distillation.pseudo_words import pseudo_compounds, pseudo_words
from treetok.model.ensemble import EnsembleMember
from treetok.model.presets import Preset
from treetok.pipeline.artefacts import TREES, Format
from treetok.pipeline.run_directory import Artefacts, Made, Run
from treetok.pipeline.time_budget import Budget
from treetok.progress import Progress, Stopped
from treetok.storage.atomic import save_atomically

# Trees are saved, and progress is shown, between batches only: as many words as are decoded at once.
WORDS_PER_BATCH = {"cpu": 4_000, "cuda": 200_000}
WORDS_PER_BATCH_WITH_A_LIMIT = {"cpu": 1_000, "cuda": 10_000}
TREES_FILE, PSEUDO_TREES_FILE = "trees.safetensors", "pseudo_trees.safetensors"


@dataclass(frozen=True)
class TreeDecoding:
    """Decodes words with an ensemble and saves the finished trees every `checkpoint_seconds`."""

    preset: Preset
    device: str
    run: Run
    progress: Progress
    checkpoint_seconds: float = 60.0
    pieces: PieceModel | None = None

    def decode(
        self,
        folder: Path | None,
        members: Sequence[EnsembleMember],
        words: Sequence[str],
        what: str,
        seconds: float = math.inf,
    ) -> dict[str, list[int]]:
        """The negative depth of every split of every word. Stops after `seconds`; the remaining words at the end
        of the list get no trees."""
        source = self.preset.trees(members, self.device, self.pieces)
        began = saved = time.monotonic()
        parts = DepthParts(folder, words)
        per_batch = WORDS_PER_BATCH if math.isinf(seconds) else WORDS_PER_BATCH_WITH_A_LIMIT
        batch_size = per_batch[self.device.partition(":")[0]]
        depths: list[list[int]] = parts.depths()
        waiting: list[list[int]] = []
        with self.progress.stage(what, len(words), "words") as shown:
            while len(depths) < len(words) and time.monotonic() - began < seconds:
                batch = words[len(depths) : len(depths) + batch_size]
                waiting += depths_of_scores(source.split_scores(batch), batch)
                depths += waiting[len(waiting) - len(batch) :]
                is_due = time.monotonic() - saved > self.checkpoint_seconds
                if is_due or self.progress.is_stopping():
                    parts.save(waiting, len(depths))
                    waiting, saved = [], time.monotonic()
                if self.progress.is_stopping():
                    raise Stopped(f"stopped after {len(depths)} of {len(words)} words in {what}")
                shown.at(len(depths))
        return {word: [-depth for depth in of_word] for word, of_word in zip(words, depths, strict=False)}


class DepthParts:
    """The depths decoded so far, in list order; each file in the folder continues where the previous one ends."""

    def __init__(self, folder: Path | None, words: Sequence[str]) -> None:
        self.folder, self.words = folder, words

    def depths(self) -> list[list[int]]:
        depths: list[list[int]] = []
        for part in self._parts():
            try:
                flat = safetensors.numpy.load(part.read_bytes())["depths"]
                last = int(part.stem.removeprefix("decoded-"))
                sizes = [len(word) - 1 for word in self.words[len(depths) : last]]
                if last <= len(depths) or sum(sizes) != len(flat):
                    raise ValueError("it does not fit")
            except (OSError, ValueError, KeyError, safetensors.SafetensorError) as error:
                warnings.warn(f"{part} is damaged ({error}): its trees are decoded again", TreetokWarning, 3)
                return depths
            depths += split_rows(flat, sizes)
        return depths

    def save(self, depths: list[list[int]], last: int) -> None:
        if self.folder is None or not depths:
            return
        flat = np.array([depth for of_word in depths for depth in of_word], dtype=np.uint8)
        name = f"decoded-{last:09d}.safetensors"
        save_atomically(self.folder, {name: safetensors.numpy.save({"depths": flat})}, name)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("decoded-*.safetensors")) if self.folder is not None else []


def depths_of_scores(scores: Sequence[npt.NDArray[np.float32]], words: Sequence[str]) -> Iterator[list[int]]:
    """The depths of the splits of every word, given minus these depths."""
    flat = -np.concatenate([np.zeros(0, dtype=np.float32), *scores])
    return split_rows(flat.astype(np.int64), [len(word) - 1 for word in words])


def split_rows(flat: npt.NDArray[Any], sizes: Sequence[int]) -> Iterator[list[int]]:
    values, start = flat.tolist(), 0
    for size in sizes:
        yield values[start : start + size]
        start += size


def words_to_decode(counts: Mapping[str, int], max_word_length: int) -> list[str]:
    """The words short enough for a chart, in alphabetical order: words of a batch then share many substrings."""
    return sorted(word for word in counts if 1 < len(word) <= max_word_length)


def figures_of_longer_words(counts: Mapping[str, int], max_word_length: int) -> dict[str, Any]:
    """How many words are too long to be decoded, and their share of the running words.

    >>> figures_of_longer_words({"tree": 2, "tokenizer": 1, "tokens": 1}, 5)
    {'longer_words': 2, 'longer_words_share_of_text': 0.5}
    """
    longer = [count for word, count in counts.items() if len(word) > max_word_length]
    return {
        "longer_words": len(longer),
        "longer_words_share_of_text": round(sum(longer) / max(sum(counts.values()), 1), 6),
    }


def strings_for_the_parser(preset: Preset, counts: Mapping[str, int], seed: int) -> list[str]:
    """Pseudo-words, in no particular order."""
    words = sorted(counts)
    strings = pseudo_words(words, min(preset.pseudo_words, 2 * len(words)), seed) if preset.pseudo_words else []
    longest = preset.decoding.max_word_length
    compounds = pseudo_compounds(counts, min(preset.pseudo_compounds, len(words)), longest, seed)
    # Time may run out: neither kind should come last.
    strings = list(dict.fromkeys([*strings, *compounds]))
    Random(seed).shuffle(strings)
    return strings


def decode_text(
    decoding: TreeDecoding,
    stage: str,
    members: Sequence[EnsembleMember],
    inputs: Mapping[str, Any],
    counts: Mapping[str, int],
) -> dict[str, Sequence[float]]:
    """A separate stage: trees decoded with only some members of the ensemble."""
    file = f"{stage}.safetensors"
    words = words_to_decode(counts, decoding.preset.decoding.max_word_length)

    def work() -> Made:
        trees = decoding.decode(decoding.run.folder(stage), members, words, "decoding trees")
        return {file: trees}, {"words": len(trees)}

    inputs = {**inputs, "decoding": dataclasses.asdict(decoding.preset.decoding)}
    trees: dict[str, Sequence[float]] = decoding.run.stage(stage, inputs, {file: TREES}, work)[file]
    return trees


def decode_all(
    decoding: TreeDecoding,
    members: Sequence[EnsembleMember],
    inputs: Mapping[str, Any],
    counts: Mapping[str, int],
    seed: int,
    budget: Budget,
) -> Artefacts:
    """The stage `trees`: the trees of all words, and of pseudo-words for the parser."""
    preset = decoding.preset
    formats: dict[str, Format[Any]] = {TREES_FILE: TREES, PSEUDO_TREES_FILE: TREES}
    inputs = {**inputs, "decoding": dataclasses.asdict(preset.decoding), "pseudo_words": preset.pseudo_words}
    if preset.pseudo_compounds:
        inputs["pseudo_compounds"] = preset.pseudo_compounds

    def work() -> Made:
        folder = decoding.run.folder("trees")
        words = words_to_decode(counts, preset.decoding.max_word_length)
        trees = decoding.decode(folder and folder / "words", members, words, "decoding trees")
        pseudo: dict[str, list[int]] = {}
        strings = strings_for_the_parser(preset, {word: counts[word] for word in words}, seed)
        if strings:
            place = folder and folder / "pseudo_words"
            seconds = budget.for_decoding()
            # If not all can be decoded in time, those left out should not all begin with the same letters.
            strings = sorted(strings) if math.isinf(seconds) else strings
            pseudo = decoding.decode(place, members, strings, "decoding pseudo-words", seconds)
        figures: dict[str, Any] = {"words": len(trees), "pseudo_words": len(pseudo)}
        figures |= figures_of_longer_words(counts, preset.decoding.max_word_length)
        return {TREES_FILE: trees, PSEUDO_TREES_FILE: pseudo}, figures

    artefacts = decoding.run.stage("trees", inputs, formats, work)
    budget.is_decoded = True
    return artefacts

"""How training scales with batch size and word length: words per second and peak memory on a GPU.

PYTHONPATH=src python benchmarks/scaling.py CORPUS

Batches are 1, 2 and 4 times 256 sequences of 96 words of the corpus. Words of 10, 20 and 40 letters are random
syllables, 128 distinct ones in batches of 1,024, with complete charts, whose work is cubic in the length (their
steps run as CUDA graphs), and with pruned charts, whose work is linear (theirs do not).
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import random
import time
from pathlib import Path

import torch

from treetok.corpus.reading import read_texts
from treetok.corpus.word_ids import WordSequence, read_sequence
from treetok.model.config import ModelConfig
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes
from treetok.model.presets import PRESETS
from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words
from treetok.model.training.trainer import TrainingConfig
from treetok.text import profile_named


def measure(
    sequence: WordSequence, config: ModelConfig, settings: TrainingConfig, steps: int = 20
) -> dict[str, object]:
    morphemes = find_morphemes(chart_words(sequence, config), MorphemeConfig(size=10_000))
    trainer = assemble_trainer(
        ChartText.of(sequence, config), config, settings, morphemes, "cuda", PRESETS["paper"].parser
    )
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        trainer.take_step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        trainer.take_step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / steps
    distinct = trainer.maker.draw(0).plan.words
    return {
        "words per batch": settings.sequences * settings.words_per_sequence,
        "distinct": distinct,
        "ms per step": round(1000 * seconds, 1),
        "words per second": round(settings.sequences * settings.words_per_sequence / seconds),
        "distinct words per second": round(distinct / seconds),
        "peak GB": round(torch.cuda.max_memory_allocated() / 1e9, 1),
    }


def random_words(letters: int, rng: random.Random, count: int = 128) -> list[str]:
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return ["".join(rng.choice(syllables) for _ in range(letters // 2)) for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    options = parser.parse_args()
    sequence = read_sequence(read_texts(options.corpus), profile_named("uncased"))
    settings = TrainingConfig(validation_share=0.0)
    for times in (1, 2, 4):
        larger = dataclasses.replace(settings, sequences=256 * times)
        print(json.dumps({"batch": f"{times}x", **measure(sequence, ModelConfig(), larger)}), flush=True)
        gc.collect()
        torch.cuda.empty_cache()
    rng = random.Random(0)
    small = dataclasses.replace(settings, sequences=16, words_per_sequence=64)
    for letters in (10, 20, 40):
        words = random_words(letters, rng)
        text = " ".join(rng.choice(words) for _ in range(20_000))
        sequence = read_sequence([text], profile_named("uncased"))
        for chart in ("complete", "pruned"):
            config = ModelConfig(max_word_length=40, chart=chart)
            result = measure(sequence, config, small, steps=10)
            print(json.dumps({"letters": letters, "chart": chart, **result}), flush=True)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

"""How training scales with the text, with the length of words and with the size of batches.

PYTHONPATH=src python benchmarks/scaling.py text CORPUS... [--megabytes 10 40 164 328]
PYTHONPATH=src python benchmarks/scaling.py letters TOKENIZER
PYTHONPATH=src python benchmarks/scaling.py batches CORPUS

text: processor time and peak memory of everything that depends on the size of the text: numbering words, pieces,
morphemes, substrings, and a vocabulary with the trees of the shipped `en-uncased`.
Training itself takes as many steps on any large text. Every size is measured in a process of its own, on the first
megabytes of the files, one after the other.

letters: the processor time of the parser, whose trees words get that are too long for a chart, by the length of
words.

batches: words per second and peak memory on a GPU, with batches of 256, 512 and 1,024 sequences of 96 words of the
corpus. Words of 10, 20 and 40 letters are random syllables, 128 distinct ones in batches of 1,024, with complete
charts, whose work is cubic in the length (their steps run as CUDA graphs), and with pruned charts, whose work is
linear (theirs do not).
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import itertools
import json
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import treetok
from treetok.corpus.reading import read_texts
from treetok.corpus.word_ids import WordSequence, read_sequence
from treetok.text import profile_named


def show(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


# ---- the size of the text


class Stopwatch:
    """Processor time of each step, which other programs on the machine hardly change, and the peak memory of the
    process after it."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}
        self._began = time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self.figures[f"{name}, s"] = round(now - self._began, 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.figures[f"{name}, GB"] = round(peak / 1e6, 2)
        self._began = now


def measure_text(path: Path) -> dict[str, float]:
    from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes
    from treetok.model.data.piece_model import find_pieces
    from treetok.model.presets import PRESETS
    from treetok.model.training.build_trainer import ChartText, chart_words

    preset = PRESETS["fast"]
    watch = Stopwatch()
    sequence = read_sequence(read_texts(path), profile_named("uncased"))
    watch.lap("word ids")
    counts = chart_words(sequence, preset.model)
    find_pieces(counts, preset.pieces)
    watch.lap("pieces")
    find_morphemes(counts, MorphemeConfig(size=10_000))
    watch.lap("morphemes")
    text = ChartText.of(sequence, preset.model)
    watch.lap("substrings")
    figures = {"running words": len(sequence.numbers), "distinct words": len(sequence.words)}
    del sequence, text, counts
    gc.collect()
    treetok.TreeTokenizer.train([path], 30_000, trees="en-uncased", profile="uncased", prior=0, progress=False)
    watch.lap("counting, trees and vocabulary")
    return figures | watch.figures


def first_megabytes(corpora: Sequence[Path], megabytes: int, target: Path) -> None:
    left = megabytes * 1_000_000
    with target.open("w", encoding="utf-8") as file:
        for text in itertools.chain.from_iterable(map(read_texts, corpora)):
            part = text.encode()[:left].decode(errors="ignore")
            file.write(part)
            left -= len(part.encode())
            if left <= 0 or len(part) < len(text):
                return


def text(corpora: Sequence[Path], megabytes: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for size in megabytes:
            path = Path(folder) / f"{size}.txt"
            first_megabytes(corpora, size, path)
            # A process of its own: peak memory never falls.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                figures = pool.apply(measure_text, [path])
            show(megabytes=round(path.stat().st_size / 1e6), **figures)
            path.unlink()


# ---- the length of words


def random_words(length: int, rng: random.Random, count: int = 128) -> list[str]:
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return ["".join(rng.choice(syllables) for _ in range(length // 2)) for _ in range(count)]


def letters(tokenizer: str) -> None:
    parser = treetok.TreeTokenizer.load(tokenizer).state.source
    rng = random.Random(0)
    for length in (10, 20, 40, 80, 160, 320):
        words = random_words(length, rng)
        parser.split_scores(words)
        seconds = min(timed(parser, words) for _ in range(5))
        each = 1e6 * seconds / len(words)
        show(letters=length, microseconds_per_word=round(each), microseconds_per_letter=round(each / length, 1))


def timed(parser: treetok.TreeSource, words: list[str]) -> float:
    start = time.process_time()
    parser.split_scores(words)
    return time.process_time() - start


# ---- the size of batches


def settings_of_batches(corpus: Path) -> Iterator[tuple[dict[str, object], WordSequence, str, int, int, int]]:
    """For every measurement its description, text, chart, sequences, words per sequence and steps."""
    sequence = read_sequence(read_texts(corpus), profile_named("uncased"))
    for sequences in (256, 512, 1024):
        yield {"sequences": sequences}, sequence, "complete", sequences, 96, 20
    rng = random.Random(0)
    for length in (10, 20, 40):
        words = random_words(length, rng)
        sequence = read_sequence([" ".join(rng.choice(words) for _ in range(20_000))], profile_named("uncased"))
        for chart in ("complete", "pruned"):
            yield {"letters": length, "chart": chart}, sequence, chart, 16, 64, 10


def batches(corpus: Path) -> None:
    import torch

    from training import seconds_per_step
    from treetok.model.config import ModelConfig
    from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes
    from treetok.model.presets import PRESETS
    from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words
    from treetok.model.training.trainer import TrainingConfig

    for what, sequence, chart, sequences, words_per_sequence, steps in settings_of_batches(corpus):
        longest = PRESETS["fast"].model.max_word_length if "sequences" in what else 40
        config = ModelConfig(max_word_length=longest, chart=chart)
        settings = TrainingConfig(validation_share=0.0)
        settings = dataclasses.replace(settings, sequences=sequences, words_per_sequence=words_per_sequence)
        morphemes = find_morphemes(chart_words(sequence, config), MorphemeConfig(size=10_000))
        trainer = assemble_trainer(
            ChartText.of(sequence, config), config, settings, morphemes, "cuda", PRESETS["paper"].parser
        )
        torch.cuda.reset_peak_memory_stats()
        seconds = seconds_per_step(trainer, steps)
        distinct = trainer.maker.draw(0).plan.words
        words = sequences * words_per_sequence
        show(
            **what,
            words_per_batch=words,
            distinct=distinct,
            ms_per_step=round(1000 * seconds, 1),
            words_per_second=round(words / seconds),
            distinct_words_per_second=round(distinct / seconds),
            peak_gb=round(torch.cuda.max_memory_allocated() / 1e9, 1),
        )
        del trainer
        gc.collect()
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_text = commands.add_parser("text")
    of_text.add_argument("corpora", type=Path, nargs="+")
    of_text.add_argument("--megabytes", type=int, nargs="+", default=[10, 40, 164, 328])
    commands.add_parser("letters").add_argument("tokenizer")
    commands.add_parser("batches").add_argument("corpus", type=Path)
    options = parser.parse_args()
    if options.command == "text":
        text(options.corpora, options.megabytes)
    elif options.command == "letters":
        letters(options.tokenizer)
    else:
        batches(options.corpus)


if __name__ == "__main__":
    main()

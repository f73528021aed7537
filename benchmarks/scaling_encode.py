"""How time and memory of encoding grow: with the text, with the length of a word, with the length of a line, and
with the number of words that the tokenizer does not know. Every size is measured in a process of its own, on one
thread.

PYTHONPATH=src python benchmarks/scaling_encode.py TEXT [--model en] [--text-megabytes 1 10 100]
    [--word-kilobytes 10 100 1000] [--line-megabytes 200] [--unknown-words 1000000] [--out FILE]

text: lines, from the start once more if there are too few. one line: the same, with spaces for line breaks. one
word: random syllables. unknown words: distinct ones of random syllables, 100 on a line.

Seconds are processor time, which other programs hardly change. Memory is what the process has more than with
tokenizer and text: "peak" while it encodes, ids included, "kept" when the ids are gone.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from encoder_process import ONE_THREAD, read_lines
from process_memory import forget_peak, peak_bytes, resident_bytes
from text_lines import lines_of
from treetok import TreeTokenizer
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.report import aligned

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
from result_files import save

HEADING = ["case", "size", "CPU s", "MB/s", "tokens", "peak, MB", "peak : size", "kept, MB"]
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


# ---- texts, as files: what it takes to make them is not measured


def write_text(source: Path, target: Path, megabytes: float, separator: str = "\n") -> None:
    left = megabytes * 1e6
    with target.open("w", encoding="utf-8") as file:
        while left > 0:
            before = left
            for line in filter(str.strip, lines_of(source)):
                file.write(line if left == megabytes * 1e6 else separator + line)
                left -= len(line.encode()) + 1
                if left <= 0:
                    return
            if left == before:
                raise TreetokError(f"{source} has no text")


def write_one_line(source: Path, target: Path, megabytes: float) -> None:
    write_text(source, target, megabytes, separator=" ")


def write_one_word(source: Path, target: Path, kilobytes: float) -> None:
    target.write_text("".join(random.Random(0).choices(SYLLABLES, k=round(kilobytes * 500))), encoding="utf-8")


def write_unknown_words(source: Path, target: Path, count: float) -> None:
    """Words of seven syllables: there are more than 10^12, so that hardly any is in a lexicon."""
    rng = random.Random(0)
    distinct: dict[str, None] = {}
    while len(distinct) < count:
        distinct["".join(rng.choices(SYLLABLES, k=7))] = None
    words = list(distinct)
    lines = [" ".join(words[start : start + 100]) for start in range(0, len(words), 100)]
    target.write_text("\n".join(lines), encoding="utf-8")


CASES: dict[str, tuple[Callable[[Path, Path, float], None], str]] = {
    "text": (write_text, "MB"),
    "one word": (write_one_word, "kB"),
    "one line": (write_one_line, "MB"),
    "unknown words": (write_unknown_words, "words"),
}


# ---- measuring


def measure(model: str, path: Path) -> list[str]:
    """All cells from the seconds on."""
    tokenizer = TreeTokenizer.load(model)
    # What is set up on first use belongs to the tokenizer.
    tokenizer.encode("qzxv")
    texts = read_lines(path)
    gc.collect()
    forget_peak()
    before = resident_bytes()
    began = time.process_time()
    ids, offsets = tokenizer.encode_flat(texts, threads=1)
    seconds = time.process_time() - began
    peak = peak_bytes() - before
    tokens, size = len(ids), path.stat().st_size
    del ids, offsets
    gc.collect()
    kept = resident_bytes() - before
    figures = [seconds, size / 1e6 / seconds, tokens, peak / 1e6, peak / size, kept / 1e6]
    return [readable(figure) for figure in figures]


def readable(figure: float) -> str:
    """Three digits that count, thousands apart.

    >>> readable(0.01234), readable(12.0), readable(1234567)
    ('0.0123', '12', '1 234 567')
    """
    return f"{figure:.3g}" if abs(figure) < 1000 else f"{figure:,.0f}".replace(",", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--text-megabytes", type=float, nargs="*", default=[1, 10, 100])
    parser.add_argument("--word-kilobytes", type=float, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--line-megabytes", type=float, nargs="*", default=[200])
    parser.add_argument("--unknown-words", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--out", type=Path, help="JSON, for experiments/write_results.py")
    options = parser.parse_args()
    # Before the processes start: they import libraries that read it.
    os.environ.update(ONE_THREAD)
    sizes = [options.text_megabytes, options.word_kilobytes, options.line_megabytes, options.unknown_words]
    grid = [HEADING]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        for (case, (write, unit)), of_case in zip(CASES.items(), sizes, strict=True):
            for size in of_case:
                write(options.text, path, size)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    figures = pool.apply(measure, [options.model, path])
                grid.append([case, f"{readable(size)} {unit}", *figures])
                print(*grid[-1], sep="  ", file=sys.stderr, flush=True)
    print(aligned(grid))
    if options.out:
        save(options.out, "How encoding scales", grid=grid)


if __name__ == "__main__":
    run(main)

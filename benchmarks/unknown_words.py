"""What a word costs that the tokenizer does not know, so that its tree comes from the parser.

PYTHONPATH=src python benchmarks/unknown_words.py TEXT [--model en] [--cache DIR] [--processes 5] [--out FILE]

Of a text, the distinct words that are not in the lexicon are encoded in one batch on one thread, each as a text of
its own: by a tokenizer that was just loaded; by one whose weights are in memory, but which has seen none of the
words; and by one that has seen all of them. Beside it, for the same words: the parser alone, in the core and in
numpy, and other libraries with their vocabularies in --cache, the folder where `encode.py` keeps them.

Every library is in a process of its own, in turn, several times over. Times are those of the processor.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from encode_report import processor_name
from encoder_process import ONE_THREAD
from encoders import LIBRARIES
from process_options import add_process_options, parsed
from text_lines import lines_of
from treetok import TreeTokenizer
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.report import aligned
from treetok.native import core, why_not_native
from treetok.sources import ParserTrees
from treetok.tokenizer_state import TokenizerState

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
from result_files import save

FIRST, WARM, KNOWN = "first batch after loading", "weights in memory, words unknown", "words known"
PARSER, REFERENCE = "the parser alone", "the parser alone, in numpy"
OTHERS = ("hf-bpe", "tiktoken", "gigatoken")
HEADING = ["microseconds per word", "best", "median", "best : first batch"]


def count_unknown(state: TokenizerState, text: Path) -> tuple[Counter[str], int]:
    """How often a text has each word that the parser is asked for, and how many words it has."""
    profile, words = state.text_profile, Counter[str]()
    for line in lines_of(text):
        words.update(profile.split(line))
    letters = {word: profile.letters(word) for word in words}
    unknown = {
        word: words[word] for word, key in letters.items() if len(key) > 1 and state.lexicon.scores(key) is None
    }
    return Counter(unknown), words.total()


# ---- in a process of its own


def seconds_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure_treetok(model: str, words: list[str]) -> dict[str, float]:
    tokenizer = TreeTokenizer.load(model)
    taken = {FIRST: seconds_of(lambda: tokenizer.encode_flat(words, threads=1))}
    # It shares the weights, not the words.
    other = TreeTokenizer(tokenizer.state)
    taken[WARM] = seconds_of(lambda: other.encode_flat(words, threads=1))
    taken[KNOWN] = seconds_of(lambda: other.encode_flat(words, threads=1))
    source = tokenizer.state.source
    assert isinstance(source, ParserTrees)
    letters = [tokenizer.state.text_profile.letters(word) for word in words]
    if why_not_native() is None:
        taken[PARSER] = seconds_of(lambda: source.native.split_scores(letters))
    # It prepares its weights at the first word.
    source.split_scores(letters[:1])
    taken[REFERENCE] = seconds_of(lambda: source.split_scores(letters))
    return taken


def measure_library(name: str, folder: Path, words: list[str]) -> dict[str, float]:
    calls = LIBRARIES[name].load(folder)
    # What some import or set up at the first text has nothing to do with words.
    calls["flat"](["A line to try."])
    return {f"{LIBRARIES[name].title}, words unknown": seconds_of(lambda: calls["flat"](words))}


def measure(name: str, model: str, folder: Path | None, words: list[str]) -> dict[str, float]:
    """Seconds of each case in a fresh process."""
    arguments = (model, words) if name == "treetok" else (name, folder, words)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        taken: dict[str, float] = pool.apply(measure_treetok if name == "treetok" else measure_library, arguments)
    return taken


# ---- the table


def grid_of(taken: dict[str, list[float]], words: int) -> list[list[str]]:
    """
    >>> for row in grid_of({FIRST: [2e-3, 4e-3, 6e-3], KNOWN: [1e-4, 1e-4, 2e-4]}, 100): print(row)
    ['microseconds per word', 'best', 'median', 'best : first batch']
    ['first batch after loading', '20', '40', '1']
    ['words known', '1', '1', '0.05']
    """
    rows = [
        [case, *(f"{figure / words * 1e6:.3g}" for figure in (min(seconds), statistics.median(seconds)))]
        for case, seconds in taken.items()
    ]
    first = min(taken[FIRST])
    ratios = [f"{min(seconds) / first:.3g}" for seconds in taken.values()]
    return [HEADING, *([*row, ratio] for row, ratio in zip(rows, ratios, strict=True))]


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", default="en")
    add_process_options(parser, 5)
    return parsed(parser)


def main() -> None:
    options = read_options()
    # Before the processes start: they import libraries that read it.
    os.environ.update(ONE_THREAD)
    state = TreeTokenizer.load(options.model).state
    if not isinstance(state.source, ParserTrees):
        raise TreetokError(f"{options.model} has no parser")
    unknown, running = count_unknown(state, options.text)
    words = list(unknown)
    if not words:
        raise TreetokError(f"{options.text} has no word that {options.model} does not know")
    taken: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    for _ in range(options.processes):
        for name in ("treetok", *(OTHERS if options.cache else ())):
            if name in missing:
                continue
            os.environ.update(LIBRARIES[name].environment)
            try:
                seconds = measure(name, options.model, options.cache, words)
            except ImportError as error:
                missing[name] = str(error)
                continue
            for case, of_case in seconds.items():
                taken.setdefault(case, []).append(of_case)
    share = unknown.total() / running
    letters = sum(len(state.text_profile.letters(word)) for word in words)
    notes = {
        "words": f"{len(words)} distinct ones of {options.text.name} that {options.model} asks its parser for,"
        f" {letters / len(words):.1f} letters each; {100 * share:.2f} % of {running} running words",
        "machine": f"{processor_name()}, {os.cpu_count()} cores",
        "processes": f"{options.processes} of each library, in turn; processor time",
    }
    if why_not_native() is None:
        notes["instructions"] = core().Parser.instructions()[-1]
    if missing:
        notes["missing"] = ", ".join(f"{LIBRARIES[name].title} ({why})" for name, why in missing.items())
    grid = grid_of(taken, len(words))
    print(aligned(grid), *(f"{name}: {note}" for name, note in notes.items()), sep="\n")
    if options.out:
        save(options.out, "Unknown words", grid=grid, notes=notes, figures=taken)


if __name__ == "__main__":
    run(main)

"""The morphs that the trees of a committee suggest, one in a line: morphemes for a further model, or the parser.

    PYTHONPATH=src python tools/morphs_of_trees.py RUN OUT.txt
    PYTHONPATH=src python tools/train_trees.py CORPUS NEXT_RUN --member OUT.txt
    PYTHONPATH=src python tools/distil_parser.py RUN PARSER --morphemes OUT.txt

A vocabulary is built on the trees in which words count almost alike, however frequent they are, so that there is
more room for parts of words than for frequent words. Of its strings those are taken that several words are cut
into.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from treetok import TreetokError
from treetok.cli.script import run
from treetok.segment import Segmenter
from treetok.vocabulary import build_vocabulary
from words_of_run import WordsOfRun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--vocab-size", type=int, default=24_000)
    parser.add_argument("--alignment", type=float, default=0.9)
    parser.add_argument("--min-word-count", type=int, default=3, help="rarer words may be slips of the pen")
    parser.add_argument("--min-words", type=int, default=3, help="a morph is in so many words")
    options = parser.parse_args()
    if min(options.min_word_count, options.min_words) < 1:
        parser.error("--min-word-count and --min-words are 1 or more")
    words = WordsOfRun.load(options.run)
    scores = {
        word: of_word
        for word, of_word in words.scores().items()
        if words.counts[word] >= options.min_word_count and word.isalpha()
    }
    if not scores:
        raise TreetokError(f"{options.run} has no words that occur {options.min_word_count} times")
    vocabulary = build_vocabulary(
        [(word, of_word, words.counts[word]) for word, of_word in scores.items()],
        options.vocab_size,
        alignment=options.alignment,
    )
    segmenter = Segmenter(vocabulary)
    words_with: Counter[str] = Counter()
    for word, of_word in scores.items():
        words_with.update(set(segmenter.cut(word, of_word.tolist())))
    morphs = sorted(piece for piece, times in words_with.items() if len(piece) > 1 and times >= options.min_words)
    if not morphs:
        raise TreetokError(f"no string is in {options.min_words} words of {options.run}")
    options.out.write_text("".join(f"{morph}\n" for morph in morphs), encoding="utf-8")
    print(f"{options.out}: {len(morphs)} morphs of {len(scores)} words")


if __name__ == "__main__":
    run(main)

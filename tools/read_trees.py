"""The trees of all words of texts, also of texts that the composition models were not trained on.

    PYTHONPATH=src python tools/read_trees.py RUN OUT --words part1.tsv --words part2.tsv

RUN has the members of a committee (`tools/train_trees.py`). A file of words has a word, a tab and its count in
every line (`tools/count_words.py`); counts of a word that is in several files are added up. Writes the words and
their trees into OUT, with a copy of the members: OUT can stand wherever a run can. Needs nothing but the project's
folder.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from teacher import files_like_members, member_files, trees_of_words
from treetok import TreetokError
from treetok.cli.script import run
from treetok.corpus.reading import read_texts
from treetok.lexicon import Lexicon
from treetok.model.presets import PRESETS
from words_of_run import WordsOfRun

# Counts are added up in 64 bits.
LONGEST_COUNT = 15


def read_counts(path: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    lines = "".join(text if text.endswith("\n") else text + "\n" for text in read_texts(path)).splitlines()
    for number, line in enumerate(lines, start=1):
        word, tab, count = line.partition("\t")
        is_count = count.isascii() and count.isdecimal() and len(count) <= LONGEST_COUNT
        if line and not (word and tab and is_count and word.split() == [word]):
            raise TreetokError(f"{path}, line {number}: a word, a tab and a count are wanted, not {line[:60]!r}")
        if line:
            counts[word] += int(count)
    return counts


def check_out(out: Path, files: Sequence[Path]) -> None:
    """Refuse a folder that has other members: words would have other trees than its members give."""
    others = {path.name: path for path in files_like_members(out)}
    for file in files:
        if (other := others.pop(file.name, None)) is not None and not filecmp.cmp(file, other, shallow=False):
            raise TreetokError(f"{other} is the member of another run: choose another directory")
    if others:
        raise TreetokError(f"{next(iter(others.values()))} is the member of another run: choose another directory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--words", type=Path, action="append", required=True, help="words and counts; may be repeated"
    )
    options = parser.parse_args()
    began = time.monotonic()
    files = member_files(options.run)
    check_out(options.out, files)
    counts: Counter[str] = Counter()
    for path in options.words:
        counts.update(read_counts(path))
    longest = PRESETS["fast"].model.max_word_length
    words = [word for word in counts if 1 < len(word) <= longest]
    if not words:
        raise TreetokError(f"there are no words of 2 to {longest} letters in {', '.join(map(str, options.words))}")
    scores = trees_of_words(files, words)
    options.out.mkdir(parents=True, exist_ok=True)
    WordsOfRun(Lexicon.from_scores(scores), counts).save(options.out)
    for file in files:
        if not (options.out / file.name).exists():
            shutil.copyfile(file, options.out / file.name)
    print(json.dumps({"members": len(files), "trees": len(words), "seconds": round(time.monotonic() - began, 1)}))


if __name__ == "__main__":
    run(main)

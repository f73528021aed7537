"""The words of texts and how often each occurs, one in a line, for `tools/read_trees.py`.

PYTHONPATH=src python tools/count_words.py TEXT... --out words.tsv [--profile uncased]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from treetok.cli.script import run
from treetok.corpus.counting import count_words
from treetok.progress import Progress
from treetok.text import profile_named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--profile", default="uncased")
    options = parser.parse_args()
    counts = count_words(options.text, profile_named(options.profile), progress=Progress(True)).counts()
    # A word with a tab or the end of a line in it could not be read back; no such word has letters.
    lines = [f"{word}\t{count}\n" for word, count in counts.items() if not any(map(str.isspace, word))]
    options.out.write_text("".join(lines), encoding="utf-8")
    print(f"{options.out}: {len(lines)} words")


if __name__ == "__main__":
    run(main)

"""The words of texts (the letters that their trees are read off) and how often each occurs, one in a line, for
`tools/read_trees.py`.

PYTHONPATH=src python tools/count_words.py TEXT... --out words.tsv [--profile uncased]
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from treetok import TreetokError
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
    profile = profile_named(options.profile)
    counts: Counter[str] = Counter()
    for word, count in count_words(options.text, profile, progress=Progress(True)).counts().items():
        counts[profile.letters(word)] += count
    # What has a tab or the end of a line in it could not be read back; it is nothing but white space.
    lines = [f"{word}\t{count}\n" for word, count in sorted(counts.items()) if word.strip() == word != ""]
    if not lines:
        raise TreetokError(f"there are no words in {', '.join(map(str, options.text))}")
    options.out.write_text("".join(lines), encoding="utf-8")
    print(f"{options.out}: {len(lines)} words")


if __name__ == "__main__":
    run(main)

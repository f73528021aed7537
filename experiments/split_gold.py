"""Split a gold file by a hash of the word into two halves: NAME_dev.tsv for choices, NAME_test.tsv for results.

The half of a word depends on the word alone, so that it is the same in every file and in every version of a file.

python experiments/split_gold.py chipmunk_de_umlaut.tsv --out gold
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from lineup_options import plain_parser
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.gold import read_gold

HALVES = ("dev", "test")


def half_of(word: str) -> str:
    """
    >>> [half_of(word) for word in ("Haus", "Häuser", "Hauses")]
    ['dev', 'dev', 'test']
    """
    return HALVES[hashlib.sha256(word.encode()).digest()[0] % 2]


def main() -> None:
    parser = plain_parser(__doc__, out_is_folder=True)
    parser.add_argument("gold", nargs="+", type=Path, help="gold files")
    options = parser.parse_args()
    # Errors are reported before anything is written.
    for path in options.gold:
        read_gold(path)
    if len({path.stem for path in options.gold}) < len(options.gold):
        raise TreetokError("two of the files have the same name: one would replace the other")
    options.out.mkdir(parents=True, exist_ok=True)
    for path in options.gold:
        # Not splitlines: words may have characters that it takes for ends of lines.
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
        for half in HALVES:
            kept = [line + "\n" for line in lines if half_of(line.split("\t")[0]) == half]
            (options.out / f"{path.stem}_{half}.tsv").write_text("".join(kept), encoding="utf-8")
            print(f"{path.stem}_{half}: {len(kept)} words")


if __name__ == "__main__":
    run(main)

"""The paper's Table 3: how many morphemes are spans of the trees.

All trees cut strings where the profile cuts words; with --whole-strings, trees that need no such cuts
(left-branching, right-branching, balanced, random) take every string as one word, as in published figures.

python experiments/table3_trees.py --model my-tokenizer --gold morpho.tsv --out results/table3.json
"""

from __future__ import annotations

from dataclasses import asdict

from record import entrants_of, parser_of, save

from treetok.cli.script import run
from treetok.evaluate.comparison import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.report import plain_text
from treetok.progress import Progress


def main() -> None:
    parser = parser_of(__doc__, rivals="")
    parser.add_argument("--gold", action="append", required=True, help="a gold file; may be repeated")
    parser.add_argument("--whole-strings", action="store_true", help="see above; leaves tokenizers out")
    options = parser.parse_args()
    gold_files = [read_gold(path) for path in options.gold]
    entrants = entrants_of(options)
    trees = entrants.trees(cut_first=not options.whole_strings)
    if options.whole_strings:
        own = {contestant.name for contestant in entrants.models}
        trees = {name: source for name, source in trees.items() if name.split(", ")[0] not in own}
    comparison = compare([], gold_files, trees=trees, notes=entrants.notes, progress=Progress(True))
    save(options.out, "Trees (Table 3)", comparison=asdict(comparison))
    print(plain_text(comparison))


if __name__ == "__main__":
    run(main)

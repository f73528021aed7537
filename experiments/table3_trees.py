"""The paper's Table 3: how many morphemes are spans of the trees.

Strings are split into words as the profile does first. With --whole-strings every string is one word, as in
published results; this leaves out the trees of tokenizers.

python experiments/table3_trees.py --model my-tokenizer --gold morpho.tsv --out results/table3.json
"""

from __future__ import annotations

from lineup_options import add_gold, add_title, lineup_of, lineup_parser, parsed_lineup
from result_files import report_comparison
from treetok.cli.script_errors import run
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import read_gold
from treetok.progress import Progress


def main() -> None:
    parser = lineup_parser(__doc__, baselines="")
    add_gold(parser)
    add_title(parser)
    parser.add_argument("--whole-strings", action="store_true", help="do not split strings into words (see above)")
    options = parsed_lineup(parser)
    gold_files = [read_gold(path) for path in options.gold]
    lineup = lineup_of(options)
    trees = lineup.trees(pre_tokenize=not options.whole_strings)
    comparison = compare([], gold_files, trees=trees, notes=lineup.notes, progress=Progress(True))
    report_comparison(options.out, options.title or "Trees (Table 3)", comparison)


if __name__ == "__main__":
    run(main)

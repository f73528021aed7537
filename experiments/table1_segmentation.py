"""The paper's Table 1: how many words are segmented as in the gold, by tokenizers of one size.

BPE, WordPiece and Unigram are trained twice: on words split as for TreeTok, and as in the paper, which split off '
and - for them only.

python experiments/table1_segmentation.py --train-text corpus.txt.xz --gold morpho.tsv --out results/table1.json
"""

from __future__ import annotations

from lineup_options import add_gold, add_title, lineup_of, lineup_parser, parsed_lineup
from result_files import report_comparison
from treetok.cli.script_errors import run
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.lineup import profile_of
from treetok.evaluate.load_tokenizer import load_tokenizer
from treetok.progress import Progress


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,wordpiece,unigram,morfessor,counts")
    add_gold(parser)
    add_title(parser)
    options = parsed_lineup(parser)
    gold_files = [read_gold(path) for path in options.gold]
    profile = options.profile or profile_of(load_tokenizer(options.model[0]) if options.model else None).name
    lineup = lineup_of(options, ("equal", "whitespace") if profile == "uncased" else ("equal",))
    comparison = compare(lineup.tokenizers, gold_files, notes=lineup.notes, progress=Progress(True))
    report_comparison(options.out, options.title or "Segmentation (Table 1)", comparison)


if __name__ == "__main__":
    run(main)

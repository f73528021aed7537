"""The paper's Table 1: how many words are cut as in the gold, by tokenizers of one size.

BPE, WordPiece and Unigram take part twice: with words cut apart as for TreeTok, and as in the paper, where ' and -
were cut off for them alone.

python experiments/table1_segmentation.py --train-text corpus.txt.xz --gold morpho.tsv --out results/table1.json
"""

from __future__ import annotations

from dataclasses import asdict

from record import entrants_of, parser_of, save

from treetok.cli.script import run
from treetok.evaluate.comparison import compare
from treetok.evaluate.entrants import chosen_profile, load_models
from treetok.evaluate.gold import read_gold
from treetok.evaluate.report import plain_text
from treetok.progress import Progress


def main() -> None:
    parser = parser_of(__doc__, rivals="bpe,wordpiece,unigram,morfessor,counts")
    parser.add_argument("--gold", action="append", required=True, help="a gold file; may be repeated")
    options = parser.parse_args()
    gold_files = [read_gold(path) for path in options.gold]
    profile = options.profile or chosen_profile(load_models(options.model[:1]))
    cuts = ("equal", "whitespace") if profile == "uncased" else ("equal",)
    entrants = entrants_of(options, cuts)
    comparison = compare(entrants.contestants, gold_files, notes=entrants.notes, progress=Progress(True))
    save(options.out, options.title or "Segmentation (Table 1)", comparison=asdict(comparison))
    print(plain_text(comparison))


if __name__ == "__main__":
    run(main)

"""The paper's case study: how tokenizers of one size segment five words.

python experiments/case_study.py --train-text corpus.txt.xz --model my-tokenizer --out results/case_study.json
"""

from __future__ import annotations

from lineup_options import lineup_of, lineup_parser, parsed_lineup
from result_files import report_grid
from treetok.cli.script_errors import run

WORDS = ["bed", "commonly", "windsurfing", "tricycles", "uniquenesses"]


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,unigram,wordpiece,morfessor")
    parser.add_argument("words", nargs="*", default=WORDS, metavar="WORD")
    options = parsed_lineup(parser)
    lineup = lineup_of(options)
    rows = [
        [tokenizer.name, *("/".join(tokenizer.segment(word)) for word in options.words)]
        for tokenizer in lineup.tokenizers
    ]
    report_grid(options.out, "Case study", [["tokenizer", *options.words], *rows], lineup.notes)


if __name__ == "__main__":
    run(main)

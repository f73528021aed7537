"""The paper's case study: how tokenizers of one size cut five words.

python experiments/case_study.py --train-text corpus.txt.xz --model my-tokenizer --out results/case_study.json
"""

from __future__ import annotations

from record import entrants_of, parser_of, save

from treetok.cli.script import run
from treetok.evaluate.report import aligned

WORDS = ["bed", "commonly", "windsurfing", "tricycles", "uniquenesses"]


def main() -> None:
    parser = parser_of(__doc__, rivals="bpe,unigram,wordpiece")
    parser.add_argument("words", nargs="*", default=WORDS, metavar="WORD")
    options = parser.parse_args()
    entrants = entrants_of(options)
    rows = [
        [contestant.name, *("/".join(contestant.segment(word)) for word in options.words)]
        for contestant in entrants.contestants
    ]
    grid = [["tokenizer", *options.words], *rows]
    save(options.out, "Case study", grid=grid, notes=entrants.notes)
    print(aligned(grid))


if __name__ == "__main__":
    run(main)

"""Cut all words of texts by every tokenizer and keep the cuts, one table each, for machines where tokenizers
cannot be trained: language models are trained on these (table2_compression.py --model NAME.cuts.xz --perplexity).

python experiments/cut_words.py --model DIR --train-text corpus.txt.xz --text wiki.valid.raw --out cuts
"""

from __future__ import annotations

import re
from pathlib import Path

from record import entrants_of, parser_of, run

from treetok.corpus import count_words
from treetok.evaluate.rivals.table import save_table
from treetok.text import profile_named


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--text", action="append", type=Path, default=[], help="text beside that of the rivals")
    options = parser.parse_args()
    counter = count_words([*options.train_text, *options.text], profile_named(options.profile))
    words = sorted(counter.counts())
    options.out.mkdir(parents=True, exist_ok=True)
    for contestant in entrants_of(options).contestants:
        path = options.out / (re.sub(r"[^\w-]+", "-", contestant.name) + ".cuts.xz")
        save_table(contestant, words, options.profile, path)
        print(path)


if __name__ == "__main__":
    run(main)

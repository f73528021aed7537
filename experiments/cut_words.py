"""Cut all words of texts by every tokenizer and keep the cuts, one table each, for machines where tokenizers
cannot be trained: language models are trained on these (table2_compression.py --model NAME.cuts.xz --perplexity).

python experiments/cut_words.py --model DIR --train-text corpus.txt.xz --text wiki.valid.raw --out cuts
"""

from __future__ import annotations

import re
from pathlib import Path

from record import entrants_of, parser_of

from treetok.cli.script import run
from treetok.corpus import count_words
from treetok.errors import TreetokError
from treetok.evaluate.entrants import chosen_profile
from treetok.evaluate.gold import read_gold
from treetok.evaluate.rivals.table import save_table


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--text", action="append", type=Path, default=[], help="text beside that of the rivals")
    parser.add_argument("--gold", action="append", default=[], help="a gold file whose words are to be cut, too")
    options = parser.parse_args()
    entrants = entrants_of(options)
    profile = entrants.profile
    for model in entrants.models:
        if chosen_profile([model]) != profile.name:
            raise TreetokError(f"{model.name} does not cut words as the profile {profile.name} does")
    words = set(count_words([*options.train_text, *options.text], profile).counts())
    for path in options.gold:
        for gold_word in read_gold(path):
            first, *others = profile.split(gold_word.word) or [""]
            words |= {profile.in_running_text(first), *others} - {""}
    if not words:
        raise TreetokError("there are no words to be cut: name a text or a gold file")
    options.out.mkdir(parents=True, exist_ok=True)
    paths: set[Path] = set()
    for contestant in entrants.contestants:
        path = options.out / (re.sub(r"[^\w-]+", "-", contestant.name) + ".cuts.xz")
        if path in paths:
            raise TreetokError(f"two tokenizers would be written to {path}: give their directories other names")
        paths.add(path)
        save_table(contestant, sorted(words), profile, path)
        print(path)


if __name__ == "__main__":
    run(main)

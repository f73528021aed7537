"""Segment all words of texts with every tokenizer and save the results as word tables (.cuts.xz).

For machines where tokenizers cannot be trained: table2_compression.py --model NAME.cuts.xz --perplexity trains
language models from them.

python experiments/segment_words.py --model DIR --train-text corpus.txt.xz --text wiki.valid.raw --out cuts
"""

from __future__ import annotations

import re
import sys
from itertools import chain
from pathlib import Path

from lineup_options import lineup_of, lineup_parser, parsed_lineup
from treetok.cli.script_errors import run
from treetok.corpus.counting import count_words
from treetok.errors import TreetokError
from treetok.evaluate.baselines.word_table import save_word_table
from treetok.evaluate.gold import read_gold
from treetok.evaluate.lineup import profile_of
from treetok.evaluate.texts import first_sentences, read_text
from treetok.text import Profile


def words_of(paths: list[Path], profile: Profile) -> set[str]:
    """The words of texts as a whole, and of their sentences one by one, as language models get them: the first
    word of a sentence then has no leading space."""
    words = set(count_words(paths, profile).counts())
    for path in paths:
        sentences = [first_sentences([path], sys.maxsize)]
        sentences += [read_text(path, split_sentences).sentences for split_sentences in (False, True)]
        for sentence in chain.from_iterable(sentences):
            words.update(profile.split(sentence))
    return words


def main() -> None:
    parser = lineup_parser(__doc__, out_is_folder=True)
    parser.add_argument(
        "--text", action="append", type=Path, default=[], help="more text besides --train-text; may be repeated"
    )
    parser.add_argument(
        "--gold", action="append", default=[], help="a gold file whose words to segment as well; may be repeated"
    )
    options = parsed_lineup(parser, needed=())
    lineup = lineup_of(options)
    profile = lineup.profile
    for model in lineup.models:
        if profile_of(model) is not profile:
            raise TreetokError(f"{model.name} does not split text as the profile {profile.name} does")
    words = words_of([*options.train_text, *options.text], profile)
    for path in options.gold:
        for gold_word in read_gold(path):
            first, *others = profile.split(gold_word.word) or [""]
            words |= {profile.in_running_text(first), *others} - {""}
    if not words:
        raise TreetokError("there are no words to segment: give a text or a gold file")
    options.out.mkdir(parents=True, exist_ok=True)
    paths: set[Path] = set()
    for tokenizer in lineup.tokenizers:
        path = options.out / (re.sub(r"[^\w-]+", "-", tokenizer.name) + ".cuts.xz")
        if path in paths:
            raise TreetokError(f"two tokenizers would be written to {path}: rename their directories")
        paths.add(path)
        save_word_table(tokenizer, sorted(words), profile, path)
        print(path)


if __name__ == "__main__":
    run(main)

"""The most frequent words of each text: how many are cut, and which of them absurdly (`Hell|o`).

checked_words.tsv lists words that some tokenizer cuts, each with the cuts that a reader takes for sensible; to
leave a word whole always is. Any other cut is absurd. A word is a run of letters as the text has it, in its case.
Words of all texts are also sorted by what kind of cut they have, if any.

python experiments/frequent_words.py --model en --text code.txt --text news.txt \\
    --train-text corpus.txt.xz --vocab-size 32000 --against bpe,unigram --out results/frequent_words.json
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineup_options import add_text, lineup_of, lineup_parser, parsed_lineup
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.texts import read_text
from treetok.progress import Progress
from treetok.text import profile_named

CHECKED_WORDS = Path(__file__).with_name("checked_words.tsv")
# The profile that splits the text, whatever the tokenizer: words keep their case.
WORDS = profile_named("lossless")
ENDING = re.compile("e?s|e?d|ing|ers?|est|ly|y|n|ness|ment|ship|ion|or|ist|ism|al|ic|i?an|able|less|ful")


@dataclass
class Cuts:
    """What a tokenizer makes of some words: the kind of each cut, and the absurd ones."""

    kinds: dict[str, str] = field(default_factory=dict)
    absurd: dict[str, str] = field(default_factory=dict)


def read_checked_words() -> dict[str, set[tuple[str, ...]]]:
    """Words and their sensible cuts."""
    lines = (line.split("\t") for line in CHECKED_WORDS.read_text(encoding="utf-8").splitlines())
    return {word: {tuple(cut.split()) for cut in cuts.split(", ") if cut} | {(word,)} for word, cuts in lines}


def most_frequent_words(lines: Iterable[str], number: int) -> list[str]:
    counts = Counter(word.strip() for line in lines for word in WORDS.split(line))
    letters = {word: count for word, count in counts.items() if word.isalpha()}
    return sorted(letters, key=lambda word: (-letters[word], word))[:number]


def cut_words(tokenizer: EvalTokenizer, words: Iterable[str], checked: Mapping[str, set[tuple[str, ...]]]) -> Cuts:
    found = Cuts()
    for word in words:
        pieces = tokenizer.segment(word)
        if len(pieces) > 1:
            found.kinds[word] = kind_of_cut(tokenizer, word, pieces)
        if word in checked and tuple(pieces) not in checked[word]:
            found.absurd[word] = "|".join(pieces)
    return found


def kind_of_cut(tokenizer: EvalTokenizer, word: str, pieces: list[str]) -> str:
    if word != word.lower() and len(tokenizer.segment(word.lower())) == 1:
        return "whole in lower case"
    if word.isupper():
        return "in capitals"
    if word != word.lower():
        return "capitalised"
    if len(pieces) == 2 and ENDING.fullmatch(pieces[1]) and len(pieces[0]) > 2:
        return "stem and ending"
    shortest = min(map(len, pieces))
    return {1: "with a single letter", 2: "other"}.get(shortest, "parts of three letters or more")


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,unigram")
    add_text(parser)
    parser.add_argument("--words", type=int, default=2000, help="of each text (default: 2000)")
    options = parsed_lineup(parser, words=100)
    checked = read_checked_words()
    texts = [read_text(path) for path in options.text]
    lineup = lineup_of(options)
    names = [tokenizer.name for tokenizer in lineup.tokenizers]
    grid = [["text", "words", "checked", *(f"{name}: {what}" for name in names for what in ("cut", "absurd"))]]
    all_words: set[str] = set()
    all_cuts = {name: Cuts() for name in names}
    with Progress(True).stage("segmenting", len(texts), "texts") as shown:
        for number, text in enumerate(texts, 1):
            words = most_frequent_words(text.sentences, options.words)
            row = [text.name, str(len(words)), str(len(checked.keys() & set(words)))]
            for tokenizer in lineup.tokenizers:
                cuts = cut_words(tokenizer, words, checked)
                row += [str(len(cuts.kinds)), str(len(cuts.absurd))]
                all_cuts[tokenizer.name].kinds |= cuts.kinds
                all_cuts[tokenizer.name].absurd |= cuts.absurd
            all_words |= set(words)
            grid.append(row)
            shown.at(number)
    notes = {"distinct words": str(len(all_words))}
    for name, cuts in all_cuts.items():
        kinds = Counter(cuts.kinds.values()).most_common()
        notes[f"cut, {name}"] = f"{len(cuts.kinds)}: {', '.join(f'{number} {kind}' for kind, number in kinds)}"
        notes[f"absurd, {name}"] = f"{len(cuts.absurd)}: {', '.join(sorted(cuts.absurd.values()))}"
    report_grid(options.out, "Frequent words", grid, {**notes, **lineup.notes})


if __name__ == "__main__":
    run(main)

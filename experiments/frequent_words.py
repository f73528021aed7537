"""The most frequent words of each text: how many are cut, and which of them absurdly (`Hell|o`).

checked_words.tsv lists words that some tokenizer cuts, each with the cuts that a reader takes for sensible; to
leave a word whole always is. Any other cut is absurd. A word is a run of letters as the text has it, in its case.

python experiments/frequent_words.py --model en --text code.txt --text news.txt \\
    --train-text corpus.txt.xz --vocab-size 32000 --against bpe,unigram --out results/frequent_words.json
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineup_options import add_text, lineup_of, lineup_parser
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.texts import read_text
from treetok.progress import Progress
from treetok.text import profile_named

CHECKED_WORDS = Path(__file__).with_name("checked_words.tsv")
# The profile that splits the text, whatever the tokenizer: words keep their case.
WORDS = profile_named("lossless")


@dataclass
class Cut:
    """What a tokenizer makes of some words."""

    words: int = 0
    absurd: dict[str, str] = field(default_factory=dict)


def read_checked_words() -> dict[str, set[tuple[str, ...]]]:
    """Words and their sensible cuts."""
    lines = (line.split("\t") for line in CHECKED_WORDS.read_text(encoding="utf-8").splitlines())
    return {word: {tuple(cut.split()) for cut in cuts.split(", ") if cut} | {(word,)} for word, cuts in lines}


def most_frequent_words(lines: Iterable[str], number: int) -> list[str]:
    counts = Counter(word.strip() for line in lines for word in WORDS.split(line))
    letters = {word: count for word, count in counts.items() if word.isalpha()}
    return sorted(letters, key=lambda word: (-letters[word], word))[:number]


def cut_words(tokenizer: EvalTokenizer, words: Iterable[str], checked: Mapping[str, set[tuple[str, ...]]]) -> Cut:
    found = Cut()
    for word in words:
        pieces = tokenizer.segment(word)
        found.words += len(pieces) > 1
        if word in checked and tuple(pieces) not in checked[word]:
            found.absurd[word] = "|".join(pieces)
    return found


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,unigram")
    add_text(parser)
    parser.add_argument("--words", type=int, default=2000, help="of each text (default: 2000)")
    options = parser.parse_args()
    checked = read_checked_words()
    texts = {Path(path).name.split(".")[0]: list(read_text(Path(path)).sentences) for path in options.text}
    lineup = lineup_of(options)
    names = [tokenizer.name for tokenizer in lineup.tokenizers]
    grid = [["text", "words", "checked", *(f"{name}: {what}" for name in names for what in ("cut", "absurd"))]]
    absurd: dict[str, dict[str, str]] = {name: {} for name in names}
    with Progress(True).stage("segmenting", len(texts), "texts") as shown:
        for number, (text, lines) in enumerate(texts.items(), 1):
            words = most_frequent_words(lines, options.words)
            row = [text, str(len(words)), str(len(checked.keys() & set(words)))]
            for tokenizer in lineup.tokenizers:
                cut = cut_words(tokenizer, words, checked)
                row += [str(cut.words), str(len(cut.absurd))]
                absurd[tokenizer.name] |= cut.absurd
            grid.append(row)
            shown.at(number)
    listed = {
        f"absurd, {name}": f"{len(of_one)}: {', '.join(sorted(of_one.values()))}"
        for name, of_one in absurd.items()
    }
    report_grid(options.out, "Frequent words", grid, {**listed, **lineup.notes})


if __name__ == "__main__":
    run(main)

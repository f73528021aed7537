"""A baseline and TreeTok at equal numbers of tokens: whoever splits more words gets more of the gold boundaries.

Morfessor chooses the size of its lexicon itself and takes more tokens than TreeTok does by default. Here TreeTok's
alignment is chosen so that the held-out text has as many tokens as with the baseline, once with --vocab-size
entries and once with as many as the baseline has. No gold word has a say in this. Where even the highest alignment
takes fewer tokens than the baseline, that is what is compared.

python experiments/equal_tokens.py --model my-tokenizer --train-text corpus.txt.xz --gold morphs.tsv \\
    --text heldout.txt --out results/equal_tokens.json
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lineup_options import (
    add_gold,
    add_text,
    add_title,
    lineup_of,
    lineup_parser,
    only_tree_tokenizer,
    parsed_lineup,
)
from other_vocabulary import with_other_vocabulary
from result_files import report_comparison
from treetok import TreeTokenizer
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.texts import HeldOutText, read_text
from treetok.progress import Progress, Stage

# Numbers of tokens this close, relative to the baseline's, are equal.
TOLERANCE = 0.001
MAX_STEPS = 8


def length(tokenizer: EvalTokenizer, text: HeldOutText) -> int:
    """Number of tokens of a text."""
    return sum(len(tokenizer.tokenize(sentence)) for sentence in text.sentences)


def alignment_of_length(wanted: int, length_at: Callable[[float], int]) -> float:
    """The alignment with which the text has about the wanted number of tokens, found by bisection; 0 or 1 where it
    has more, or fewer, with every alignment.

    >>> alignment_of_length(1250, lambda alignment: round(1000 + 1000 * alignment))
    0.25
    """
    low, high = 0.0, 1.0
    if length_at(high) <= wanted:
        return high
    if length_at(low) >= wanted:
        return low
    middle = 0.5
    for _ in range(MAX_STEPS):
        middle = (low + high) / 2
        tokens = length_at(middle)
        if abs(tokens - wanted) <= TOLERANCE * wanted:
            break
        low, high = (middle, high) if tokens < wanted else (low, middle)
    return middle


@dataclass
class Vocabularies:
    """Vocabularies of one size from the trees of one model, by alignment."""

    model: TreeTokenizer
    word_counts: dict[str, int]
    size: int
    text: HeldOutText
    stage: Stage
    trained: dict[float, NamedTreeTokenizer] = field(default_factory=dict)

    def length_at(self, alignment: float) -> int:
        tokenizer = with_other_vocabulary(self.model, self.word_counts, self.size, alignment=alignment)
        name = f"TreeTok, {self.size} entries, alignment {alignment:.4g}"
        self.trained[alignment] = NamedTreeTokenizer(tokenizer, name)
        self.stage.at(self.stage.done + 1)
        return length(self.trained[alignment], self.text)


def main() -> None:
    parser = lineup_parser(__doc__, baselines="morfessor")
    add_gold(parser)
    add_text(parser)
    add_title(parser)
    options = parsed_lineup(parser)
    progress = Progress(True)
    gold = [read_gold(path) for path in options.gold]
    if len(options.text) != 1:
        raise TreetokError("this experiment needs one text (--text)")
    text = read_text(options.text[0], split_sentences=True)
    lineup = lineup_of(options)
    model = only_tree_tokenizer(lineup)
    if len(lineup.baselines) != 1:
        raise TreetokError("this experiment needs one baseline (--against)")
    [baseline] = lineup.baselines
    wanted = length(baseline, text)
    tokenizers: list[EvalTokenizer] = [baseline, *lineup.models]
    with progress.stage("building vocabularies", None, "vocabularies") as stage:
        for size in sorted({options.vocab_size, baseline.vocabulary_size or options.vocab_size}):
            vocabularies = Vocabularies(model, lineup.word_counts, size, text, stage)
            tokenizers.append(vocabularies.trained[alignment_of_length(wanted, vocabularies.length_at)])
    comparison = compare(tokenizers, gold, texts=[text], notes=lineup.notes, progress=progress)
    report_comparison(options.out, options.title or "Equal numbers of tokens", comparison)


if __name__ == "__main__":
    run(main)

"""Alignment against compression: vocabularies of one size from the trees of one tokenizer, alignment from 0 to 1.

python experiments/alignment.py --model my-tokenizer --train-text corpus.txt.xz --gold morphs.tsv \\
    --text heldout.txt --out results/alignment.json
"""

from __future__ import annotations

from typing import Any

from lineup_options import add_gold, add_text, lineup_of, lineup_parser, only_tree_tokenizer, parsed_lineup
from other_vocabulary import with_other_vocabulary
from result_files import report_comparison
from treetok.cli.script_errors import run
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.interface import NamedTreeTokenizer
from treetok.evaluate.texts import read_text
from treetok.progress import Progress


def numbers(written: str) -> list[float]:
    return [float(number) for number in written.split(",")]


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,morfessor")
    add_gold(parser)
    add_text(parser)
    parser.add_argument(
        "--alignments",
        type=numbers,
        default=[0, 0.2, 0.31, 0.4, 0.5, 0.6, 0.7, 0.8, 1],
        help="comma-separated numbers from 0 to 1",
    )
    options = parsed_lineup(parser, against="bpe", alignments=[1.0])
    progress = Progress(True)
    lineup = lineup_of(options)
    model = only_tree_tokenizer(lineup)
    vocabularies: dict[str, dict[str, Any]] = {"vocabulary of the paper": {"vocab": "paper"}}
    vocabularies |= {f"alignment {alignment:g}": {"alignment": alignment} for alignment in options.alignments}
    tokenizers = [*lineup.baselines]
    with progress.stage("building vocabularies", len(vocabularies), "vocabularies") as stage:
        for number, (name, choice) in enumerate(vocabularies.items(), start=1):
            tokenizer = with_other_vocabulary(model, lineup.word_counts, options.vocab_size, **choice)
            tokenizers.append(NamedTreeTokenizer(tokenizer, name))
            stage.at(number)
    gold = [read_gold(path) for path in options.gold]
    texts = [read_text(path, split_sentences=True) for path in options.text]
    comparison = compare(tokenizers, gold, texts=texts, notes=lineup.notes, progress=progress)
    report_comparison(options.out, "Alignment against compression", comparison)


if __name__ == "__main__":
    run(main)

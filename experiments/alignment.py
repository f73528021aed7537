"""What the vocabulary's knob does: the trees of one tokenizer, vocabularies of one size, alignment from 0 to 1.

python experiments/alignment.py --model my-tokenizer --train-text corpus.txt.xz --gold morphs.tsv \
    --text heldout.txt --out results/alignment.json
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from record import entrants_of, parser_of, save

from treetok import TreeTokenizer
from treetok.cli.script import run
from treetok.errors import TreetokError
from treetok.evaluate.comparison import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.report import plain_text
from treetok.evaluate.rivals.treetok_tokenizer import TreeTokContestant
from treetok.evaluate.texts import read_text
from treetok.evaluate.trees import TokenizerTrees
from treetok.progress import Progress


def numbers(written: str) -> list[float]:
    return [float(number) for number in written.split(",")]


def main() -> None:
    parser = parser_of(__doc__, rivals="bpe")
    parser.add_argument("--gold", action="append", required=True, help="a gold file; may be repeated")
    parser.add_argument("--text", required=True, help="held-out text")
    parser.add_argument(
        "--alignments",
        type=numbers,
        default=[0, 0.2, 0.33, 0.4, 0.5, 0.6, 0.7, 0.8, 1],
        help="numbers from 0 to 1, with commas between them",
    )
    options = parser.parse_args()
    progress = Progress(True)
    entrants = entrants_of(options)
    models = [model.tokenizer for model in entrants.models if isinstance(model, TreeTokContestant)]
    if len(models) != 1 or not options.train_text:
        raise TreetokError("the knob is turned on one TreeTok model (--model) and one text (--train-text)")
    if entrants.profile.name != models[0].profile:
        raise TreetokError(f"the model has the profile {models[0].profile}, not {entrants.profile.name}")
    trees = TokenizerTrees(models[0])
    ways: dict[str, dict[str, Any]] = {"vocabulary of the paper": {"vocab": "paper"}}
    ways |= {f"alignment {alignment:g}": {"alignment": alignment} for alignment in options.alignments}
    contestants = entrants.contestants[1:]
    with progress.stage("building vocabularies", len(ways), "vocabularies") as stage:
        for number, (name, choice) in enumerate(ways.items(), start=1):
            tokenizer = TreeTokenizer.train(
                entrants.word_counts,
                options.vocab_size,
                trees,
                models[0].profile,
                progress=False,
                **choice,
            )
            contestants.append(TreeTokContestant(tokenizer, name))
            stage.at(number)
    gold = [read_gold(path) for path in options.gold]
    text = read_text(options.text, split_sentences=True)
    comparison = compare(contestants, gold, texts=[text], notes=entrants.notes, progress=progress)
    save(options.out, "Alignment against compression", comparison=asdict(comparison))
    print(plain_text(comparison))


if __name__ == "__main__":
    run(main)

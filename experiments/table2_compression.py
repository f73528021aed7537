"""The paper's Table 2: Renyi efficiency, tokens per sentence and, with --perplexity, likelihood of sentences.

Lines of the text are cut behind full stops that stand alone, as the paper's sentence lengths suppose.

python experiments/table2_compression.py --train-text corpus.txt.xz --text wiki.valid.raw --out results/table2.json
"""

from __future__ import annotations

from dataclasses import asdict, replace

from record import entrants_of, parser_of, save

from treetok.cli.script import run
from treetok.evaluate.bootstrap import paired_test
from treetok.evaluate.comparison import compare
from treetok.evaluate.report import plain_text
from treetok.evaluate.texts import first_sentences, read_text
from treetok.progress import Progress

TITLE = "Compression (Table 2)"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--text", required=True, help="held-out text")
    parser.add_argument("--perplexity", action="store_true", help="train a language model for each tokenizer")
    parser.add_argument("--characters", type=int, default=20_000_000, help="of the training text, for each model")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    progress = Progress(True)
    text = read_text(options.text, split_sentences=True)
    entrants = entrants_of(options)
    comparison = compare(entrants.contestants, texts=[text], notes=entrants.notes, progress=progress)
    if options.perplexity:
        from treetok.evaluate.perplexity import LanguageModelSettings, figures_of, measure_likelihood

        settings = LanguageModelSettings(
            layers=options.layers,
            dimension=options.dimension,
            characters=options.characters,
            seed=options.seed,
            device=options.device,
        )
        train = first_sentences(options.train_text, options.characters)
        table = replace(comparison.tables[0], compared_with=entrants.contestants[0].name)
        comparison = replace(comparison, tables=[table])
        first = None
        for contestant in entrants.contestants:
            with progress.stage(f"language model for {contestant.name}", None, "steps") as stage:
                likelihood = measure_likelihood(
                    contestant, train, text.sentences, settings, lambda step, steps, stage=stage: stage.at(step)
                )
            table.rows[contestant.name].update(figures_of(likelihood))
            if first is None:
                first = likelihood.by_sentence
            else:
                tested = paired_test(likelihood.by_sentence, first)
                table.p_values[contestant.name] = {"nats_per_sentence": tested.p_value}
            # What is done is not lost if time runs out.
            save(options.out, options.title or TITLE, comparison=asdict(comparison))
        described = f"{settings.layers} layers, {settings.dimension} dimensions, seed {settings.seed}, trained on"
        described += f" {settings.characters} characters"
        comparison = replace(comparison, notes={**comparison.notes, "language models": described})
    save(options.out, options.title or TITLE, comparison=asdict(comparison))
    print(plain_text(comparison))


if __name__ == "__main__":
    run(main)

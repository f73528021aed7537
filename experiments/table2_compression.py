"""The paper's Table 2: Renyi efficiency, tokens per sentence and, with --perplexity, likelihood of sentences.

Lines of the text are split after full stops with spaces around them; the paper's sentence lengths assume this.

python experiments/table2_compression.py --train-text corpus.txt.xz --text wiki.valid.raw --out results/table2.json
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from lineup_options import add_text, add_title, lineup_of, lineup_parser, parsed_lineup
from result_files import report_comparison, save_comparison
from treetok.cli.script_errors import run
from treetok.evaluate.bootstrap import paired_test
from treetok.evaluate.compare import Comparison, compare
from treetok.evaluate.lineup import Lineup
from treetok.evaluate.texts import HeldOutText, first_sentences, read_text
from treetok.progress import Progress


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,wordpiece,unigram,morfessor")
    add_text(parser)
    add_title(parser)
    models = parser.add_argument_group("language models")
    models.add_argument("--perplexity", action="store_true", help="train a language model for each tokenizer")
    models.add_argument("--characters", type=int, default=20_000_000, help="how much text to train each model on")
    models.add_argument("--layers", type=int, default=4)
    models.add_argument("--dimension", type=int, default=256)
    models.add_argument("--seed", type=int, default=0)
    models.add_argument("--device", default="auto")
    options = parsed_lineup(parser, characters=3000, layers=1, dimension=16, device="cpu")
    options.title = options.title or "Compression (Table 2)"
    progress = Progress(True)
    texts = [read_text(path, split_sentences=True) for path in options.text]
    lineup = lineup_of(options)
    comparison = compare(lineup.tokenizers, texts=texts, notes=lineup.notes, progress=progress)
    if options.perplexity:
        comparison = with_likelihoods(comparison, lineup, texts, options, progress)
    report_comparison(options.out, options.title, comparison)


def with_likelihoods(
    comparison: Comparison,
    lineup: Lineup,
    texts: list[HeldOutText],
    options: argparse.Namespace,
    progress: Progress,
) -> Comparison:
    """Add the likelihood of each text, the subject of one table each, under a language model for each tokenizer.

    A model knows the tokens of the text it is measured on, so each text has models of its own.
    """
    from treetok.evaluate.perplexity import PerplexityConfig, figures_of, measure_likelihood

    config = PerplexityConfig(
        layers=options.layers,
        dimension=options.dimension,
        characters=options.characters,
        seed=options.seed,
        device=options.device,
    )
    train = first_sentences(options.train_text, options.characters)
    tables = [replace(table, compared_with=lineup.tokenizers[0].name) for table in comparison.tables]
    comparison = replace(comparison, tables=tables)
    for table, text in zip(tables, texts, strict=True):
        first = None
        for tokenizer in lineup.tokenizers:
            with progress.stage(f"{text.name}: language model for {tokenizer.name}", None, "steps") as stage:
                likelihood = measure_likelihood(
                    tokenizer, train, text.sentences, config, lambda step, steps, stage=stage: stage.at(step)
                )
            table.rows[tokenizer.name].update(figures_of(likelihood))
            if first is None:
                first = likelihood.by_sentence
            else:
                p_value = paired_test(likelihood.by_sentence, first).p_value
                table.p_values[tokenizer.name] = {"nats_per_sentence": p_value}
            # Saved after every model, in case time runs out.
            save_comparison(options.out, options.title, comparison)
    described = f"{config.layers} layers, {config.dimension} dimensions, seed {config.seed}, trained on"
    described += f" {config.characters} characters"
    return replace(comparison, notes={**comparison.notes, "language models": described})


if __name__ == "__main__":
    run(main)

"""The paper's Table 3: trees of single composition models, each without one part of the method, and Fast-R2D2.

All models are trained alike (`composition_models.py`). A model takes minutes on a GPU; its scores are kept beside
--out, so that the command can be stopped and repeated, and models can be added. Without a text, the table is made
of the scores that are there.

python experiments/ablations.py corpus.txt.xz --gold morpho.tsv --preset fast --folder build/ablations \\
    --out results/ablations.json

With the pruned charts of the paper, whose trees are read as in training:

python experiments/ablations.py corpus.txt.xz --gold morpho.tsv --preset fast --set model.chart=pruned \\
    --set training.parser_learning_rate_factor=5 --only full,no-span-loss --folder build/pruned \\
    --scores results/pruned_models --title 'Ablations with pruned charts' --out results/ablations_pruned.json
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from composition_models import Experiment, Variant, add_training_options, scores_folder
from fast_r2d2 import FastR2D2Learner
from lineup_options import listed, plain_parser
from model_scores import ModelScores, gold_tables, load_scores, notes_of, recall_columns, without_empty_columns
from result_files import report_tables
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.model.data.morpheme_vocabulary import MorphemeConfig
from treetok.model.presets import Preset

TITLE = "Ablations (Table 3)"
FULL, UNIGRAM, ENSEMBLE = "full", "unigram", "ensemble"
# There is room for nothing but characters.
CHARACTERS = MorphemeConfig("bpe", 1)
NO_PARTS = dict.fromkeys(("context", "context_root", "morph_overriding", "span_weights", "span_loss"), False)
VARIANTS = [
    Variant(FULL),
    Variant("no-context", {"context": False}),
    Variant("no-morph-overriding", {"morph_overriding": False}),
    Variant("no-span-weights", {"span_weights": False}),
    Variant("no-span-loss", {"span_loss": False}),
    Variant("fast-r2d2", NO_PARTS, CHARACTERS, FastR2D2Learner),
]
LABELS = {
    FULL: "TreeTok, one model",
    "no-context": "without context",
    "no-morph-overriding": "without MorphOverriding",
    "no-span-weights": "without span weights",
    "no-span-loss": "without span loss",
    "fast-r2d2": "Fast-R2D2",
    UNIGRAM: "Unigram morphemes",
    ENSEMBLE: "ensemble with pieces",
}
# Of the paper, in %: on the first 64 words of its two gold files, with leaves counted.
PAPER = {
    "morpho2010_en": {
        FULL: 90.10,
        "no-context": 70.00,
        "no-morph-overriding": 75.99,
        "no-span-weights": 89.42,
        "no-span-loss": 86.79,
        "fast-r2d2": 67.69,
    },
    "compound_en": {
        FULL: 86.20,
        "no-context": 63.02,
        "no-morph-overriding": 46.35,
        "no-span-weights": 78.39,
        "no-span-loss": 73.70,
        "fast-r2d2": 48.96,
    },
}


def main() -> None:
    parser = plain_parser(__doc__)
    add_training_options(parser)
    names = [variant.name for variant in VARIANTS]
    parser.add_argument("--only", help=f"models to train, of {','.join(names)} (default: all)")
    parser.add_argument(
        "--ensemble", action="store_true", help="train the other models of the preset, and decode all together"
    )
    options = parser.parse_args()
    only = names if options.only is None else listed(options.only)
    if not only:
        raise TreetokError(f"--only names no model: choose {', '.join(names)}")
    for name in only:
        if name not in names:
            raise TreetokError(f"unknown model {name!r} in --only: choose {', '.join(names)}")
    if options.text or options.quick:
        experiment = Experiment(options)
        others = other_members(experiment.preset) if options.ensemble else []
        experiment.train_missing([*(variant for variant in VARIANTS if variant.name in only), *others])
        if options.ensemble:
            experiment.score_ensembles(ENSEMBLE, [FULL, *(variant.name for variant in others)])
    folder = scores_folder(options)
    scores = [of_one for name in LABELS for of_one in load_scores(folder) if of_one.name == name]
    if not scores:
        raise TreetokError(f"{folder} has no scores of these models: name a text to train on")
    report(options.out, options.title or TITLE, scores)


def other_members(preset: Preset) -> list[Variant]:
    """The members of the preset's ensemble after the first, except for those that need the trees of others."""
    return [Variant(config.method, morphemes=config) for config in preset.ensemble[1:] if config.method in LABELS]


def report(out: Path, title: str, scores: Sequence[ModelScores]) -> None:
    tables = []
    for table in gold_tables(scores):
        rows = []
        for name, label in LABELS.items():
            if name in table:
                of_paper = PAPER.get(table.gold, {}).get(name)
                paper = {"paper": "-" if of_paper is None else f"{of_paper:.2f}"}
                rows.append({"model": label, **recall_columns(table, name, FULL, paper)})
        grid = [list(rows[0]), *(list(row.values()) for row in rows)]
        tables.append({"title": table.title(), "grid": without_empty_columns(grid)})
    notes = {"p": f"against {LABELS[FULL]}", "paper": "Table 3; one model, the first 64 words, leaves counted"}
    report_tables(out, title, tables, {**notes_of(scores), **notes})


if __name__ == "__main__":
    run(main)

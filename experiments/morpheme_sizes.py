"""Trees against the number of morphemes that BPE finds for the composition model: the paper's figure.

Trains and keeps models as `ablations.py` does; its full model is the point of the preset's own size. The other
model of the preset's ensemble, with morphemes of Unigram, is beside the curve if `ablations.py --ensemble` has
trained it. --plot draws the curves.

python experiments/morpheme_sizes.py corpus.txt.xz --gold morpho.tsv --preset fast --folder build/ablations \\
    --out results/morpheme_sizes.json --plot docs/morpheme-sizes.svg
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablations import FULL, UNIGRAM
from composition_models import Experiment, Variant, add_training_options, scores_folder
from lineup_options import plain_parser
from model_scores import (
    DROPPED,
    GREEDY_TREES,
    MBR_TREES,
    GoldTable,
    ModelScores,
    gold_tables,
    load_scores,
    notes_of,
    recall_columns,
    without_empty_columns,
)
from result_files import report_tables
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.bootstrap import interval
from treetok.evaluate.plot import PANEL_SIZE, STYLE, check_matplotlib
from treetok.model.presets import Preset

TITLE = "Sizes of the morpheme vocabulary"
SIZES = "2500,5000,10000,20000,40000"
QUICK_SIZES = "100,200,300"
PREFIX = "bpe-"


def main() -> None:
    parser = plain_parser(__doc__)
    add_training_options(parser)
    parser.add_argument("--sizes", help=f"numbers of morphemes, characters included (default: {SIZES})")
    parser.add_argument("--plot", type=Path, metavar="SVG", help="where to draw the curves")
    options = parser.parse_args()
    if options.plot:
        check_matplotlib()
    if options.text or options.quick:
        experiment = Experiment(options)
        sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
        experiment.train_missing([variant_of(size, experiment.preset) for size in checked_sizes(sizes)])
    folder = scores_folder(options)
    by_name = sizes_of(load_scores(folder))
    if not by_name:
        raise TreetokError(f"{folder} has no scores of these models: name a text to train on")
    tables = gold_tables([of_one for of_size in by_name.values() for of_one in of_size])
    report(options.out, options.title or TITLE, tables, by_name)
    if options.plot:
        draw(options.plot, tables, by_name)


def checked_sizes(written: str) -> list[int]:
    """
    >>> checked_sizes("2500,500")
    [500, 2500]
    """
    try:
        return sorted({int(size) for size in written.split(",")})
    except ValueError:
        raise TreetokError(f"--sizes are whole numbers with commas between them, not {written!r}") from None


def variant_of(size: int, preset: Preset) -> Variant:
    first = preset.ensemble[0]
    if size == first.size:
        return Variant(FULL)
    return Variant(f"{PREFIX}{size}", morphemes=dataclasses.replace(first, size=size))


def sizes_of(found: Sequence[ModelScores]) -> dict[str, list[ModelScores]]:
    """The scores of models that differ in the size alone, by name, smallest size first; and those of Unigram."""
    by_name: dict[str, list[ModelScores]] = {}
    for of_one in sorted(found, key=lambda of_one: (of_one.name == UNIGRAM, asked_size(of_one))):
        if of_one.name in (FULL, UNIGRAM) or of_one.name.startswith(PREFIX):
            by_name.setdefault(of_one.name, []).append(of_one)
    return by_name


def asked_size(scores: ModelScores) -> int:
    size: int = scores.own_settings.get("morphemes", {}).get("size", 0)
    return size


def labelled_size(scores: ModelScores) -> str:
    return f"{asked_size(scores)}{', Unigram' if scores.name == UNIGRAM else ''}"


def report(out: Path, title: str, tables: Sequence[GoldTable], by_name: dict[str, list[ModelScores]]) -> None:
    written = []
    for table in tables:
        rows = [
            {"morphemes": labelled_size(of_size[0]), **recall_columns(table, name, FULL)}
            for name, of_size in by_name.items()
            if name in table
        ]
        grid = [list(rows[0]), *(list(row.values()) for row in rows)]
        written.append({"title": table.title(), "grid": without_empty_columns(grid)})
    scores = [of_one for of_size in by_name.values() for of_one in of_size]
    notes = {"p": f"against {asked_size(by_name[FULL][0])} morphemes"} if FULL in by_name else {}
    report_tables(out, title, written, {**notes_of(scores), **notes})


def draw(target: Path, tables: Sequence[GoldTable], by_name: dict[str, list[ModelScores]]) -> None:
    """One panel for each gold file: recall with leaves dropped, with 95 % intervals."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(PANEL_SIZE[0] * len(tables), PANEL_SIZE[1]), layout="constrained")
        for axes, table in zip(figure.subplots(1, len(tables), squeeze=False)[0], tables, strict=True):
            curve = [name for name in by_name if name in table and name != UNIGRAM]
            of_unigram = [UNIGRAM] if UNIGRAM in by_name and UNIGRAM in table else []
            for decoding in (GREEDY_TREES, MBR_TREES):
                lines = draw_recalls(axes, table, decoding, by_name, curve, marker="o", label=decoding)
                if of_unigram:
                    look = {"fmt": "s", "mfc": "white", "color": lines[0].get_color()}
                    draw_recalls(axes, table, decoding, by_name, of_unigram, label=f"{decoding}, Unigram", **look)
            sizes = sorted({asked_size(by_name[name][0]) for name in [*curve, *of_unigram]})
            axes.set_title(table.gold)
            axes.set_xscale("log")
            axes.set_xticks(sizes, [str(size) for size in sizes])
            axes.minorticks_off()
            axes.set_xlabel("morphemes")
            axes.set_ylabel("recall of morphemes (%)")
            axes.grid(alpha=0.3)
            axes.legend(frameon=False)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, format="svg", metadata={"Date": None})


def draw_recalls(
    axes: Any,
    table: GoldTable,
    decoding: str,
    by_name: dict[str, list[ModelScores]],
    names: Sequence[str],
    **look: Any,
) -> Any:
    sizes = [asked_size(by_name[name][0]) for name in names]
    recalls = [table.recall(name, decoding, DROPPED) for name in names]
    figures = [interval(recall) for recall in recalls if recall is not None]
    below = [100 * (f.value - f.low) for f in figures]
    above = [100 * (f.high - f.value) for f in figures]
    return axes.errorbar(sizes, [100 * f.value for f in figures], [below, above], capsize=3, **look)


if __name__ == "__main__":
    run(main)

"""Vocabularies of several sizes: words cut right, tokens per sentence and Renyi efficiency, in tables and a plot.

All tokenizers are trained on the same words. TreeTok has the trees and the options of --model. What was measured
with each is kept beside --out, so that the command can be stopped and repeated, and sizes can be added.

python experiments/vocabulary_sizes.py --model en --train-text corpus.txt.xz --gold morphs.tsv \\
    --text heldout.txt --out results/vocabulary_sizes.json --plot docs/vocabulary-sizes.svg
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lineup_options import add_gold, add_text, lineup_of, lineup_parser, only_tree_tokenizer, parsed_lineup
from other_vocabulary import options_of, with_other_vocabulary
from result_files import report_tables
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.baselines.subword import train_baseline
from treetok.evaluate.bootstrap import Figure
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import GoldFile, read_gold
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.plot import PANEL_SIZE, STYLE, check_matplotlib
from treetok.evaluate.texts import HeldOutText, read_text
from treetok.progress import Progress
from whole_file import write_whole

TREETOK = "TreeTok"
BASELINES = {"BPE": "bpe", "Unigram": "unigram"}
# What is reported, of gold files and of texts.
SCORES = {
    "accuracy": "words cut as in the gold (%)",
    "f1": "boundary F1 (%)",
    "tokens_per_sentence": "tokens per sentence",
    "renyi_efficiency": "Renyi efficiency (%)",
}
NOT_IN_PERCENT = "tokens_per_sentence"

# Table -> score -> figure, of one tokenizer.
Measured = dict[str, dict[str, Figure]]


def main() -> None:
    parser = lineup_parser(__doc__, baselines="")
    add_gold(parser)
    add_text(parser)
    parser.add_argument(
        "--sizes", default="8000,16000,32000,64000,128000", help="numbers of ids (default: %(default)s)"
    )
    parser.add_argument("--plot", type=Path, help="SVG")
    options = parsed_lineup(parser, sizes="400")
    sizes = checked_sizes(options.sizes)
    if options.plot:
        check_matplotlib()
    lineup = lineup_of(options)
    model = only_tree_tokenizer(lineup)
    gold = [read_gold(path) for path in options.gold]
    texts = [read_text(path, split_sentences=True) for path in options.text]
    progress = Progress(True)
    measured: dict[str, dict[int, Measured]] = {TREETOK: {}, **{name: {} for name in BASELINES}}
    for size in sizes:
        for name in measured:

            def make(name: str = name, size: int = size) -> EvalTokenizer:
                if name == TREETOK:
                    return NamedTreeTokenizer(with_other_vocabulary(model, lineup.word_counts, size), TREETOK)
                return train_baseline(BASELINES[name], lineup.word_counts, size, lineup.profile, "equal")  # type: ignore[arg-type]

            identity = repr((name, size, model.state.sha256, options.train_text, options.gold, options.text))
            measured[name][size] = measure(options.out, name, size, identity, make, gold, texts, progress)
    notes = {key: note for key, note in lineup.notes.items() if key != "entries"}
    notes["TreeTok"] = ", ".join(f"{key} {value}" for key, value in options_of(model).items())
    report_tables(options.out, "Sizes of the vocabulary", tables_of(measured, sizes), notes)
    if options.plot:
        draw(options.plot, measured, sizes)


def checked_sizes(written: str) -> list[int]:
    """
    >>> checked_sizes("32000,8000")
    [8000, 32000]
    """
    try:
        return sorted({int(size) for size in written.split(",")})
    except ValueError:
        raise TreetokError(f"--sizes are whole numbers with commas between them, not {written!r}") from None


def measure(
    out: Path,
    name: str,
    size: int,
    identity: str,
    make: Callable[[], EvalTokenizer],
    gold: Sequence[GoldFile],
    texts: Sequence[HeldOutText],
    progress: Progress,
) -> Measured:
    """The figures of one tokenizer: from its file, or else by training it."""
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    path = out.with_suffix("") / f"{name.lower()}-{size}-{digest}.json"
    if not path.exists():
        with progress.stage(f"{name}, {size} ids", None, "tokenizers") as stage:
            tokenizer = make()
            stage.at(1)
        comparison = compare([tokenizer], gold, texts=texts, progress=progress)
        figures = {
            table.name: {score: asdict(figure) for score, figure in table.rows[tokenizer.name].items()}
            for table in comparison.tables
        }
        write_whole(path, json.dumps(figures, indent=1) + "\n")
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {
        table: {score: Figure(**figure) for score, figure in scores.items()} for table, scores in stored.items()
    }


def panels_of(measured: dict[str, dict[int, Measured]]) -> list[tuple[str, str]]:
    """The pairs of a table and a score that there are figures of."""
    first = next(iter(next(iter(measured.values())).values()))
    return [(table, score) for table, scores in first.items() for score in SCORES if score in scores]


def shown(score: str, value: float) -> float:
    return value if score == NOT_IN_PERCENT else 100 * value


def tables_of(measured: dict[str, dict[int, Measured]], sizes: Sequence[int]) -> list[dict[str, Any]]:
    tables = []
    for table, score in panels_of(measured):
        grid = [["ids", *map(str, sizes)]]
        for name, of_sizes in measured.items():
            figures = [of_sizes[size][table][score] for size in sizes]
            cells = []
            for figure in figures:
                value, low, high = (shown(score, number) for number in (figure.value, figure.low, figure.high))
                cells.append(f"{value:.1f}" if low == high else f"{value:.1f} ({low:.1f}-{high:.1f})")
            grid.append([name, *cells])
        tables.append({"title": f"{table}: {SCORES[score]}", "grid": grid})
    return tables


def draw(target: Path, measured: dict[str, dict[int, Measured]], sizes: Sequence[int]) -> None:
    """One panel for each table and score, three in a row."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Picture

    panels = panels_of(measured)
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context(STYLE):
        picture = Picture(figsize=(PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows), layout="constrained")
        places = list(picture.subplots(rows, columns, squeeze=False).flat)
        for axes, (table, score) in zip(places, panels, strict=False):
            for name, of_sizes in measured.items():
                values = [shown(score, of_sizes[size][table][score].value) for size in sizes]
                axes.plot(sizes, values, marker="o", label=name)
            axes.set_title(table)
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{size // 1000}k" if size >= 1000 else str(size) for size in sizes])
            axes.minorticks_off()
            axes.set_xlabel("ids")
            axes.set_ylabel(SCORES[score])
            axes.grid(alpha=0.3)
            axes.legend(frameon=False)
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        target.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(target, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    run(main)

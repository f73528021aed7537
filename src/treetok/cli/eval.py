"""`treetok eval`: compare tokenizers on gold segmentations and on held-out text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from treetok import TreetokError
from treetok.cli.help import HelpFormatter, examples
from treetok.evaluate.baselines import DEFAULT_PROFILE, DEFAULT_VOCAB_SIZE, TOP_DOWN, TRAINABLE
from treetok.text import PROFILES

AGAINST = (*TRAINABLE, TOP_DOWN)


def add_command(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "eval",
        help="compare tokenizers on gold segmentations and on text",
        description="Compare tokenizers: how well they segment words (--gold) and how well they compress text"
        " (--text).",
        epilog=examples(
            "treetok eval en --gold morphs.tsv --text heldout.txt",
            "treetok eval en --gold morphs.tsv --against bpe,unigram --train-text corpus.txt",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="a shipped name, a directory, a Hugging Face tokenizer.json, a SentencePiece .model, tiktoken:NAME,"
        " or a word table (.cuts); significance is tested against the first",
    )
    parser.add_argument(
        "--gold",
        action="append",
        default=[],
        metavar="TSV",
        help="gold segmentations: word, tab, morph morph[, morph morph]; may be repeated",
    )
    parser.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="FILE",
        help="held-out text, one sentence per line; may be repeated",
    )
    parser.add_argument(
        "--trees",
        action="store_true",
        help="also score trees on the gold files; significance is tested against the first TreeTok MODEL's trees",
    )
    add_baseline_options(parser)
    output = parser.add_argument_group("output, in addition to tables on standard output")
    output.add_argument("--json", metavar="FILE", type=Path, help="all figures with their intervals")
    output.add_argument("--markdown", metavar="FILE", type=Path, help="the tables as Markdown")
    output.add_argument("--plot", metavar="FILE", type=Path, help="SVG chart: tokens per word against boundary F1")
    output.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run, parser=parser)


def add_baseline_options(parser: argparse.ArgumentParser) -> None:
    baselines = parser.add_argument_group("baselines trained for the comparison")
    baselines.add_argument(
        "--against",
        default="",
        metavar="LIST",
        help=f"comma-separated list of {', '.join(AGAINST)}; {TOP_DOWN} is each TreeTok MODEL without post-merge",
    )
    baselines.add_argument(
        "--train-text", action="append", default=[], metavar="FILE", help="text to train them on; may be repeated"
    )
    baselines.add_argument(
        "--vocab-size",
        type=int,
        metavar="N",
        help=f"vocabulary size (default: that of the first MODEL, else {DEFAULT_VOCAB_SIZE})",
    )
    baselines.add_argument(
        "--profile",
        choices=list(PROFILES),
        help=f"text profile (default: that of the first MODEL, else {DEFAULT_PROFILE})",
    )
    baselines.add_argument(
        "--pre-tokenization",
        choices=("equal", "whitespace", "both"),
        default="equal",
        help="how text is split into words for bpe, wordpiece and unigram. equal (default): as for TreeTok;"
        " whitespace: as in the paper, which split off ' and - for these only; both: train each twice",
    )
    baselines.add_argument(
        "--morfessor-types", type=int, metavar="N", help="train Morfessor on the N most frequent words only"
    )


def run(options: argparse.Namespace) -> None:
    from treetok.evaluate.compare import compare
    from treetok.evaluate.gold import read_gold
    from treetok.evaluate.lineup import build_lineup
    from treetok.evaluate.plot import check_matplotlib, svg_chart
    from treetok.evaluate.report import as_json, markdown, plain_text
    from treetok.evaluate.texts import read_text
    from treetok.progress import Progress

    baselines = baselines_named(options)
    check_usage(options, baselines)
    outputs = [path for path in (options.json, options.markdown, options.plot) if path]
    inputs = [*options.models, *options.gold, *options.text, *options.train_text]
    check_nothing_is_overwritten(outputs, inputs)
    for path in outputs:
        check_can_be_written(path)
    if options.plot:
        check_matplotlib()
    # Read before training: bad files should be reported at once.
    gold_files = [read_gold(path) for path in options.gold]
    texts = [read_text(path) for path in options.text]
    progress = Progress(not options.quiet)
    both = options.pre_tokenization == "both"
    lineup = build_lineup(
        options.models,
        baselines,
        [Path(path) for path in options.train_text],
        vocab_size=options.vocab_size,
        profile=options.profile,
        pre_tokenization=("equal", "whitespace") if both else (options.pre_tokenization,),
        morfessor_types=options.morfessor_types,
        progress=progress,
    )
    comparison = compare(
        lineup.tokenizers,
        gold_files,
        texts,
        lineup.trees() if options.trees else None,
        notes=lineup.notes,
        progress=progress,
    )
    if options.json:
        write(options.json, as_json(comparison))
    if options.markdown:
        write(options.markdown, markdown(comparison))
    if options.plot:
        write(options.plot, svg_chart(comparison))
    print(plain_text(comparison), end="")


def baselines_named(options: argparse.Namespace) -> list[str]:
    names = [name.strip() for name in options.against.split(",") if name.strip()]
    for name in names:
        if name not in AGAINST:
            options.parser.error(f"--against: unknown baseline {name!r}: choose from {', '.join(AGAINST)}")
    return list(dict.fromkeys(names))


def check_usage(options: argparse.Namespace, baselines: list[str]) -> None:
    if not options.models and not baselines:
        options.parser.error("name a MODEL, or baselines with --against")
    if not options.gold and not options.text:
        options.parser.error("give something to compare on: --gold or --text")
    if set(baselines) - {TOP_DOWN} and not options.train_text:
        options.parser.error("--against needs --train-text, the text to train the baselines on")
    if options.trees and not options.gold:
        options.parser.error("--trees needs --gold")
    if options.plot and not (options.gold and options.text):
        options.parser.error("--plot needs --gold and --text: it plots one against the other")


def check_nothing_is_overwritten(outputs: list[Path], inputs: list[str]) -> None:
    taken = {Path(name).resolve() for name in inputs}
    for path in outputs:
        if path.resolve() in taken:
            raise TreetokError(f"cannot write {path}: it is given twice, as an output and as something else")
        taken.add(path.resolve())


def check_can_be_written(path: Path) -> None:
    """Fail before the work, not after it."""
    if path.is_dir():
        raise TreetokError(f"cannot write {path}: it is a directory")
    if not path.parent.is_dir():
        raise TreetokError(f"cannot write {path}: there is no directory {path.parent}")


def write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise TreetokError(f"cannot write {path}: {error.strerror or error}") from None

"""`treetok eval`: tokenizers beside each other, on gold segmentations and on held-out text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from treetok import TreetokError

RIVALS = ("bpe", "wordpiece", "wordpiece-unmarked", "unigram", "morfessor", "counts")
CUTS = ("equal", "whitespace", "both")
DEFAULT_SIZE = 30_000


def add_command(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "eval",
        help="compare tokenizers on gold segmentations and on text",
        description="Compare tokenizers: how well they cut words (--gold) and how short they make text (--text).",
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="a shipped name, a directory, a tokenizer.json, a .model of SentencePiece, tiktoken:NAME, or .cuts;"
        " the others are tested against the first",
    )
    parser.add_argument(
        "--gold",
        action="append",
        default=[],
        metavar="TSV",
        help="words and their morphs: word, tab, morph morph[, morph morph]; may be repeated",
    )
    parser.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="FILE",
        help="held-out text, a sentence a line; may be repeated",
    )
    parser.add_argument("--trees", action="store_true", help="also score trees on the gold files")
    rivals = parser.add_argument_group("rivals trained for the comparison")
    rivals.add_argument(
        "--against", default="", metavar="LIST", help=f"which, with commas between them: {', '.join(RIVALS)}"
    )
    rivals.add_argument(
        "--train-text", action="append", default=[], metavar="FILE", help="what to train them on; may be repeated"
    )
    rivals.add_argument(
        "--vocab-size", type=int, help=f"entries of a rival (default: as the first MODEL, else {DEFAULT_SIZE})"
    )
    rivals.add_argument("--profile", help="how they see text (default: as the first MODEL, else uncased)")
    rivals.add_argument(
        "--cuts",
        choices=CUTS,
        default="equal",
        help="equal (default): words are cut apart as for TreeTok; whitespace: as in the paper, which cut ' and -"
        " off for bpe, wordpiece and unigram alone; both: twice",
    )
    rivals.add_argument(
        "--morfessor-types", type=int, metavar="N", help="train Morfessor on the N most frequent words alone"
    )
    output = parser.add_argument_group("output, besides the tables on standard output")
    output.add_argument("--json", metavar="FILE", type=Path, help="all figures with their intervals")
    output.add_argument("--markdown", metavar="FILE", type=Path, help="the tables for a document")
    output.add_argument(
        "--plot", metavar="FILE", type=Path, help="an SVG picture: tokens per word against boundary F1"
    )
    output.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> None:
    from treetok.evaluate.comparison import compare
    from treetok.evaluate.entrants import Entrants
    from treetok.evaluate.gold import read_gold
    from treetok.evaluate.report import as_json, markdown, picture, plain_text
    from treetok.evaluate.texts import read_text
    from treetok.progress import Progress

    rivals = rivals_named(options)
    check_usage(options, rivals)
    outputs = [path for path in (options.json, options.markdown, options.plot) if path]
    inputs = [*options.models, *options.gold, *options.text, *options.train_text]
    check_nothing_is_overwritten(outputs, inputs)
    for path in outputs:
        check_can_be_written(path)
    # What is quick to refuse is refused before anything is trained.
    gold_files = [read_gold(path) for path in options.gold]
    texts = [read_text(path) for path in options.text]
    progress = Progress(not options.quiet)
    entrants = Entrants(
        options.models,
        rivals,
        [Path(path) for path in options.train_text],
        size=options.vocab_size,
        profile=options.profile,
        cuts=("equal", "whitespace") if options.cuts == "both" else (options.cuts,),
        morfessor_types=options.morfessor_types,
        progress=progress,
    )
    comparison = compare(
        entrants.contestants,
        gold_files,
        texts,
        entrants.trees() if options.trees else None,
        notes=entrants.notes,
        progress=progress,
    )
    if options.json:
        write(options.json, as_json(comparison))
    if options.markdown:
        write(options.markdown, markdown(comparison))
    if options.plot:
        write(options.plot, picture(comparison))
    print(plain_text(comparison), end="")


def rivals_named(options: argparse.Namespace) -> list[str]:
    rivals = [name.strip() for name in options.against.split(",") if name.strip()]
    for name in rivals:
        if name not in RIVALS:
            options.parser.error(f"--against: unknown rival {name!r}: choose from {', '.join(RIVALS)}")
    return list(dict.fromkeys(rivals))


def check_usage(options: argparse.Namespace, rivals: list[str]) -> None:
    if not options.models and not rivals:
        options.parser.error("name a MODEL, or rivals with --against")
    if not options.gold and not options.text:
        options.parser.error("give something to compare on: --gold or --text")
    if rivals and not options.train_text:
        options.parser.error("--against needs --train-text, the text to train the rivals on")
    if options.trees and not options.gold:
        options.parser.error("--trees needs --gold")
    if options.plot and not (options.gold and options.text):
        options.parser.error("--plot needs --gold and --text: it shows the one against the other")


def check_nothing_is_overwritten(outputs: list[Path], inputs: list[str]) -> None:
    taken = {Path(name).resolve() for name in inputs}
    for path in outputs:
        if path.resolve() in taken:
            raise TreetokError(f"cannot write {path}: it is given twice, as an output and as something else")
        taken.add(path.resolve())


def check_can_be_written(path: Path) -> None:
    """Refuse early what would be refused after all the work."""
    if path.is_dir():
        raise TreetokError(f"cannot write {path}: it is a directory")
    if not path.parent.is_dir():
        raise TreetokError(f"cannot write {path}: there is no directory {path.parent}")


def write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise TreetokError(f"cannot write {path}: {error.strerror or error}") from None

"""Options that experiments share: which tokenizers to compare, what to train baselines on, where results go."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treetok import TreeTokenizer
from treetok.errors import TreetokError
from treetok.evaluate.baselines import DEFAULT_PROFILE, DEFAULT_VOCAB_SIZE
from treetok.evaluate.baselines.pre_tokenized import PreTokenization
from treetok.evaluate.lineup import Lineup, build_lineup
from treetok.evaluate.texts import name_of
from treetok.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
# What --quick takes for options that are not given.
QUICK_FILES: dict[str, list[Any]] = {
    "model": ["en-uncased"],
    "train_text": [ROOT / "sample_text" / "city.txt"],
    "gold": [ROOT / "tests" / "data" / "gold_sample.tsv"],
    "text": [ROOT / "sample_text" / "workshop.txt"],
}
QUICK_VOCAB_SIZE = 400


class Help(argparse.RawDescriptionHelpFormatter):
    """Shows the description as written, and breaks no name at a hyphen."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def plain_parser(description: str, *, out_is_folder: bool = False) -> argparse.ArgumentParser:
    """A parser that shows the description as written, with --out."""
    parser = argparse.ArgumentParser(description=description, formatter_class=Help)
    kind = Path if out_is_folder else result_file
    parser.add_argument("--out", type=kind, required=True, help="where to write the result")
    return parser


def listed(written: str) -> list[str]:
    """Names that are separated by commas.

    >>> listed("bpe, unigram,")
    ['bpe', 'unigram']
    """
    return [name for name in map(str.strip, written.split(",")) if name]


def folder_name(written: str) -> Path:
    """An empty name, as of a variable that is not set, would be the working directory."""
    if not written:
        raise argparse.ArgumentTypeError("the name of a folder is empty")
    return Path(written)


def result_file(written: str) -> Path:
    """A file that can be written as far as can be seen: better now than when all work is done."""
    path = Path(written)
    if not path.name or path.is_dir():
        raise argparse.ArgumentTypeError(f"{written or 'nothing'!r} is a directory, not a file")
    if path.exists() and not path.is_file():
        # It would be replaced: /dev/null, say.
        raise argparse.ArgumentTypeError(f"{written!r} is not a plain file")
    for folder in path.parents:
        if folder.exists():
            if not folder.is_dir():
                raise argparse.ArgumentTypeError(f"{str(folder)!r} is a file, not a directory")
            break
    return path


def lineup_parser(
    description: str, baselines: str = "bpe,wordpiece,unigram", *, out_is_folder: bool = False
) -> argparse.ArgumentParser:
    """A parser with the options of the line-up."""
    parser = plain_parser(description, out_is_folder=out_is_folder)
    parser.add_argument("--model", action="append", default=[], help="a tokenizer to compare; may be repeated")
    parser.add_argument(
        "--against", default=baselines, help=f"baselines to train (default: {baselines or 'none'})"
    )
    parser.add_argument(
        "--train-text", action="append", type=Path, default=[], help="text to train baselines on; may be repeated"
    )
    parser.add_argument("--vocab-size", type=int, default=DEFAULT_VOCAB_SIZE, help="of the baselines")
    parser.add_argument(
        "--profile", help=f"of the baselines (default: that of the first model, else {DEFAULT_PROFILE})"
    )
    parser.add_argument(
        "--morfessor-types", type=int, metavar="N", help="train Morfessor on the N most frequent types"
    )
    parser.add_argument(
        "--quick", action="store_true", help="on little text of the project, in seconds: to see that it runs"
    )
    return parser


def parsed_lineup(
    parser: argparse.ArgumentParser, needed: Sequence[str] = ("gold", "text"), **quick: Any
) -> argparse.Namespace:
    """The options of a parser with a line-up. With --quick, those that are not given have the values of `quick`,
    and files are small ones of the project. Options in `needed` must be given, if the parser has them."""
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(vocab_size=QUICK_VOCAB_SIZE, **quick)
        options = parser.parse_args()
        for name, files in QUICK_FILES.items():
            if getattr(options, name, None) == []:
                setattr(options, name, files)
    for name in needed:
        if getattr(options, name, None) == []:
            parser.error(f"the following arguments are required: --{name}")
    return options


def add_gold(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gold", action="append", default=[], help="a gold file; may be repeated")


def add_text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", action="append", default=[], help="held-out text; may be repeated")


def check_names(texts: Sequence[str | Path]) -> None:
    """Texts are told apart by their names in tables, which have a column for all of them, too."""
    names = [name_of(path) for path in texts]
    if len({"all", *names}) <= len(names):
        raise TreetokError("two texts have the same name in tables, or one is called 'all'")


def add_title(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", help="title of the section in the document, instead of the default")


def lineup_of(options: argparse.Namespace, pre_tokenization: Sequence[PreTokenization] = ("equal",)) -> Lineup:
    return build_lineup(
        options.model,
        listed(options.against),
        options.train_text,
        vocab_size=options.vocab_size,
        profile=options.profile,
        pre_tokenization=pre_tokenization,
        morfessor_types=options.morfessor_types,
        progress=Progress(True),
    )


def only_tree_tokenizer(lineup: Lineup) -> TreeTokenizer:
    """The one TreeTok model of a line-up that has a training text of the same profile."""
    models = lineup.tree_tokenizers
    if len(models) != 1 or lineup.training_text is None:
        raise TreetokError("this experiment needs one TreeTok model (--model) and a text (--train-text)")
    tokenizer = models[0].tokenizer
    if lineup.profile.name != tokenizer.profile:
        raise TreetokError(f"the model has the profile {tokenizer.profile}, not {lineup.profile.name}")
    return tokenizer

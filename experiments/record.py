"""What the experiments share: the tokenizers they compare, and results on disk with the command that made them."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from treetok.evaluate.entrants import Entrants
from treetok.progress import Progress


def parser_of(description: str, rivals: str = "bpe,wordpiece,unigram") -> argparse.ArgumentParser:
    """Options of every experiment."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", default=[], help="a tokenizer to compare; may be repeated")
    parser.add_argument("--against", default=rivals, help=f"rivals trained beside it (default: {rivals})")
    parser.add_argument("--train-text", action="append", type=Path, default=[], help="what rivals are trained on")
    parser.add_argument("--vocab-size", type=int, default=30_000)
    parser.add_argument("--profile", help="how rivals see text (default: as the first model, else uncased)")
    parser.add_argument("--morfessor-types", type=int, help="train Morfessor on so many types alone")
    parser.add_argument("--title", help="of the section in the document, instead of the usual one")
    parser.add_argument("--out", type=Path, required=True, help="where the results go")
    return parser


def entrants_of(options: argparse.Namespace, cuts: tuple[Any, ...] = ("equal",)) -> Entrants:
    return Entrants(
        options.model,
        [rival for rival in options.against.split(",") if rival],
        options.train_text,
        size=options.vocab_size,
        profile=options.profile,
        cuts=cuts,
        morfessor_types=options.morfessor_types,
        progress=Progress(True),
    )


def command_line() -> str:
    """The command that is running; files elsewhere on this machine without the folders they lie in."""

    def is_elsewhere(part: str) -> bool:
        return Path(part).is_absolute() or ".." in Path(part).parts

    arguments = [Path(part).name if is_elsewhere(part) else part for part in sys.argv[1:]]
    return shlex.join(["python", f"experiments/{Path(sys.argv[0]).name}", *arguments])


def save(out: Path, title: str, **result: Any) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    content = {"title": title, "command": command_line(), **result}
    out.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")

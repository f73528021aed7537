"""`treetok info`: what a tokenizer is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treetok import TreeTokenizer, TreetokError
from treetok.storage import find_directory


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "info",
        help="what a tokenizer is and how it was made",
        description="Show the profile, the sizes and the training settings of a tokenizer.",
    )
    parser.add_argument("model", metavar="MODEL", help="a shipped name or a directory")
    parser.set_defaults(run=run)


class NoTrees:
    """Stands in for trees of the user's own, which are not needed here."""

    def split_scores(self, words: Sequence[str]) -> Sequence[Any]:
        raise TreetokError("no trees were asked for")


def run(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model, trees=NoTrees())
    directory = find_directory(options.model)
    size = sum(file.stat().st_size for file in directory.iterdir() if file.is_file())
    rows = {
        "directory": directory,
        "size on disk": f"{size / 1e6:.2f} MB",
        "profile": tokenizer.profile,
        "tokens": tokenizer.vocab_size,
        "special tokens": ", ".join(f"{name} = {number}" for name, number in tokenizer.special_tokens.items()),
        "known words": tokenizer.known_words,
        **dict(shown_settings(tokenizer.settings)),
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")


def shown_settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values to be read by people; what there are several of is numbered.

    >>> dict(shown_settings({"pruning_rate": 0.2, "members": [{"steps": 5}]}))
    {'pruning rate': 0.2, 'members 1': 'steps 5'}
    """
    for name, value in settings.items():
        plain = name.replace("_", " ")
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for number, item in enumerate(value, start=1):
                yield f"{plain} {number}", ", ".join(f"{key.replace('_', ' ')} {v}" for key, v in item.items())
        else:
            yield plain, value

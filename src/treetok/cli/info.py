"""`treetok info`: describe a tokenizer."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treetok import TreeTokenizer, TreetokError
from treetok.cli.help import HelpFormatter, examples, model_help
from treetok.control_characters import escape_controls
from treetok.native import why_not_native
from treetok.storage import find_directory, has_own_trees, shared_files


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "info",
        help="show what a tokenizer is and how it was trained",
        description="Show the profile, sizes and training settings of a tokenizer.",
        epilog=examples("treetok info en"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=model_help())
    parser.set_defaults(run=run, parser=parser)


class NoTrees:
    """Placeholder for custom trees, which are not needed here."""

    def split_scores(self, words: Sequence[str]) -> Sequence[Any]:
        raise TreetokError("`treetok info` does not use trees")


def run(options: argparse.Namespace) -> None:
    tokenizer = TreeTokenizer.load(options.model, trees=NoTrees())
    directory = find_directory(options.model)
    size = f"{sum(file.stat().st_size for file in directory.iterdir() if file.is_file()) / 1e6:.2f} MB"
    shared = sum(file.stat().st_size for file in shared_files(directory))
    reason = why_not_native() if has_own_trees(directory) else "its trees come from a Python object"
    rows = {
        "directory": directory,
        "size on disk": f"{size}, and {shared / 1e6:.2f} MB shared with others" if shared else size,
        "profile": f"{tokenizer.profile}, version {tokenizer.state.profile_version}",
        **({"normalizer": tokenizer.state.normalizer} if tokenizer.state.normalizer else {}),
        "tokens": tokenizer.vocab_size,
        "special tokens": ", ".join(f"{name} = {number}" for name, number in tokenizer.special_tokens.items()),
        "roles": ", ".join(f"{role} {token}" for role, token in tokenizer.roles.items()) or "none",
        "known words": tokenizer.known_words,
        "runs on": "the native core" if reason is None else f"plain Python, since {reason}",
        **dict(shown_settings(tokenizer.settings)),
    }
    # Whoever made the tokenizer may have written anything there.
    shown = {escape_controls(name): escape_controls(str(value)) for name, value in rows.items()}
    width = max(map(len, shown))
    for name, value in shown.items():
        print(f"{name:<{width}}  {value}")


def shown_settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Format setting names and values for display; items of a list are numbered, stages have a line each.

    >>> dict(shown_settings({"pruning_rate": 0.2, "members": [{"steps": 5}], "stages": {"words": {"words": 9}}}))
    {'pruning rate': 0.2, 'members 1': 'steps 5', 'stage words': 'words 9'}
    """
    for name, value in settings.items():
        plain = name.replace("_", " ")
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for number, item in enumerate(value, start=1):
                yield f"{plain} {number}", on_one_line(item)
        elif (
            name == "stages" and isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())
        ):
            for stage, figures in value.items():
                yield f"stage {stage}", on_one_line(figures)
        else:
            yield plain, on_one_line(value) if isinstance(value, dict) else value


def on_one_line(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())

"""`treetok special-tokens`: add special tokens to a tokenizer, and say what they are for."""

from __future__ import annotations

import argparse
from typing import Any

from treetok import TreeTokenizer, TreetokError
from treetok.cli.help import HelpFormatter, examples, model_help
from treetok.special_tokens import ROLES
from treetok.stop_signal import exit_on_termination
from treetok.storage.atomic import checked_target
from treetok.storage.format import FILES, HEAD


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "special-tokens",
        help="add special tokens to a tokenizer, and say what they are for",
        description="Save a tokenizer with more special tokens, whose ids follow those it has, and with other"
        " roles. Everything else stays as it is.",
        epilog=examples("treetok special-tokens en -o en-chat --add '<|user|>' --add '<|bot|>' --eos '<|end|>'"),
        formatter_class=HelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("model", metavar="MODEL", help=model_help())
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where to save the new tokenizer")
    parser.add_argument(
        "--add", action="append", default=[], metavar="TOKEN", help="a new special token; repeatable"
    )
    parser.add_argument("--force", action="store_true", default=False, help="replace the tokenizer in DIR")
    add_roles(parser)
    parser.set_defaults(run=run, parser=parser)


def add_roles(parser: argparse.ArgumentParser) -> None:
    """Options for the roles of special tokens."""
    roles = parser.add_argument_group("roles of special tokens", "A token that is new is added.")
    for role in ROLES:
        roles.add_argument(f"--{role}", metavar="TOKEN")


def run(options: argparse.Namespace) -> None:
    directory = checked_target(options.output, FILES, HEAD)
    if (directory / HEAD).exists() and not options.force:
        raise TreetokError(f"{directory} already has a tokenizer: pass --force to replace it")
    tokenizer = TreeTokenizer.load(options.model)
    roles = {role: getattr(options, role) for role in ROLES if hasattr(options, role)}
    changed = tokenizer.with_special_tokens(options.add, **roles)
    with exit_on_termination():
        changed.save(directory)
    print(f"{directory}: {changed.vocab_size} tokens, {len(changed.special_tokens)} of them special")

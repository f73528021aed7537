"""How help looks, and errors that speak of options."""

from __future__ import annotations

import argparse
import re

from treetok.storage import shipped_names


class HelpFormatter(argparse.HelpFormatter):
    """Examples are kept as they are written, so that they can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("example") else super()._fill_text(text, width, indent)


def examples(*commands: str) -> str:
    """The end of a help page.

    >>> print(examples("treetok info en"))
    example:
      treetok info en
    """
    return "\n  ".join(["examples:" if len(commands) > 1 else "example:", *commands])


def model_help() -> str:
    return f"a shipped tokenizer ({', '.join(shipped_names())}), or a directory"


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, help=model_help())


def in_terms_of_options(message: str, parser: argparse.ArgumentParser) -> str:
    """A message with the names of options in place of those of Python arguments.

    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--vocab-size"), parser.add_argument("--vocab")
    >>> in_terms_of_options("vocab_size is for vocab='compact' alone", parser)
    '--vocab-size is for --vocab compact alone'
    """
    options = {
        action.dest: next(option for option in action.option_strings if option.startswith("--"))
        for action in parser._actions
        if action.option_strings
    }
    names = "|".join(sorted(options, key=len, reverse=True))
    message = re.sub(rf"\b({names})='([^']*)'", lambda found: f"{options[found[1]]} {found[2]}", message)
    message = re.sub(rf"^({names})(?=:| must | is | are | has )", lambda found: options[found[1]], message)
    with_underscore = "|".join(name for name in options if "_" in name) or "(?!)"
    # What is in quotes is what the user wrote.
    return re.sub(rf"(?<!['-])\b({with_underscore})\b(?!')", lambda found: options[found[1]], message)

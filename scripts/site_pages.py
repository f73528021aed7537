"""Pages of the documentation site that are not files in docs/, made when it is built (see `mkdocs.yml`):

* the command line, from its parsers;
* files of the repository that pages link to, such as model cards and examples. A link that works on GitHub,
  `../CHANGELOG.md`, so works in the site, too.
"""

from __future__ import annotations

import argparse
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from treetok.cli import make_parser

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "repository"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)(?=[)#])")


def on_files(files: Files, config: Any) -> Files:
    files.append(File.generated(config, "command-line.md", content=command_line()))
    waiting = [source_of(name) for name in (*pages_in(config.nav), *files.src_uris) if name.endswith(".md")]
    # No page of the site links to it, but its links are checked like theirs.
    waiting.append("README.md")
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen or not (ROOT / path).is_file():
            continue
        seen.add(path)
        if not path.startswith("docs/"):
            files.append(File.generated(config, page_of(path), content=shown(path)))
        if path.endswith(".md"):
            waiting += [target for _, target in links(path, (ROOT / path).read_text(encoding="utf-8"))]
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    path = source_of(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)
    for link, target in dict(links(path, markdown)).items():
        if (ROOT / target).is_file():
            there = posixpath.relpath(page_of(target), here or ".")
            markdown = re.sub(rf"(?<=\]\(){re.escape(link)}(?=[)#])", there, markdown)
    return markdown


def pages_in(nav: Any) -> Iterator[str]:
    """The files that `nav` in mkdocs.yml names."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_in(part)


def links(path: str, markdown: str) -> Iterator[tuple[str, str]]:
    """Relative links of a file, and the files of the repository that they lead to."""
    for link in LINK.findall(markdown):
        yield link, posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def page_of(path: str) -> str:
    """Where a file of the repository is in the site.

    >>> page_of("docs/training.md"), page_of("CHANGELOG.md"), page_of("examples/pretrain_gpt2.py")
    ('training.md', 'repository/CHANGELOG.md', 'repository/examples/pretrain_gpt2.py.md')
    """
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{FOLDER}/{path}" if path.endswith(".md") else f"{FOLDER}/{path}.md"


def source_of(page: str) -> str:
    """The other way round; programs have no links that would need it."""
    return page.removeprefix(f"{FOLDER}/") if page.startswith(f"{FOLDER}/") else f"docs/{page}"


def shown(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    return f"# {path}\n\n````{Path(path).suffix.removeprefix('.') or 'text'}\n{text}\n````\n"


def command_line() -> str:
    """All commands, from their parsers."""
    parser = make_parser()
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {action.dest: action.help for action in commands._choices_actions}
    overview = [
        f"| [`treetok {name}`](#treetok-{name}) | {summaries.get(name, '')} |" for name in commands.choices
    ]
    return "\n\n".join(
        [
            "# Command line",
            "Made from the parsers, as `treetok COMMAND --help` is. Results go to standard output, progress and"
            " errors to standard error. The exit status is 0 for success, 1 for bad input and 2 for wrong usage.",
            "\n".join(["| command | |", "|---|---|", *overview]),
            *(part for name, command in commands.choices.items() for part in command_parts(name, command)),
        ]
    )


def command_parts(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## `treetok {name}` {{ #treetok-{name} }}"
    if command.description:
        yield command.description
    yield f"```text\n{command.format_usage().strip()}\n```"
    for group in command._action_groups:
        rows = [option_row(action) for action in group._group_actions if action.help != argparse.SUPPRESS]
        rows = [row for row in rows if row]
        if rows:
            yield f"*{group.title}*" + (f": {group.description}" if group.description else "")
            yield "\n".join(["| | |", "|---|---|", *rows])
    if command.epilog:
        heading, _, commands = command.epilog.partition("\n")
        lines = [line.removeprefix("  ") for line in commands.split("\n")]
        yield f"*{heading.rstrip(':')}*"
        yield "\n".join(["```sh", *lines, "```"])


def option_row(action: argparse.Action) -> str:
    if isinstance(action, argparse._HelpAction):
        return ""
    formatter = argparse.HelpFormatter("treetok")
    value = formatter._format_args(action, action.dest.upper())
    names = [f"{option} {value}".strip() for option in action.option_strings] or [action.metavar or action.dest]
    meaning = formatter._expand_help(action) if action.help else ""
    # A table's cells end at a bar, unless it is in code.
    meaning = meaning.replace("<", "&lt;").replace("|", "&#124;")
    return f"| {', '.join(f'`{name}`' for name in names)} | {meaning} |"

"""Every code block in README.md and docs/ is run, as a reader would who has text files of these names.

In the order of a document, and in one folder for each: blocks of Python share their variables, those with `>>>`
are doctests, and in `console` blocks what follows a command is its output. A block that cannot be run is preceded
by `<!-- not run: REASON -->`; its commands are still parsed, so that no option in it is made up.
"""

import argparse
import contextlib
import doctest
import gzip
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from conftest import ROOT, SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.cli import make_parser
from treetok.model.presets import PRESETS
from treetok.pipeline.overrides import flat_settings, override, parse_setting

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_RUN = re.compile(r"<!-- not run: (.{10,}) -->\n", flags=re.DOTALL)
# Not code, but data.
DATA = {"text", "tsv", "json"}
EXTRAS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
)


@dataclass
class Block:
    kind: str
    code: str
    line: int
    is_run: bool


def blocks(markdown: str) -> list[Block]:
    found: list[Block] = []
    before: Token | None = None
    for token in MarkdownIt("commonmark").parse(markdown):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            is_run = not (before is not None and before.type == "html_block" and NOT_RUN.fullmatch(before.content))
            found.append(Block(token.info, token.content, token.map[0] + 1, is_run))
        before = token
    return found


BLOCKS = {document: found for document in DOCUMENTS if (found := blocks(document.read_text(encoding="utf-8")))}


@pytest.fixture(scope="session")
def readers_folder(tmp_path_factory):
    """Text under the names that the documentation uses, and a tokenizer."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "corpus").mkdir()
    texts = [path.read_text(encoding="utf-8") for path in SAMPLE_FILES]
    for number, text in enumerate(texts[:6]):
        rows = "".join(json.dumps({"text": line}) + "\n" for line in text.splitlines())
        (folder / "corpus" / f"{number}.txt.xz").write_bytes(lzma.compress(text.encode()))
        (folder / "corpus" / f"{number}.jsonl.gz").write_bytes(gzip.compress(rows.encode(), mtime=0))
        (folder / "corpus" / f"{number}.txt").write_text(text, encoding="utf-8")
    whole = "\n".join(texts[:4])
    (folder / "corpus.txt").write_text(whole, encoding="utf-8")
    (folder / "my-domain.txt").write_text(whole, encoding="utf-8")
    (folder / "corpus.txt.xz").write_bytes(lzma.compress(whole.encode()))
    (folder / "notes.txt").write_text(texts[6], encoding="utf-8")
    (folder / "heldout.txt").write_text(texts[7], encoding="utf-8")
    for name in ("gold.tsv", "morpho.tsv", "morphs.tsv", "dev.tsv"):
        shutil.copy(ROOT / "tests" / "data" / "gold_sample.tsv", folder / name)
    for name in ("examples", "sample_text"):
        if (ROOT / name).is_dir():
            (folder / name).symlink_to(ROOT / name)
    TreeTokenizer.train(SAMPLE_FILES, 2000, "counts", progress=False).save(folder / "my-tokenizer")
    programs = folder / ".bin"
    programs.mkdir()
    for name, command in (("treetok", f"{sys.executable} -m treetok"), ("python", sys.executable)):
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("document", BLOCKS, ids=lambda path: path.name)
def test_code_blocks_run(document, readers_folder, tmp_path):
    folder = tmp_path / "here"
    shutil.copytree(readers_folder, folder, symlinks=True)
    if any(block.is_run and "-o my-tokenizer" in block.code for block in BLOCKS[document]):
        shutil.rmtree(folder / "my-tokenizer")
    variables: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for block in BLOCKS[document]:
            run_block(block, f"{document.name}:{block.line}", variables)


def run_block(block, place, variables):
    if block.kind == "python" and block.code.startswith(">>> "):
        assert block.is_run, f"{place}: examples with results are always run"
        check_examples(block.code, place, variables)
    elif block.kind == "python":
        code = compile("\n" * block.line + block.code, place, "exec")
        if block.is_run:
            exec(code, variables)
    elif block.kind == "sh" and block.is_run:
        run_shell(block.code, place)
    elif block.kind == "sh":
        check_commands(block.code, place)
    elif block.kind == "console":
        assert block.is_run, f"{place}: commands with results are always run"
        for command, output in transcript(block.code):
            assert run_shell(command, place) == output, place
    elif block.kind == "toml":
        override(PRESETS["fast"], flat_settings(tomllib.loads(block.code)))
    else:
        assert block.kind in DATA, f"{place}: what is {block.kind!r}? Code is python, sh, console or toml"


def check_examples(code, place, variables):
    runner = doctest.DocTestRunner(verbose=False)
    test = doctest.DocTestParser().get_doctest(code, variables, place, None, 0)
    report: list[str] = []
    test.globs = variables
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def transcript(code):
    """Commands after `$ `, and what each prints.

    >>> transcript("$ echo a\\na\\n$ true\\n")
    [('echo a', 'a\\n'), ('true', '')]
    """
    parts = re.split(r"^\$ ", code, flags=re.MULTILINE)
    assert parts[0] == ""
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts[1:])]


def run_shell(code, place):
    """What the commands print. What `pip` would install is there already."""
    lines = code.split("\n")
    for line in lines:
        if line.startswith("pip install"):
            check_extras(line, place)
    lines = [line for line in lines if not line.startswith("pip install")]
    environment = {**os.environ, "PATH": f"{Path.cwd()}/.bin{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert result.returncode == 0, f"{place}: {result.stderr}"
    return result.stdout


def check_commands(code, place):
    """Options of `treetok` exist, and so do settings and the extras that `pip` is to install."""
    for line in code.replace("\\\n", " ").split("\n"):
        words = shlex.split(line, comments=True)
        if words[:2] == ["pip", "install"]:
            check_extras(line, place)
        elif "treetok" in words:
            try:
                options = make_parser().parse_args(words[words.index("treetok") + 1 :])
            except SystemExit:
                pytest.fail(f"{place}: {line}")
            override(PRESETS["fast"], dict(map(parse_setting, getattr(options, "settings", []))))


def check_extras(line, place):
    named = re.search(r"\[(.*)\]", line)
    assert not named or set(named[1].split(",")) <= EXTRAS, f"{place}: {line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_within_sentences_have_these_options(document):
    actions = make_parser()._actions
    commands = next(action for action in actions if isinstance(action, argparse._SubParsersAction)).choices
    for command, rest in inline_commands(document.read_text(encoding="utf-8")):
        assert command in commands, f"treetok {command}"
        known = commands[command]._option_string_actions
        for option in re.findall(r"(?<= )--?[a-z][a-z-]*", rest):
            assert option in known, f"treetok {command} {option}"


def inline_commands(markdown):
    """
    >>> inline_commands("Try `treetok encode --model en`.")
    [('encode', ' --model en')]
    """
    spans = [
        span.content
        for token in MarkdownIt("commonmark").enable("table").parse(markdown)
        for span in token.children or []
        if span.type == "code_inline"
    ]
    return [(found[1], found[2]) for span in spans if (found := re.match(r"treetok ([a-z][a-z-]*)(.*)", span))]


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```sh\nfalse\n```", "README.md"),
        ("```console\n$ echo no\nyes\n```", "no"),
        ("```python\n>>> 1 + 1\n3\n```", "Expected"),
        ("```python\nraise AssertionError('ran')\n```", "ran"),
        ("```java\nSystem.exit(0);\n```", "java"),
        ("    indented\n", "''"),
        ("<!-- not run: a good reason -->\n```sh\ntreetok train text.txt -o out --made-up 1\n```", "--made-up"),
        ("<!-- not run: a good reason -->\n```sh\npip install '.[made-up]'\n```", "made-up"),
        ("<!-- not run: a good reason -->\n\n```python\n>>> 1 + 1\n3\n```", "always run"),
        ("```toml\n[training]\nstepss = 1\n```", "stepss"),
    ],
)
def test_blocks_that_do_not_run_are_noticed(readers_folder, monkeypatch, block, complaint):
    monkeypatch.chdir(readers_folder)
    (found,) = blocks(block)
    with pytest.raises((AssertionError, TreetokError, pytest.fail.Exception), match=re.escape(complaint)):
        run_block(found, "README.md:1", {})


def test_blocks_with_a_reason_are_not_run(readers_folder, monkeypatch):
    monkeypatch.chdir(readers_folder)
    (found,) = blocks("<!-- not run: a good reason -->\n```sh\nfalse\n```")
    run_block(found, "README.md:1", {})
    # No reason, no exception.
    (found,) = blocks("<!-- not run: -->\n```sh\nfalse\n```")
    assert found.is_run

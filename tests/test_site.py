"""What the documentation site is made of: the notebook, pictures, and pages that are made when it is built."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import ROOT
from docstring_markdown import as_markdown
from draw_pictures import pictures
from site_pages import command_line, links
from treetok.cli import make_parser

DOCS = ROOT / "docs"


def shown(notebook):
    """What each cell shows."""
    return [
        [output.get("text") or dict(output["data"]) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_shows_what_it_says(tmp_path):
    notebook = nbformat.read(DOCS / "tour.ipynb", as_version=4)
    expected = shown(notebook)
    assert sum("text/html" in output for cell in expected for output in cell if isinstance(output, dict)) > 5
    # The session ends with the test.
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert shown(notebook) == expected


def test_pictures_are_those_of_the_shipped_tokenizer():
    drawn = pictures()
    assert drawn == {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "pictures").glob("*.svg")}


def test_the_page_on_commands_has_all_of_them(capsys):
    page = command_line()
    with pytest.raises(SystemExit):
        make_parser().parse_args(["--help"])
    commands = re.findall(r"^    ([a-z-]+)\b", capsys.readouterr().out, flags=re.MULTILINE)
    assert "special-tokens" in commands
    for command in commands:
        assert f"## `treetok {command}`" in page
    for option in "--vocab-size", "--no-markers", "--end TOKEN", "--against":
        assert f"`{option}" in page


def test_examples_in_docstrings_become_code():
    assert as_markdown("Only for GPUs:\ndevice: which") == "Only for GPUs:\n\n* `device`: which"
    assert as_markdown("Add.\n\n>>> 1 + 1\n2\n\nTokens: <join>, `<cap>`.") == (
        "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nTokens: &lt;join>, `<cap>`."
    )


def test_links_out_of_the_documentation():
    page = "[a](../CHANGELOG.md#added), [b](training.md), [c](https://example.org/x.md), [d](#here)"
    assert list(links("docs/index.md", page)) == [
        ("../CHANGELOG.md", "CHANGELOG.md"),
        ("training.md", "docs/training.md"),
    ]

"""Put the results of experiments into a document, each between its markers.

The result results/NAME.json goes between <!-- begin NAME --> and <!-- end NAME -->; where the document has no such
markers, a section is added at the end.

python experiments/write_results.py results/*.json --document docs/results.md
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.report import from_plain_data, markdown, markdown_grid

HEAD = """\
# Results

Written by `python experiments/write_results.py results/*.json --document docs/results.md`; everything between
markers is replaced when it runs again.
[evaluation.md](evaluation.md) explains the figures.
"""


def block_of(name: str, result: dict[str, Any]) -> str:
    parts = [f"<!-- begin {name} -->", f"`{result['command']}`", ""]
    if "comparison" in result:
        parts.append(markdown(from_plain_data(result["comparison"])))
    else:
        for table in result.get("tables", ()):
            parts += [f"**{table['title']}**", "", markdown_grid(table["grid"]), ""]
        if "tables" not in result:
            parts += [markdown_grid(result["grid"]), ""]
        parts += [f"* {what}: {note}" for what, note in result.get("notes", {}).items()]
        parts += [""] if result.get("notes") else []
    return "\n".join([*parts, f"<!-- end {name} -->"])


def with_result(document: str, name: str, result: dict[str, Any]) -> str:
    block = block_of(name, result)
    place = re.compile(rf"<!-- begin {re.escape(name)} -->.*?<!-- end {re.escape(name)} -->", re.DOTALL)
    if place.search(document):
        return place.sub(lambda _: block, document)
    if f"<!-- begin {name} -->" in document or f"<!-- end {name} -->" in document:
        raise TreetokError(f"the document has only one of the two markers of {name}")
    return f"{document.rstrip()}\n\n## {result['title']}\n\n{block}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, help="JSON files written by experiments")
    parser.add_argument("--document", type=Path, required=True, help="Markdown file to update")
    options = parser.parse_args()
    document = options.document.read_text(encoding="utf-8") if options.document.exists() else HEAD
    if options.document.resolve() in {path.resolve() for path in options.results}:
        raise TreetokError(f"{options.document} is one of the results")
    for path in sorted(options.results):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            document = with_result(document, path.stem, result)
        except (ValueError, KeyError, TypeError) as error:
            raise TreetokError(f"{path} is not the result of an experiment: {error}") from None
    options.document.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    run(main)

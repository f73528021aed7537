"""Put trained tokenizers into the package, files that several of them have in common only once.

python scripts/ship.py runs/en runs/en-large runs/en-uncased

A tokenizer is shipped under the name of its directory. A common file is stored beside the tokenizers, under the
name of the first that has it (en-parser.safetensors). Model cards in the package are written by hand, and are left
alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter
from pathlib import Path

from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.storage import load_state
from treetok.storage.format import CARD, HEAD

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "treetok" / "shipped"


def ship(directories: list[Path], target: Path) -> None:
    for directory in directories:
        load_state(directory)  # Raises if a file is missing or damaged.
    heads = {directory: json.loads((directory / HEAD).read_bytes()) for directory in directories}
    owners = Counter(entry["sha256"] for head in heads.values() for entry in head["files"].values())
    stored: dict[str, str] = {}
    for directory, head in heads.items():
        folder = target / directory.name
        folder.mkdir(parents=True, exist_ok=True)
        for name, entry in head["files"].items():
            digest = entry["sha256"]
            if owners[digest] == 1:
                shutil.copyfile(directory / name, folder / name)
                continue
            if digest not in stored:
                stored[digest] = f"{directory.name}-{name}"
                shutil.copyfile(directory / name, target / stored[digest])
            entry["shared"] = stored[digest]
            (folder / name).unlink(missing_ok=True)
        (folder / HEAD).write_text(json.dumps(head, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        if not (folder / CARD).exists():
            shutil.copyfile(directory / CARD, folder / CARD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR", help="tokenizers that were trained")
    directories = [directory.absolute() for directory in parser.parse_args().directories]
    if len({directory.name for directory in directories}) < len(directories):
        raise TreetokError("two tokenizers have the same name")
    ship(directories, SHIPPED)


if __name__ == "__main__":
    run(main)

"""Put trained tokenizers into the package, files that several of them have in common only once.

python scripts/ship.py runs/en runs/en-large runs/en-uncased

They replace what was shipped before, all of it. A tokenizer is shipped under the name of its directory, a common
file beside the tokenizers, under the name of the first that has it (en-parser.safetensors). Model cards that are
in the package are written by hand, and are left alone.
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
from treetok.storage.save import model_card

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "treetok" / "shipped"


def ship(directories: list[Path], target: Path) -> None:
    directories = [directory.resolve() for directory in directories]
    names = [directory.name for directory in directories]
    if len(set(names)) < len(names):
        raise TreetokError("two tokenizers have the same name")
    if target.resolve() in {directory.parent for directory in directories}:
        raise TreetokError(f"{target} is where tokenizers are shipped to, not from")
    # Raises if a file is missing or damaged.
    cards = {directory.name: model_card(load_state(directory)) for directory in directories}
    cards |= {card.parent.name: card.read_text(encoding="utf-8") for card in target.glob(f"*/{CARD}")}
    remove_tokenizers(target)
    heads = {directory: json.loads((directory / HEAD).read_bytes()) for directory in directories}
    owners = Counter(entry["sha256"] for head in heads.values() for entry in head["files"].values())
    stored: dict[str, str] = {}
    for directory, head in heads.items():
        folder = target / directory.name
        folder.mkdir(parents=True)
        for name, entry in head["files"].items():
            digest = entry["sha256"]
            if owners[digest] == 1:
                shutil.copyfile(directory / name, folder / name)
                continue
            if digest not in stored:
                stored[digest] = f"{directory.name}-{name}"
                shutil.copyfile(directory / name, target / stored[digest])
            entry["shared"] = stored[digest]
        (folder / HEAD).write_text(json.dumps(head, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        (folder / CARD).write_text(cards[directory.name], encoding="utf-8")


def remove_tokenizers(target: Path) -> None:
    for head in list(target.glob(f"*/{HEAD}")):
        shutil.rmtree(head.parent)
    for common in list(target.glob("*.safetensors")):
        common.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR", help="tokenizers that were trained")
    ship(parser.parse_args().directories, SHIPPED)


if __name__ == "__main__":
    run(main)

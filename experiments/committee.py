"""What a committee is worth: tree recall of single models, of the first two, the first three, and so on.

python experiments/committee.py --member member-1.safetensors --member member-2.safetensors --gold morphs.tsv \
    --out results/committee.json
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

from record import save

from treetok.cli.script import run
from treetok.evaluate.comparison import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.report import plain_text
from treetok.evaluate.trees import OverStrings
from treetok.progress import Progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--member", action="append", type=Path, required=True, help="written by train_trees.py")
    parser.add_argument("--gold", action="append", required=True, help="a gold file; may be repeated")
    parser.add_argument("--every", type=int, default=1, help="take every so many-th word only")
    parser.add_argument("--profile", default="uncased")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True, help="where the results go, as JSON")
    options = parser.parse_args()
    if options.every < 1:
        parser.error("--every is 1 or more")
    from treetok.model.decoding import CompositionTrees
    from treetok.model.device import chosen_device
    from treetok.model.ensemble import EnsembleMember

    device = chosen_device(options.device)
    members = [EnsembleMember.load(path, device) for path in options.member]
    committees = {f"model {number}": [member] for number, member in enumerate(members, start=1)}
    committees |= {f"models 1 to {size}": members[:size] for size in range(2, len(members) + 1)}
    trees = {
        name: OverStrings(CompositionTrees(committee, device), options.profile)
        for name, committee in committees.items()
    }
    gold = [read_gold(path) for path in options.gold]
    gold = [replace(file, words=file.words[:: options.every]) for file in gold]
    comparison = compare([], gold, trees=trees, progress=Progress(True))
    save(options.out, "Committees", comparison=asdict(comparison))
    print(plain_text(comparison))


if __name__ == "__main__":
    run(main)

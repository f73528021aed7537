"""What an ensemble gains: tree recall of every model alone, of the first two, the first three, and so on.

Models are those that `treetok train -o FOLDER` leaves in FOLDER/training. --quick trains two tiny ones first, on
the text of the project.

python experiments/ensemble.py --member model-1.safetensors --member model-2.safetensors --gold morphs.tsv \\
    --out results/ensemble.json
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lineup_options import QUICK_FILES, add_gold, plain_parser
from result_files import report_comparison
from treetok import TreeTokenizer
from treetok.cli.script_errors import run
from treetok.evaluate.baselines import DEFAULT_PROFILE
from treetok.evaluate.compare import Comparison, compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.tree_sources import OverStrings
from treetok.progress import Progress


def main() -> None:
    options = parsed_options()
    with tempfile.TemporaryDirectory() as folder:
        comparison = score(options, options.member or quick_members(Path(folder), options))
    report_comparison(options.out, "Ensembles", comparison)


def parsed_options() -> argparse.Namespace:
    parser = plain_parser(__doc__)
    parser.add_argument(
        "--member", action="append", type=Path, default=[], help="a trained composition model; may be repeated"
    )
    add_gold(parser)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="score only every Nth word")
    parser.add_argument("--profile", default=DEFAULT_PROFILE)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true", help="two tiny models, in seconds: to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.gold = options.gold or QUICK_FILES["gold"]
    for name in ("gold",) if options.quick else ("member", "gold"):
        if not getattr(options, name):
            parser.error(f"the following arguments are required: --{name}")
    if options.every < 1:
        parser.error("--every must be 1 or more")
    return options


def quick_members(folder: Path, options: argparse.Namespace) -> list[Path]:
    from composition_models import quick_preset

    TreeTokenizer.train(
        QUICK_FILES["train_text"],
        vocab_size=400,
        profile=options.profile,
        preset=quick_preset(),
        settings={"pseudo_words": 0, "pseudo_compounds": 0, "distillation.epochs": 1},
        device=options.device,
        directory=folder,
    )
    return sorted(folder.glob("member-*.safetensors"))


def score(options: argparse.Namespace, paths: Sequence[Path]) -> Comparison:
    from composition_models import device_name
    from treetok.model.decoding import CompositionTrees
    from treetok.model.device import chosen_device
    from treetok.model.ensemble import EnsembleMember

    device = chosen_device(options.device)
    members = [EnsembleMember.load(path, device) for path in paths]
    ensembles = {f"model {number}": [member] for number, member in enumerate(members, start=1)}
    ensembles |= {f"models 1 to {size}": members[:size] for size in range(2, len(members) + 1)}
    trees = {
        name: OverStrings(CompositionTrees(ensemble, device), options.profile)
        for name, ensemble in ensembles.items()
    }
    gold = [read_gold(path) for path in options.gold]
    gold = [replace(file, words=file.words[:: options.every]) for file in gold]
    began = time.monotonic()
    comparison = compare([], gold, trees=trees, progress=Progress(True))
    print(f"decoded in {time.monotonic() - began:.0f} s on {device_name(device)}", flush=True)
    return comparison


if __name__ == "__main__":
    run(main)

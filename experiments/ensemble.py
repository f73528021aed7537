"""What an ensemble gains: tree recall of every model alone, of the first two, the first three, and so on.

python experiments/ensemble.py --member model-1.safetensors --member model-2.safetensors --gold morphs.tsv \\
    --out results/ensemble.json
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lineup_options import add_gold, plain_parser
from result_files import report_comparison
from treetok.cli.script_errors import run
from treetok.evaluate.baselines import DEFAULT_PROFILE
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import read_gold
from treetok.evaluate.tree_sources import OverStrings
from treetok.progress import Progress


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument(
        "--member", action="append", type=Path, required=True, help="a trained composition model; may be repeated"
    )
    add_gold(parser)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="score only every Nth word")
    parser.add_argument("--profile", default=DEFAULT_PROFILE)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    if options.every < 1:
        parser.error("--every must be 1 or more")
    from treetok.model.decoding import CompositionTrees
    from treetok.model.device import chosen_device
    from treetok.model.ensemble import EnsembleMember

    device = chosen_device(options.device)
    members = [EnsembleMember.load(path, device) for path in options.member]
    ensembles = {f"model {number}": [member] for number, member in enumerate(members, start=1)}
    ensembles |= {f"models 1 to {size}": members[:size] for size in range(2, len(members) + 1)}
    trees = {
        name: OverStrings(CompositionTrees(ensemble, device), options.profile)
        for name, ensemble in ensembles.items()
    }
    gold = [read_gold(path) for path in options.gold]
    gold = [replace(file, words=file.words[:: options.every]) for file in gold]
    comparison = compare([], gold, trees=trees, progress=Progress(True))
    report_comparison(options.out, "Ensembles", comparison)


if __name__ == "__main__":
    run(main)

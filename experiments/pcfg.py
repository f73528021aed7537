"""The neural PCFG of the paper's Table 3: train it on the words of a text, and score its trees.

Strings are split into words as the profile does first. The grammar is kept in --folder while it is trained, and
the same command continues from there. --quick is a small grammar on the text of the project, in seconds.

python experiments/pcfg.py corpus.txt.xz --gold morpho.tsv --folder pcfg --out results/pcfg.json

The sizes and the initialisation in the code released with the paper:

python experiments/pcfg.py corpus.txt.xz --gold morpho.tsv --folder pcfg_paper --nonterminals 9000 \\
    --preterminals 4500 --rank 1000 --dimension 512 --initialisation xavier --out results/pcfg_paper.json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineup_options import folder_name, plain_parser
from result_files import report_comparison
from treetok.cli.script_errors import run
from treetok.corpus.counting import count_words
from treetok.corpus.counts_by_letters import counts_by_letters
from treetok.errors import TreetokError
from treetok.evaluate.baselines import DEFAULT_PROFILE
from treetok.evaluate.compare import compare
from treetok.evaluate.gold import GoldFile, read_gold
from treetok.evaluate.tree_sources import OverStrings, tree_sources
from treetok.progress import Progress
from treetok.sources import TreeSource
from treetok.stop_signal import stop_signal
from treetok.storage.atomic import checked_target
from treetok.text import Profile, profile_named

if TYPE_CHECKING:
    from neural_pcfg.training import Trainer
    from neural_pcfg.words import CharacterTable, TrainingWords

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_TEXT = sorted((ROOT / "sample_text").glob("*.txt"))
SAMPLE_GOLD = ROOT / "tests" / "data" / "gold_sample.tsv"
QUICK: dict[str, Any] = {
    "nonterminals": 12,
    "preterminals": 24,
    "rank": 24,
    "dimension": 32,
    "words_per_step": 256,
    "seconds": 0.0,
    "steps": 60,
    "device": "cpu",
}


def main() -> None:
    options = parsed_options()
    from neural_pcfg.grammar import GrammarConfig
    from neural_pcfg.training import TrainingConfig
    from neural_pcfg.words import CharacterTable
    from treetok.model.device import chosen_device, explained_memory_errors
    from treetok.model.training.checkpoint import HEAD as CHECKPOINT

    # All that can be wrong is looked at before any work is done.
    checked_target(options.folder, (), CHECKPOINT)
    check_words(options)
    sizes, settings = settings_in(options, GrammarConfig), settings_in(options, TrainingConfig)
    gold_files = [read_gold(path) for path in options.gold]
    profile, progress = profile_named(options.profile), Progress(True)
    device = chosen_device(options.device)
    counts = counts_by_letters(count_words(options.text, profile, progress=progress).counts(), profile)
    words, characters = training_words(counts, options), CharacterTable.of_words(counts)
    with explained_memory_errors(
        "try smaller --nonterminals, --preterminals, --rank, --dimension or --words-per-step"
    ):
        trainer = trained(sizes, settings, words, characters, device, options, progress)
        score(trainer, characters, gold_files, profile, options, progress)


def trained(
    sizes: Any,
    settings: Any,
    words: TrainingWords,
    characters: CharacterTable,
    device: str,
    options: argparse.Namespace,
    progress: Progress,
) -> Trainer:
    """A grammar that is trained to the end."""
    import torch

    from neural_pcfg.grammar import NeuralGrammar
    from neural_pcfg.training import Trainer, train
    from treetok.model.device import computing_threads

    torch.manual_seed(options.seed)
    trainer = Trainer(NeuralGrammar(sizes, len(characters)), words, characters, settings, device)
    with stop_signal() as stopped, computing_threads(device, None):
        progress.is_stopping = stopped.is_set
        train(trainer, options.folder, progress)
    progress.is_stopping = lambda: False
    return trainer


def score(
    trainer: Trainer,
    characters: CharacterTable,
    gold_files: list[GoldFile],
    profile: Profile,
    options: argparse.Namespace,
    progress: Progress,
) -> None:
    """Score the trees of a grammar beside trivial ones, and report."""
    from neural_pcfg.trees import MbrTrees, ViterbiTrees, is_small
    from treetok.model.device import computing_threads

    began = time.monotonic()
    grammar, words, device = trainer.grammar, trainer.words, trainer.device
    sources: dict[str, TreeSource] = {"neural PCFG": MbrTrees(grammar, characters, device)}
    if is_small(grammar):
        sources["neural PCFG, Viterbi"] = ViterbiTrees(grammar, characters)
    trees: dict[str, TreeSource] = {name: OverStrings(source, profile) for name, source in sources.items()}
    trees |= tree_sources(profile, seed=options.seed)
    notes = {
        "training text": ", ".join(path.name for path in options.text),
        "profile": options.profile,
        "training words": f"{words.running_words}, {len(words)} distinct, of 2 to {options.longest} characters",
        "grammar": f"{options.nonterminals} nonterminals, {options.preterminals} preterminals,"
        f" rank {options.rank}, {options.dimension} dimensions, {len(characters)} characters",
        "initialisation": f"{options.initialisation} (of embeddings)",
        "training": f"{trainer.step} steps of {options.words_per_step} running words, {trainer.seconds:.0f} s"
        f" on {device}, seed {options.seed}",
        "nats per word": f"{trainer.mean_loss():.3f}",
        "decoding": "MBR over spans; Viterbi for small grammars only",
    }
    with computing_threads(device, None):
        comparison = compare([], gold_files, trees=trees, notes=notes, progress=progress)
    report_comparison(options.out, options.title or "The neural PCFG of Table 3", comparison)
    scoring = time.monotonic() - began
    print(f"{trainer.seconds:.0f} s of training, {scoring:.0f} s of decoding and scoring, on {device}")


def parsed_options() -> argparse.Namespace:
    parser = plain_parser(__doc__)
    parser.add_argument("text", nargs="*", type=Path, help="text to train on")
    parser.add_argument("--gold", action="append", default=[], help="a gold file; may be repeated")
    parser.add_argument(
        "--folder", type=folder_name, required=True, help="where the grammar is kept while it is trained"
    )
    parser.add_argument("--title", help="title of the section in the document, instead of the default")
    parser.add_argument("--profile", default=DEFAULT_PROFILE)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300.0, help="of training (default: 300); 0 is no limit")
    parser.add_argument("--steps", type=int, default=0, help="of training, if fewer than fit into --seconds")
    parser.add_argument("--words-per-step", type=int, default=16_384, help="running words (default: 16384)")
    parser.add_argument("--learning-rate", type=float, default=2e-3, help="(default: 0.002)")
    parser.add_argument("--dtype", default="float32", help="of the charts: float32 (default) or bfloat16")
    parser.add_argument("--min-word-count", type=int, default=2, help="leave out rarer words (default: 2)")
    parser.add_argument("--longest", type=int, default=20, help="leave out longer words (default: 20)")
    parser.add_argument("--nonterminals", type=int, default=250, help="(default: 250)")
    parser.add_argument("--preterminals", type=int, default=500, help="(default: 500)")
    parser.add_argument("--rank", type=int, default=500, help="of the tensor of binary rules (default: 500)")
    parser.add_argument("--dimension", type=int, default=256, help="of the network (default: 256)")
    parser.add_argument(
        "--initialisation",
        default="normal",
        help="of embeddings: normal, of 2021 (default), or xavier, of 2022",
    )
    parser.add_argument("--quick", action="store_true", help="a small grammar on the text of the project")
    given = parser.parse_args()
    if given.quick:
        # Options that are given count for more.
        parser.set_defaults(**QUICK)
        given = parser.parse_args()
        given.text = given.text or SAMPLE_TEXT
        given.gold = given.gold or [SAMPLE_GOLD]
    if not given.text or not given.gold:
        parser.error("text and --gold are needed, except with --quick")
    return given


def check_words(options: argparse.Namespace) -> None:
    if options.longest < 2:
        raise TreetokError(f"--longest must be at least 2, since one character has no tree, not {options.longest}")
    if options.min_word_count < 1:
        raise TreetokError(f"--min-word-count must be at least 1, not {options.min_word_count}")


def training_words(counts: Mapping[str, int], options: argparse.Namespace) -> TrainingWords:
    from neural_pcfg.words import TrainingWords

    try:
        return TrainingWords(counts, options.longest, options.min_word_count)
    except TreetokError as error:
        raise TreetokError(f"{error}: raise --longest, or lower --min-word-count") from None


def settings_in(options: argparse.Namespace, config: Any) -> Any:
    """A dataclass of settings, from the options of the same names."""
    names = config.__dataclass_fields__
    return config(**{name: value for name, value in vars(options).items() if name in names})


if __name__ == "__main__":
    run(main)

"""`treetok train`: train a tokenizer on a corpus and save it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from treetok import TreeTokenizer, TreetokError
from treetok.cli.amount_of_memory import parse_bytes
from treetok.cli.engine_options import (
    ENGINE_OPTIONS,
    add_engine_options,
    check_engine_options,
    cluster,
    engine_arguments,
)
from treetok.cli.help import HelpFormatter, examples
from treetok.cli.special_tokens import add_roles
from treetok.special_tokens import ROLES
from treetok.stop_signal import exit_on_termination
from treetok.storage.atomic import checked_target
from treetok.storage.format import FILES, HEAD
from treetok.text import PROFILES
from treetok.text.normalized import NORMALIZERS
from treetok.torchrun import is_first_process, is_started_by_torchrun
from treetok.vocabulary import METHODS

# The run directory, next to the tokenizer's own files.
TRAINING = "training"
# Options of the command that are not in TrainOptions.
OF_THE_COMMAND = ("corpus", "output", "quiet", "resume", "force", "run", "parser", "counts", *ENGINE_OPTIONS)
# Where `--engine daft` keeps the counts of each shard, next to the tokenizer's own files.
COUNTS = "counts"


def add_command(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "train",
        help="train a tokenizer on text files",
        description="Train a tokenizer on text: plain, .jsonl or .parquet, or packed (.gz, .xz, .bz2, .zst).",
        epilog=examples(
            "treetok train corpus/*.txt -o my-tokenizer --trees en",
            "treetok train corpus/*.jsonl.zst -o my-tokenizer --vocab-size 50000 --text-column body",
        ),
        formatter_class=HelpFormatter,
        # Options that are not given get the defaults of TrainOptions.
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("corpus", nargs="+", metavar="CORPUS", help="text files; - is standard input")
    add("-o", "--output", required=True, metavar="DIR", help="where to save the tokenizer")
    add("--vocab-size", type=int, help="total number of ids (default: 30000)")
    add(
        "--trees",
        metavar="neural|counts|MODEL",
        help="neural (default; learned from the text, needs PyTorch), counts (instant, less morphology), or"
        " a shipped name or directory: reuse the trees of that tokenizer (seconds to minutes on a CPU)",
    )
    add("--profile", choices=list(PROFILES), help="default: lossless")
    add("--profile-version", type=int, help="version of the profile's rules for splitting (default: the newest)")
    add("--normalizer", choices=NORMALIZERS, help="bring text into this normal form of Unicode first")
    add("--seed", type=int, help="seed of everything random (default: 0)")
    add("--text-column", help="text column of .jsonl and .parquet files (default: text)")
    add(
        "--special-token",
        action="append",
        dest="special_tokens",
        metavar="TOKEN",
        help="replaces the profile's own; repeatable",
    )
    add_roles(parser)
    add("--min-word-count", type=int, help="ignore words rarer than this (default: 1)")
    add("--character-coverage", type=float, help="share of characters that get tokens (default: 0.9999)")
    add(
        "--vocab",
        choices=METHODS,
        help="compact (default): fewest tokens; paper (default of --preset paper): by entropy",
    )
    add(
        "--alignment",
        type=float,
        help="0: fewest tokens, 1: every distinct word counts the same; for --vocab compact (default: 0.31)",
    )
    add(
        "--plain-names",
        action="store_true",
        help="exempt rare names (words seldom written without a capital) from --alignment: for texts much larger"
        " than the vocabulary",
    )
    add(
        "--markers",
        action=argparse.BooleanOptionalAction,
        help="have tokens that change the next one, so that it can be reused inside words and with capitals"
        " (default: yes with profile lossless and --vocab compact)",
    )
    add("--pruning-rate", type=float, help="share removed by each pruning step (default: 0.2)")
    add("--lexicon-size", type=int, help="maximum number of words stored with their trees")
    add("--memory-limit", help="memory for counting before rare words are dropped (default: 4GB)")
    add(
        "--prior",
        type=int,
        metavar="WORDS",
        help="with --trees MODEL: the model's vocabulary counts like this many words of text"
        " (default: as many as the text has, at most 2000000)",
    )
    add(
        "--force",
        action="store_true",
        default=False,
        help=f"replace the tokenizer in DIR; DIR/{TRAINING} is used again if text and settings are the same",
    )
    add(
        "--counts",
        metavar="FOLDER",
        default=None,
        help=f"with --engine daft: a folder or URL that all workers can write to, for the counts of each shard"
        f" (default: DIR/{COUNTS})",
    )
    add("--quiet", action="store_true", default=False, help="show no progress")
    add_neural_options(parser)
    add_engine_options(parser)
    parser.set_defaults(run=run, parser=parser)


def add_neural_options(parser: argparse.ArgumentParser) -> None:
    neural = parser.add_argument_group("neural trees").add_argument
    neural(
        "--preset",
        choices=["best", "fast", "tiny", "paper"],
        help="default: fast on a GPU, tiny on a CPU",
    )
    neural("--device", choices=["auto", "cpu", "cuda"], help="default: auto, a GPU if there is one")
    neural(
        "--threads",
        type=int,
        metavar="N",
        help="threads to compute with on a CPU (default: 1, which is also fastest when other programs are running;"
        " with another number the files differ)",
    )
    neural(
        "--resume",
        action="store_true",
        default=False,
        help=f"skip the stages that are done in DIR/{TRAINING}, and continue the one that was stopped",
    )
    neural(
        "--set",
        action="append",
        dest="settings",
        metavar="KEY=VALUE",
        help="override a setting of the preset, as in training.steps=2000; repeatable",
    )
    neural("--config", metavar="TOML", help="override settings of the preset from a file")
    neural("--minutes", type=float, metavar="N", help="finish the whole run within N minutes")
    neural(
        "--gold", action="append", metavar="TSV", help="watch the recall of gold morphs while training; repeatable"
    )
    neural(
        "--lexicon-text",
        action="append",
        metavar="FILE",
        help="more text whose words get trees, but no say in the vocabulary; repeatable",
    )
    neural("--checkpoint-seconds", type=float, metavar="N", help="time between checkpoints (default: 60)")


def run(arguments: argparse.Namespace) -> None:
    from treetok.pipeline import TrainOptions, train
    from treetok.pipeline.overrides import parse_setting
    from treetok.pipeline.summary import summary

    # Fail before training if the output cannot be saved.
    directory = checked_target(arguments.output, FILES, HEAD)
    if arguments.resume and getattr(arguments, "trees", "neural") != "neural":
        raise TreetokError("resume: for neural trees alone (--trees neural)")
    if not arguments.force:
        check_nothing_is_replaced(directory, arguments.resume)
    chosen = {name: value for name, value in vars(arguments).items() if name not in OF_THE_COMMAND}
    if "settings" in chosen:
        chosen["settings"] = dict(map(parse_setting, chosen["settings"]))
    if "memory_limit" in chosen:
        chosen["memory_limit"] = parse_bytes("memory_limit", chosen["memory_limit"])
    chosen["roles"] = {role: chosen.pop(role) for role in ROLES if role in chosen}
    options = TrainOptions(**chosen)
    trained = train(
        corpus_of(arguments),
        options,
        directory=directory / TRAINING if options.is_neural else None,
        resume=arguments.resume,
        force=arguments.force and options.is_neural,
        progress=not arguments.quiet,
    )
    if not is_first_process():
        return
    tokenizer = TreeTokenizer(trained.state)
    with exit_on_termination():
        tokenizer.save(arguments.output)
    if not arguments.quiet:
        print(summary(trained))
    print(f"{arguments.output}: {tokenizer.vocab_size} tokens, profile {tokenizer.profile}")


def corpus_of(arguments: argparse.Namespace) -> Any:
    check_engine_options(arguments)
    if arguments.engine is None:
        return [Path("/dev/stdin") if name == "-" else Path(name) for name in arguments.corpus]
    if "-" in arguments.corpus:
        raise TreetokError("--engine daft cannot read standard input")
    if is_started_by_torchrun():
        raise TreetokError("--engine daft cannot count in each process of torchrun: leave one of them out")
    folder = Path(arguments.output) / COUNTS if arguments.counts is None else arguments.counts
    return cluster().DaftCorpus(arguments.corpus, folder, force=arguments.force, **engine_arguments(arguments))


def check_nothing_is_replaced(directory: Path, resume: bool) -> None:
    """Refuse a directory that has a tokenizer, unless the run that made it is resumed."""
    from treetok.pipeline.run_directory import RUN

    has_run = (directory / TRAINING / RUN).exists()
    if (directory / HEAD).exists() and not (resume and has_run):
        hint = ", or --resume to continue the run that made it" if has_run else ""
        raise TreetokError(f"{directory} already has a tokenizer: pass --force to replace it{hint}")

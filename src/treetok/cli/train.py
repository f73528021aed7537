"""`treetok train`: a corpus to a tokenizer on disk."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from treetok import TreeTokenizer, TreetokError
from treetok.storage.atomic import checked_target
from treetok.storage.format import FILES, HEAD
from treetok.vocabulary import DEFAULT_ALIGNMENT, DEFAULT_METHOD

# Beside the tokenizer's own files.
CHECKPOINTS = "training"


def add_command(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "train",
        help="train a tokenizer on text files",
        description="Train a tokenizer on text: plain, .jsonl or .parquet, also packed as .gz, .xz, .bz2, .zst.",
    )
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where to save it")
    parser.add_argument("--vocab-size", type=int, default=30_000, help="number of ids in all (default: 30000)")
    parser.add_argument(
        "--trees", default="neural", help="neural (default; learned, needs treetok[train]) or counts (at once)"
    )
    parser.add_argument("--profile", default="lossless", help="lossless (default) or uncased")
    parser.add_argument("--seed", type=int, default=0, help="for what is drawn at random (default: 0)")
    parser.add_argument("--text-column", default="text", help="column of .jsonl and .parquet (default: text)")
    parser.add_argument(
        "--special-token",
        action="append",
        metavar="TOKEN",
        help="instead of the profile's own; may be repeated",
    )
    parser.add_argument("--min-word-count", type=int, default=1, help="leave rarer words out (default: 1)")
    parser.add_argument(
        "--character-coverage",
        type=float,
        default=0.9999,
        help="share of characters that get tokens (default: 0.9999)",
    )
    parser.add_argument(
        "--vocab", default=DEFAULT_METHOD, help="compact (default; the fewest tokens) or paper (by entropies)"
    )
    parser.add_argument(
        "--alignment",
        type=float,
        help="from 0, fewest tokens, to 1, all different words count alike; for compact"
        f" (default: {DEFAULT_ALIGNMENT})",
    )
    parser.add_argument(
        "--pruning-rate", type=float, default=0.2, help="share removed by each pruning step (default: 0.2)"
    )
    parser.add_argument(
        "--lexicon-size",
        type=int,
        help="words whose trees are kept (default: 1000000; 200000 with trees from counts)",
    )
    parser.add_argument(
        "--memory-limit", default="4GB", help="what counting may take before rare words go (default: 4GB)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    neural = parser.add_argument_group("neural trees")
    neural.add_argument(
        "--preset", help="fast (default on a GPU, minutes), tiny (default on a CPU, minutes) or paper (hours)"
    )
    neural.add_argument("--device", default="auto", help="auto (default: a GPU if there is one), cpu or cuda")
    neural.add_argument(
        "--resume",
        action="store_true",
        help=f"go on from the checkpoint in DIR/{CHECKPOINTS}",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    # What cannot be saved need not be trained.
    checked_target(options.output, FILES, HEAD)
    tokenizer = TreeTokenizer.train(
        [Path("/dev/stdin") if name == "-" else Path(name) for name in options.corpus],
        options.vocab_size,
        options.trees,
        options.profile,
        options.seed,
        special_tokens=options.special_token,
        text_column=options.text_column,
        min_word_count=options.min_word_count,
        character_coverage=options.character_coverage,
        vocab=options.vocab,
        alignment=options.alignment,
        pruning_rate=options.pruning_rate,
        lexicon_size=options.lexicon_size,
        memory_limit=parse_bytes(options.memory_limit),
        progress=not options.quiet,
        preset=options.preset,
        device=options.device,
        checkpoints=Path(options.output) / CHECKPOINTS if options.trees == "neural" else None,
        resume=options.resume,
    )
    if not is_first_process():
        return
    tokenizer.save(options.output)
    print(f"{options.output}: {tokenizer.vocab_size} tokens, profile {tokenizer.profile}")


def is_first_process() -> bool:
    """Of the processes that torchrun started, which all have the same tokenizer in the end, one saves it."""
    rank = os.environ.get("RANK", "0")
    return "WORLD_SIZE" not in os.environ or not rank.isdigit() or int(rank) == 0


def parse_bytes(written: str) -> int:
    """
    >>> parse_bytes("2GB"), parse_bytes("500 MB"), parse_bytes("1KiB"), parse_bytes("4096")
    (2000000000, 500000000, 1024, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?)[bB]?", written.strip())
    if not match:
        raise TreetokError(f"not an amount of memory: {written!r}; write it like 2GB or 500MB")
    thousand = 1024 if match[3] else 1000
    return int(float(match[1]) * thousand ** " kmgt".index(match[2].lower() or " "))

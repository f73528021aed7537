"""Options of `treetok train` and `treetok encode` for big corpora: which engine does the work, and where."""

from __future__ import annotations

import argparse
from typing import Any

from treetok import TreetokError
from treetok.cli.amount_of_memory import parse_bytes
from treetok.install_hint import install_hint

# Given as options, but none of the other options of a command.
ENGINE_OPTIONS = ("engine", "runner", "ray_address", "shard_size")


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "big corpora",
        "With --engine daft, inputs may also be folders, patterns and URLs (s3://, gs://, az://, https://), and"
        " are read by all cores or by a cluster. What is finished is not done again by a second run.",
    )
    group.add_argument("--engine", choices=["daft"], default=None, help=f"needs: {install_hint('cluster')}")
    group.add_argument(
        "--runner",
        choices=["native", "ray"],
        default=None,
        help="of Daft: native (this machine) or ray (a cluster); the default is DAFT_RUNNER, or native",
    )
    group.add_argument(
        "--ray-address", metavar="URL", default=None, help="of the cluster; the default is RAY_ADDRESS"
    )
    group.add_argument(
        "--shard-size",
        metavar="SIZE",
        default=None,
        help="plain text that is larger is cut into shards (default: 256MiB)",
    )


def check_engine_options(options: argparse.Namespace) -> None:
    """Refuse options that have no effect without the engine."""
    for name in ENGINE_OPTIONS[1:]:
        if options.engine is None and getattr(options, name) is not None:
            raise TreetokError(f"--{name.replace('_', '-')} is for --engine daft alone")


def engine_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of the functions of `treetok.cluster`."""
    arguments = {"runner": options.runner, "ray_address": options.ray_address}
    if options.shard_size is not None:
        arguments["shard_bytes"] = parse_bytes("shard_size", options.shard_size)
    return arguments


def cluster() -> Any:
    """The package that needs Daft."""
    try:
        import treetok.cluster
    except ImportError as error:
        raise TreetokError(f"--engine daft needs {error.name}: {install_hint('cluster')}") from None
    return treetok.cluster

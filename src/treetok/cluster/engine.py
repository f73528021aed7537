"""Daft, and which of its runners to use: `native` (all cores of this machine) or `ray` (a cluster)."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import Any

import daft
from daft.exceptions import DaftCoreException

from treetok.cluster.quiet import QUIET
from treetok.errors import TreetokError, whole_number
from treetok.install_hint import install_hint

RUNNERS = ("native", "ray")


@dataclass(frozen=True)
class Engine:
    """A runner of Daft, and how many shards it works on at once (None: one for each core)."""

    runner: str
    workers: int | None = None

    def as_udf(self, worker: type) -> Any:
        """A class of workers as one that Daft runs, each worker in a process of its own: most of the work is
        Python or holds its lock."""
        if self.runner == "native":
            return daft.cls(worker, use_process=True)
        import ray

        cpus = ray.cluster_resources()["CPU"]  # type: ignore[no-untyped-call]
        # Actors stay for all shards, and Ray replaces those that are killed.
        return daft.cls(worker, max_concurrency=self.workers or max(1, int(cpus)))


def choose_engine(
    runner: str | None = None, *, ray_address: str | None = None, threads: int | None = None
) -> Engine:
    """Choose where Daft runs in this process; it allows that once per process.

    runner: "native" or "ray"; None leaves it to Daft, which reads DAFT_RUNNER and recognises a Ray job.
    ray_address: of the cluster, as in "ray://head:10001"; None is RAY_ADDRESS or a local cluster.
    threads: how many shards are worked on at once; None is one for each core of the machine or cluster.
    """
    if runner is None:
        runner = "ray" if ray_address is not None else daft.get_or_infer_runner_type()
    if runner not in RUNNERS:
        raise TreetokError(f"unknown runner {runner!r}: choose one of {', '.join(map(repr, RUNNERS))}")
    if runner == "native" and ray_address is not None:
        raise TreetokError("the address of a Ray cluster is for the runner 'ray' alone")
    workers = None if threads is None else whole_number("threads", threads, least=1)
    try:
        if runner == "ray":
            connect(ray_address)
        else:
            daft.set_runner_native(workers)
    except DaftCoreException:
        # A runner was set before: that cannot be changed.
        now = daft.get_or_infer_runner_type()
        if now != runner:
            raise TreetokError(f"Daft already uses the runner {now!r} in this process, not {runner!r}") from None
    return Engine(runner, workers)


def connect(ray_address: str | None) -> None:
    try:
        import ray
    except ImportError:
        raise TreetokError(f"the runner 'ray' needs ray: {install_hint('cluster')}") from None
    try:
        if not ray.is_initialized():
            of_workers = {"env_vars": {name: os.environ[name] for name in QUIET}}
            ray.init(address=ray_address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=of_workers)
    except (ConnectionError, RuntimeError, ValueError) as error:
        line = str(error).strip().partition("\n")[0]
        raise TreetokError(f"cannot connect to the Ray cluster at {ray_address}: {line}") from None
    # Without the address: Ray is connected, and Daft would warn that it does not use it.
    daft.set_runner_ray(noop_if_initialized=True)

"""Run the same function on every shard: Daft schedules, in a process for each core of each machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any, Protocol

import daft
from daft import DataType, Series

from treetok.cluster.engine import Engine
from treetok.cluster.shard_folder import ShardFolder
from treetok.cluster.shards import Shard
from treetok.corpus.opening import reading_errors
from treetok.errors import TreetokError
from treetok.progress import Progress

# More are queued by Daft itself.
MOST_PARTITIONS = 10_000
ERRORS_SHOWN = 5
COLUMNS = [field.name for field in fields(Shard)]


class ShardWork(Protocol):
    """What is done with a shard. It is pickled and sent to the workers."""

    def __call__(self, shard: Shard) -> None:
        """Write the results of a shard to its folder."""


class Worker:
    """Does shards one by one. An error is a result, too, so that the other shards are still done."""

    def __init__(self, work: ShardWork, folder: ShardFolder) -> None:
        self.work, self.folder = work, folder

    @daft.method.batch(return_dtype=DataType.string(), batch_size=1)
    def error_of(self, source: Series, start: Series, stop: Series, size: Series) -> list[str | None]:
        columns = (column.to_pylist() for column in (source, start, stop, size))
        return [self._error_of(Shard(*row)) for row in zip(*columns, strict=True)]

    def _error_of(self, shard: Shard) -> str | None:
        """Do a shard; None if that succeeds."""
        try:
            # It may be: Ray gives the shards of a worker that was killed to another one.
            if not self.folder.has(shard.name):
                with reading_errors(shard.source):
                    self.work(shard)
        except TreetokError as error:
            return str(error)
        except Exception as error:
            # Damaged data can make libraries raise anything.
            return f"{shard.source}: {type(error).__name__}: {first_line(error)}"
        return None


def run_shards(
    engine: Engine,
    work: ShardWork,
    folder: ShardFolder,
    shards: Sequence[Shard],
    settings: Mapping[str, Any],
    verb: str,
    progress: Progress,
    force: bool,
) -> None:
    """Do all shards that are not done yet; `verb` is what that is called, as in "encoding".

    Raises TreetokError that names the shards that failed, after all others are done.
    """
    done = folder.prepare(settings, shards, force)
    to_do = [shard for shard in shards if shard.name not in done]
    if done:
        progress.note(f"{verb}: {len(done)} of {len(shards)} shards are done already")
    errors: list[str] = []
    finished = 0
    outcomes = run_on(engine, Worker, (work, folder), to_do)
    with progress.stage(verb, sum(shard.stop - shard.start for shard in to_do), "B") as stage:
        try:
            for shard, problem in outcomes:
                finished += 1
                if problem is not None:
                    errors.append(problem)
                    progress.note(problem)
                stage.at(stage.done + shard.stop - shard.start)
        except TreetokError:
            raise
        except Exception as error:
            raise TreetokError(
                f"{verb} stopped after {len(done) + finished - len(errors)} of {len(shards)} shards, because a"
                f" worker or the engine failed ({first_line(error)}): run it again to do the rest"
            ) from error
    folder.remove_unfinished()
    if errors:
        shown = "; ".join(errors[:ERRORS_SHOWN]) + ("; ..." if len(errors) > ERRORS_SHOWN else "")
        raise TreetokError(
            f"{len(errors)} of {len(shards)} shards failed, the others are done; repair them, then run it again to"
            f" do only these: {shown}"
        )


def run_on(
    engine: Engine, worker: type[Worker], arguments: tuple[Any, ...], shards: Sequence[Shard]
) -> Iterator[tuple[Shard, str | None]]:
    """The shards in the order in which they are finished, with the error of each."""
    if not shards:
        return
    rows = zip(*map(astuple, shards), strict=True)
    frame = daft.from_pydict(
        {"number": list(range(len(shards))), **dict(zip(COLUMNS, map(list, rows), strict=True))}
    )
    if engine.runner == "ray":
        # A partition goes to one machine.
        frame = frame.into_partitions(min(len(shards), MOST_PARTITIONS))
    workers = engine.as_udf(worker)(*arguments)
    frame = frame.select("number", workers.error_of(*(frame[name] for name in COLUMNS)).alias("error"))
    with daft.execution_config_ctx(maintain_order=False):
        for row in frame.iter_rows(results_buffer_size=None):
            yield shards[row["number"]], row["error"]


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

"""Count the words of every shard, and merge the counts: a corpus to train on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import daft
import pyarrow
from daft import col

from treetok.cluster.engine import choose_engine
from treetok.cluster.read_shard import check_text_column, open_shard, open_source, sha256_of, texts_of
from treetok.cluster.run_shards import run_shards
from treetok.cluster.shard_folder import ShardFolder
from treetok.cluster.shards import DEFAULT_SHARD_BYTES, Shard, cut_into_shards
from treetok.cluster.sources import Source, list_sources
from treetok.corpus.counting import LARGEST_TOTAL, WordCounter, rarest_to_drop
from treetok.corpus.opening import reading_errors
from treetok.corpus.reading import texts_in
from treetok.corpus.sharded import CountedCorpus, ShardedCorpus
from treetok.errors import TreetokError
from treetok.progress import Progress
from treetok.text import Profile, profile_named

SCHEMA = pyarrow.schema([("word", pyarrow.string()), ("count", pyarrow.int64())])


class DaftCorpus(ShardedCorpus):
    """A corpus to train on, counted shard by shard: `TreeTokenizer.train(DaftCorpus(...), ...)` gives the same
    tokenizer as training on the files themselves."""

    def __init__(
        self,
        inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        folder: str | os.PathLike[str],
        *,
        runner: str | None = None,
        ray_address: str | None = None,
        threads: int | None = None,
        shard_bytes: int = DEFAULT_SHARD_BYTES,
        force: bool = False,
    ) -> None:
        """
        inputs: files, folders, patterns and URLs, in any format that is read elsewhere.
        folder: for the counts of each shard, where all workers can write; a later run counts only what is new.
        runner, ray_address, threads: see `choose_engine`.
        shard_bytes: larger files are cut, if they are plain text.
        force: replace counts that were made with other settings or of other inputs.
        """
        self.engine = choose_engine(runner, ray_address=ray_address, threads=threads)
        self.sources = list_sources(inputs)
        self.folder = ShardFolder(folder)
        self.shard_bytes, self.force = shard_bytes, force
        self.io_config = daft.get_context().daft_planning_config.default_io_config

    def count(self, profile: Profile, text_column: str, memory_limit: int, progress: Progress) -> CountedCorpus:
        shards = cut_into_shards(dict.fromkeys(self.sources), self.shard_bytes)
        settings = {
            "task": "count",
            "profile": [profile.name, profile.version],
            "text_column": text_column,
            "memory_limit": memory_limit,
            "shard_bytes": self.shard_bytes,
        }
        work = CountWords(self.folder, profile.name, profile.version, text_column, memory_limit, self.io_config)
        check_text_column(shards, text_column, self.io_config)
        run_shards(self.engine, work, self.folder, shards, settings, "counting words", progress, self.force)
        facts = dict(zip(shards, self.folder.facts(shard.name for shard in shards), strict=True))
        sha256 = {shard.source: facts[shard]["sha256"] for shard in shards if shard.start == 0}
        counts, dropped = merge(self.folder, self._with_repeats(shards), profile, memory_limit)
        return CountedCorpus(
            counts=counts,
            dropped=dropped + sum(fact["dropped"] for fact in facts.values()),
            digests=[bytes.fromhex(sha256[source.name]) for source in self.sources],
            texts=_Texts(self.sources, text_column, self.io_config),
        )

    def _with_repeats(self, shards: Sequence[Shard]) -> list[Shard]:
        """A file that is given twice counts twice."""
        times: dict[str, int] = {}
        for source in self.sources:
            times[source.name] = times.get(source.name, 0) + 1
        return [shard for shard in shards for _ in range(times[shard.source])]


@dataclass(frozen=True)
class CountWords:
    """Counts the words of a shard; of the first shard of a file, also the SHA-256 of all of it."""

    folder: ShardFolder
    profile: str
    profile_version: int
    text_column: str
    memory_limit: int
    io_config: Any

    def __call__(self, shard: Shard) -> None:
        counter = WordCounter(profile_named(self.profile, self.profile_version), self.memory_limit)
        with open_shard(shard, self.io_config) as raw:
            for text in texts_of(raw, shard, self.text_column):
                counter.add(text)
        counts = counter.counts()
        table = pyarrow.table([list(counts), list(counts.values())], schema=SCHEMA)
        sha256 = sha256_of(shard.source, self.io_config) if shard.start == 0 else None
        self.folder.write(shard.name, SCHEMA, [table], lambda: {"dropped": counter.dropped, "sha256": sha256})


def merge(
    folder: ShardFolder, shards: Sequence[Shard], profile: Profile, memory_limit: int
) -> tuple[dict[str, int], int]:
    """The sum of the counts of all shards, sorted by word, and how many words were dropped to save memory."""
    counter = WordCounter(profile, memory_limit)
    each = daft.read_parquet([folder.url(shard.name) for shard in shards])
    frame = each.groupby("word").agg(col("count").sum()).collect()
    distinct = frame.count_rows()
    dropped = 0
    if distinct > counter.max_words:
        rows = frame.groupby("count").agg(col("word").count()).to_pydict()
        rarest = rarest_to_drop(dict(zip(rows["count"], rows["word"], strict=True)), counter.max_words // 2)
        frame = frame.where(col("count") > daft.lit(rarest)).collect()
        dropped = distinct - frame.count_rows()
    table = frame.to_arrow().sort_by("word")
    counts = dict(zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True))
    if sum(counts.values()) > LARGEST_TOTAL:
        raise TreetokError(f"the counts add up to more than {LARGEST_TOTAL}")
    return counts, dropped


@dataclass(frozen=True)
class _Texts:
    """The running text, in order, read by this process."""

    sources: Sequence[Source]
    text_column: str
    io_config: Any

    def __call__(self) -> Iterator[str]:
        for source in self.sources:
            with reading_errors(source.name), open_source(source.name, self.io_config) as raw:
                yield from texts_in(raw, source.name, self.text_column)

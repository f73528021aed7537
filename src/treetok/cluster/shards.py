"""Which part of which file is one unit of work.

Plain text that is not compressed can be cut anywhere between words, so large files become several shards. Any
other file is one shard: compressed text can only be read from its start, and rows are numbered from it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from treetok.cluster.sources import Source
from treetok.corpus.reading import compression_of, has_rows
from treetok.errors import TreetokError

DEFAULT_SHARD_BYTES = 256 << 20
SMALLEST_SHARD_BYTES = 1 << 10
LONGEST_STEM = 100


@dataclass(frozen=True)
class Shard:
    """The bytes of a file from `start` to `stop`, each moved on to the next end of a word; `size` is that of the
    whole file."""

    source: str
    start: int
    stop: int
    size: int

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == self.size

    @property
    def name(self) -> str:
        """The name of the file with its results, which is the same in every run.

        >>> Shard("/data/news.txt.xz", 0, 10, 10).name
        'news.txt.xz-ab7eb6d3b4b4.parquet'
        """
        stem = re.sub(r"[^\w.-]", "_", PurePosixPath(self.source.partition("?")[0]).name, flags=re.ASCII)
        digest = hashlib.sha256(self.source.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        part = "" if self.is_whole else f"-{self.start:013d}"
        return f"{stem[-LONGEST_STEM:].lstrip('._')}-{digest}{part}.parquet"


def cut_into_shards(sources: Iterable[Source], shard_bytes: int) -> list[Shard]:
    """
    >>> [(shard.start, shard.stop) for shard in cut_into_shards([Source("a.txt", 5000)], 2000)]
    [(0, 1667), (1667, 3334), (3334, 5000)]
    """
    if shard_bytes < SMALLEST_SHARD_BYTES:
        raise TreetokError(f"a shard must have at least {SMALLEST_SHARD_BYTES} bytes, not {shard_bytes}")
    shards = []
    for source in sources:
        can_be_cut = not has_rows(source.name) and not compression_of(source.name)
        parts = -(-source.size // shard_bytes) if can_be_cut else 1
        step = -(-source.size // max(parts, 1))
        for start in range(0, source.size, step) if parts > 1 else [0]:
            stop = min(start + step, source.size)
            shards.append(Shard(source.name, start, stop, source.size))
    return shards

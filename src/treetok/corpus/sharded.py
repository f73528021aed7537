"""A corpus that is counted elsewhere, shard by shard, as on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treetok.progress import Progress
from treetok.text import Profile


@dataclass(frozen=True)
class CountedCorpus:
    """
    counts: the words of the corpus, sorted.
    dropped: how many rare words were dropped to save memory.
    digests: the SHA-256 of each file.
    texts: reads the running text, in order.
    """

    counts: dict[str, int]
    dropped: int
    digests: list[bytes]
    texts: Callable[[], Iterator[str]]


class ShardedCorpus(ABC):
    @abstractmethod
    def count(self, profile: Profile, text_column: str, memory_limit: int, progress: Progress) -> CountedCorpus:
        """Count all words; the counts are those of `count_words` if none have to be dropped to save memory."""

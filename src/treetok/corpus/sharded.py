"""A corpus that is counted elsewhere: shard by shard, as on a cluster, or before."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from treetok.errors import TreetokError
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


class CountedWords(ShardedCorpus):
    """Words as a profile splits them, such as `count_words` returns.

    A plain mapping holds bare words instead, which are counted as in running text: behind a space. Here `surf` and
    ` surf` stay two words.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(sorted(counts.items()))

    def count(self, profile: Profile, text_column: str, memory_limit: int, progress: Progress) -> CountedCorpus:
        digest = hashlib.sha256()
        for word, times in self._counts.items():
            digest.update(f"{word}\t{times}\n".encode())
        return CountedCorpus(self._counts, 0, [digest.digest()], no_running_text)


def no_running_text() -> Iterator[str]:
    raise TreetokError("trees='neural' are learned from running text, not from word counts")

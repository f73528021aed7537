"""A corpus of words that a profile has split and counted before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from treetok.corpus.sharded import CountedCorpus, ShardedCorpus
from treetok.errors import TreetokError
from treetok.progress import Progress
from treetok.text import Profile


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

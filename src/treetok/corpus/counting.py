"""Count the words of a corpus. Memory grows with the number of distinct words, not with the size of the text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetok.corpus.reading import read_texts
from treetok.errors import TreetokError, whole_number
from treetok.native import PROFILE_NUMBERS, core, why_not_native
from treetok.progress import Progress
from treetok.text import Profile, check_encodable

if TYPE_CHECKING:
    from treetok import _core

# Approximate size of one dictionary entry: the slot, the string and the count.
BYTES_PER_WORD = 160
DEFAULT_MEMORY_LIMIT = 4_000_000_000
MAX_CHUNKS = 500_000
# A word has up to 64 characters, and sums over characters must fit in 64 bits.
LARGEST_TOTAL = 10**15
# Characters of a text in an error message.
LONGEST_SHOWN = 40


def native_counter(profile: Profile) -> _core.WordCounter | None:
    if why_not_native() is not None:
        return None
    counter: _core.WordCounter = core().WordCounter(PROFILE_NUMBERS[profile.name, profile.version])
    return counter


class WordCounter:
    """Counts words as text comes in.

    When the words would take more than `memory_limit` bytes, the rarest are dropped, and `dropped` counts them.

    In plain Python, text is first split at spaces, which is fast, and these chunks are counted; only distinct
    chunks are normalised and split into words.
    """

    def __init__(self, profile: Profile, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> None:
        max_entries = memory_limit // BYTES_PER_WORD
        if max_entries < 1000:
            raise TreetokError(f"a memory limit of {memory_limit} bytes is too small to count words")
        self.profile = profile
        self.max_chunks = min(MAX_CHUNKS, max_entries // 4)
        self.max_words = max_entries - self.max_chunks
        self.dropped = 0
        self._native = native_counter(profile)
        self._chunks: Counter[str] = Counter()
        self._words: Counter[str] = Counter()

    def add(self, text: str) -> None:
        check_encodable(text)
        if self._native is not None:
            self._add_natively(self.profile.normalise(text), 1)
            return
        self._chunks.update(self.profile.chunks(text))
        if len(self._chunks) > self.max_chunks:
            self._flush_chunks()

    def add_word(self, word: str, times: int) -> None:
        """Count a bare word as if it occurred in running text."""
        check_encodable(word)
        times = whole_number(f"the count of {word!r}", times, least=0)
        if times > LARGEST_TOTAL:
            raise TreetokError(f"the counts add up to more than {LARGEST_TOTAL}")
        if times and self._native is not None:
            self._add_natively(self.profile.normalise(self.profile.in_running_text(word)), times)
        elif times:
            self._chunks[self.profile.in_running_text(word)] += times
        if len(self._chunks) > self.max_chunks:
            self._flush_chunks()

    def _add_natively(self, text: str, times: int) -> None:
        assert self._native is not None
        self._native.add(text, times)
        if len(self._native) > self.max_words:
            self.dropped += self._native.drop_rare(self.max_words // 2)

    def counts(self) -> dict[str, int]:
        """Words and their counts, sorted by word."""
        self._flush_chunks()
        counts = dict(sorted(self._words.items())) if self._native is None else self._native.counts()
        if sum(counts.values()) > LARGEST_TOTAL:
            raise TreetokError(f"the counts add up to more than {LARGEST_TOTAL}")
        return counts

    def _flush_chunks(self) -> None:
        """Split the chunks counted so far into words."""
        words = self._words
        for chunk, times in self._chunks.items():
            for word in self.profile.split(chunk):
                words[word] += times
            if len(words) > self.max_words:
                words = self._words = self._without_rare_words()
        self._chunks.clear()

    def _without_rare_words(self) -> Counter[str]:
        """Drop the rarest words, all words of equal count together, until at most half of `max_words` remain."""
        words_with_count = Counter(self._words.values())
        remaining = len(self._words)
        rarest = 0
        while remaining > self.max_words // 2:
            rarest = min(count for count in words_with_count if count > rarest)
            remaining -= words_with_count[rarest]
        self.dropped += len(self._words) - remaining
        return Counter({word: times for word, times in self._words.items() if times > rarest})


def count_words(
    corpus: Any,
    profile: Profile,
    *,
    text_column: str = "text",
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    progress: Progress | None = None,
) -> WordCounter:
    """Count the words in files, in texts, or in a mapping from words to counts.

    Path objects are files; strings in an iterable are texts, whatever they look like; a lone string is refused.
    """
    progress = progress or Progress(None)
    counter = WordCounter(profile, memory_limit)
    if isinstance(corpus, Mapping):
        for word, times in corpus.items():
            counter.add_word(word, times)
        return counter
    for text in texts_of(corpus, text_column, progress, "counting words"):
        counter.add(text)
    return counter


def texts_of(corpus: Any, text_column: str, progress: Progress, what: str) -> Iterator[Any]:
    """Yield the texts of a corpus of paths or texts, piece by piece; `what` names the stage for progress."""
    items = paths_or_texts(corpus)
    files = [item for item in items if isinstance(item, Path)] if isinstance(items, list) else []
    try:
        for path in files:
            if not path.exists():
                raise TreetokError(f"no such file: {path}")
        total = sum(path.stat().st_size for path in files) if files else None
    except OSError as error:
        raise TreetokError(f"cannot read {error.filename}: {error.strerror}") from None
    with progress.stage(what, total, "B" if files else "texts") as stage:
        done = 0
        for item in items:
            if isinstance(item, os.PathLike):
                path = Path(item)
                yield from read_texts(path, text_column, partial(stage.at_offset, done))
                done += path.stat().st_size
            else:
                yield item
                done += 1
            stage.at(done)


def to_be_read_twice(corpus: Any, text_column: str) -> list[Any]:
    """A corpus of paths and texts that can be read more than once: input from generators, pipes or standard input
    is kept in memory."""
    items: list[Any] = []
    for item in paths_or_texts(corpus):
        if isinstance(item, os.PathLike) and Path(item).exists() and not Path(item).is_file():
            items += read_texts(Path(item), text_column)
        else:
            items.append(item)
    return items


def paths_or_texts(corpus: Any) -> Iterable[Any]:
    """The files (as Path objects) and texts of a corpus; a list unless it comes from a generator.

    >>> paths_or_texts(Path("news.txt")), paths_or_texts(["news.txt"])
    ([PosixPath('news.txt')], ['news.txt'])
    """
    check_corpus(corpus)
    if isinstance(corpus, os.PathLike):
        return [Path(corpus)]
    items = (Path(item) if isinstance(item, os.PathLike) else item for item in corpus)
    return list(items) if isinstance(corpus, list | tuple) else items


def check_corpus(corpus: Any) -> None:
    """Raise an error if this cannot be a corpus."""
    if isinstance(corpus, str):
        shown = corpus if len(corpus) <= LONGEST_SHOWN else corpus[:LONGEST_SHOWN] + "…"
        raise TreetokError(
            f"a corpus cannot be a single string ({shown!r}): pass pathlib.Path(...) for a file, [text] for a text"
        )
    if isinstance(corpus, bytes) or not isinstance(corpus, Iterable | os.PathLike):
        raise TreetokError(f"a corpus must be paths, texts or word counts, not {type(corpus).__name__}")

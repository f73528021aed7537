"""Count the words of a corpus. Memory grows with the number of distinct words, not with the size of the text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from treetok.corpus.reading import KNOWN_SUFFIXES, read_texts
from treetok.errors import TreetokError, whole_number
from treetok.progress import Progress
from treetok.text import Profile, check_encodable

# Approximate size of one dictionary entry: the slot, the string and the count.
BYTES_PER_WORD = 160
DEFAULT_MEMORY_LIMIT = 4_000_000_000
MAX_CHUNKS = 500_000
# A word has up to 64 characters, and sums over characters must fit in 64 bits.
LARGEST_TOTAL = 10**15


class WordCounter:
    """Counts words as text comes in.

    Text is first split at spaces, which is fast, and these chunks are counted; only distinct chunks are normalised
    and split into words. When the words would take more than `memory_limit` bytes, the rarest are dropped, and
    `dropped` counts them.
    """

    def __init__(self, profile: Profile, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> None:
        max_entries = memory_limit // BYTES_PER_WORD
        if max_entries < 1000:
            raise TreetokError(f"a memory limit of {memory_limit} bytes is too small to count words")
        self.profile = profile
        self.max_chunks = min(MAX_CHUNKS, max_entries // 4)
        self.max_words = max_entries - self.max_chunks
        self.dropped = 0
        self._chunks: Counter[str] = Counter()
        self._words: Counter[str] = Counter()

    def add(self, text: str) -> None:
        check_encodable(text)
        self.add_chunks(self.profile.chunks(text))

    def add_chunks(self, chunks: Iterable[str]) -> None:
        """Count chunks of text as returned by `Profile.chunks`."""
        self._chunks.update(chunks)
        if len(self._chunks) > self.max_chunks:
            self._flush_chunks()

    def add_word(self, word: str, times: int) -> None:
        """Count a bare word as if it occurred in running text."""
        check_encodable(word)
        times = whole_number(f"the count of {word!r}", times, least=0)
        if times:
            self._chunks[self.profile.in_running_text(word)] += times
        if len(self._chunks) > self.max_chunks:
            self._flush_chunks()

    def counts(self) -> dict[str, int]:
        """Words and their counts, sorted by word."""
        self._flush_chunks()
        if self._words.total() > LARGEST_TOTAL:
            raise TreetokError(f"the counts add up to more than {LARGEST_TOTAL}")
        return dict(sorted(self._words.items()))

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

    A single string or path object names a file. In a list, path objects name files; a string names a file if that
    file exists or if it looks like the name of a corpus file (a missing one is then an error), otherwise it is a
    text. The strings of a generator are texts unless the first one names a file.
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
            items += map(Text, read_texts(Path(item), text_column))
        else:
            items.append(Text(item) if isinstance(item, str) else item)
    return items


class Text(str):
    """A string that is always a text, even if it looks like a file name."""

    __slots__ = ()


def paths_or_texts(corpus: Any) -> Iterable[Any]:
    """Convert file names to Path objects. The strings of a corpus are either all paths or all texts."""
    if isinstance(corpus, str | os.PathLike):
        return [Path(corpus)]
    if isinstance(corpus, bytes) or not isinstance(corpus, Iterable):
        raise TreetokError(f"a corpus must be paths, texts or word counts, not {type(corpus).__name__}")
    if not isinstance(corpus, list | tuple):
        rest = iter(corpus)
        first = list(islice(rest, 1))
        if not (first and isinstance(first[0], str) and names_a_file(first[0])):
            return chain(first, rest)
        corpus = [*first, *rest]
    strings = [item for item in corpus if isinstance(item, str) and not isinstance(item, Text)]
    files = [string for string in strings if names_a_file(string)]
    if files and len(files) < len(strings):
        text = next(string for string in strings if string not in files)
        raise TreetokError(
            f"the corpus mixes files ({files[0]!r}) and texts ({text[:40]!r}): give files as Path objects,"
            " or texts as a generator whose first item is a text"
        )
    return [
        Path(item) if isinstance(item, os.PathLike) or (files and not isinstance(item, Text)) else item
        for item in corpus
    ]


def names_a_file(string: str) -> bool:
    """Whether a string is the name of an existing file or looks like the name of a corpus file.

    >>> names_a_file("corpora/news.txt.xz"), names_a_file("Walkers walked.")
    (True, False)
    """
    if "\n" in string or len(string) > 1000 or "\0" in string:
        return False
    if string.lower().endswith(KNOWN_SUFFIXES) and " " not in string:
        return True
    try:
        return Path(string).is_file()
    except OSError:
        # Too long for a file name.
        return False

"""Counting the words of a corpus. Memory grows with the number of distinct words, not with the text."""

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

# What one entry of a dictionary of words takes: its slot, the string, the number.
BYTES_PER_WORD = 160
DEFAULT_MEMORY_LIMIT = 4 << 30
MOST_CHUNKS = 500_000
# A word has up to 64 characters, and what is counted per character must fit into 64 bits.
LARGEST_TOTAL = 10**15


class WordCounter:
    """Counts words as text comes in.

    Text is first cut at spaces, which is quick, and these chunks are counted; only distinct chunks are
    normalised and split into words. When the words would take more than `memory_limit` bytes, the rarest are
    dropped: `dropped` says how many.
    """

    def __init__(self, profile: Profile, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> None:
        most_entries = memory_limit // BYTES_PER_WORD
        if most_entries < 1000:
            raise TreetokError(f"a memory limit of {memory_limit} bytes is too small to count words")
        self.profile = profile
        self.most_chunks = min(MOST_CHUNKS, most_entries // 4)
        self.max_words = most_entries - self.most_chunks
        self.dropped = 0
        self._chunks: Counter[str] = Counter()
        self._words: Counter[str] = Counter()

    def add(self, text: str) -> None:
        check_encodable(text)
        self.add_chunks(self.profile.chunks(text))

    def add_chunks(self, chunks: Iterable[str]) -> None:
        """Chunks of text as `Profile.chunks` gives them."""
        self._chunks.update(chunks)
        if len(self._chunks) > self.most_chunks:
            self._settle()

    def add_word(self, word: str, times: int) -> None:
        """Count a bare word as if it stood in running text."""
        check_encodable(word)
        times = whole_number(f"the count of {word!r}", times, least=0)
        if times:
            self._chunks[self.profile.in_running_text(word)] += times
        if len(self._chunks) > self.most_chunks:
            self._settle()

    def counts(self) -> dict[str, int]:
        """The words and how often each occurs, in the order of the words."""
        self._settle()
        if self._words.total() > LARGEST_TOTAL:
            raise TreetokError(f"the counts add up to more than {LARGEST_TOTAL}")
        return dict(sorted(self._words.items()))

    def _settle(self) -> None:
        """Turn the chunks counted so far into words."""
        words = self._words
        for chunk, times in self._chunks.items():
            for word in self.profile.split(chunk):
                words[word] += times
            if len(words) > self.max_words:
                words = self._words = self._without_rare_words()
        self._chunks.clear()

    def _without_rare_words(self) -> Counter[str]:
        """The words less the rarest, all of one count together, so that half of the room is free."""
        how_many_of_count = Counter(self._words.values())
        left = len(self._words)
        rarest = 0
        while left > self.max_words // 2:
            rarest = min(count for count in how_many_of_count if count > rarest)
            left -= how_many_of_count[rarest]
        self.dropped += len(self._words) - left
        return Counter({word: times for word, times in self._words.items() if times > rarest})


def count_words(
    corpus: Any,
    profile: Profile,
    *,
    text_column: str = "text",
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    progress: Progress | None = None,
) -> WordCounter:
    """Count the words of paths, of texts, or of a mapping from words to counts.

    A string or a path object names a file. Of several, path objects name files; strings do when a file of that
    name exists or when they look like the name of a corpus file (then a missing one is an error), else they are
    texts. A generator of strings gives texts unless its first string names a file.
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
    """The texts of a corpus of paths or texts, piece by piece; progress is shown as that of `what`."""
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
    """A corpus of paths and texts that can be gone through more than once: what comes from generators, pipes or
    standard input is kept in memory."""
    items: list[Any] = []
    for item in paths_or_texts(corpus):
        if isinstance(item, os.PathLike) and Path(item).exists() and not Path(item).is_file():
            items += map(Text, read_texts(Path(item), text_column))
        else:
            items.append(Text(item) if isinstance(item, str) else item)
    return items


class Text(str):
    """A string that is a text, whatever it looks like."""

    __slots__ = ()


def paths_or_texts(corpus: Any) -> Iterable[Any]:
    """Path objects for what names files, all else as it is. Strings are either all paths or all texts."""
    if isinstance(corpus, str | os.PathLike):
        return [Path(corpus)]
    if isinstance(corpus, bytes) or not isinstance(corpus, Iterable):
        raise TreetokError(f"a corpus is paths, texts or word counts, not {type(corpus).__name__}")
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
            " or texts one by one from a generator that begins with a text"
        )
    return [
        Path(item) if isinstance(item, os.PathLike) or (files and not isinstance(item, Text)) else item
        for item in corpus
    ]


def names_a_file(string: str) -> bool:
    """
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
        # Too long for a name.
        return False

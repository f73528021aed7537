"""The first stage: read the text once, count its words and, for neural trees, convert it to word ids."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treetok.corpus.counting import WordCounter, count_words, paths_or_texts, texts_of
from treetok.corpus.opening import check_unchanged, opened
from treetok.corpus.sharded import CountedCorpus
from treetok.corpus.word_ids import SequenceBuilder, WordSequence
from treetok.errors import TreetokError, TreetokWarning
from treetok.pipeline.artefacts import JSON, WORD_COUNTS, WORD_IDS, Format
from treetok.pipeline.options import TrainOptions
from treetok.pipeline.run_directory import Made, Run
from treetok.progress import Progress
from treetok.text import Profile

WORDS, IDS, LEXICON_WORDS, FIGURES = "words.tsv", "word_ids.safetensors", "lexicon_words.tsv", "words.json"


@dataclass(frozen=True)
class CountedText:
    """
    counts: the words of the text, as split by the profile.
    lexicon_counts: the words of the text that is used for the lexicon only.
    sequence: reads the running words as ids; for neural trees.
    """

    counts: dict[str, int]
    lexicon_counts: dict[str, int]
    figures: dict[str, Any]
    sha256: dict[str, str]
    artefacts: Any

    def sequence(self) -> WordSequence:
        sequence: WordSequence = self.artefacts[IDS]
        return sequence


def count_text(
    corpus: Any, options: TrainOptions, run: Run, progress: Progress, max_words: int = 0
) -> CountedText:
    """Read the corpus once. `max_words` is the maximum number of running words to keep, in order; 0 keeps none."""
    profile = options.text_profile
    formats: dict[str, Format[Any]] = {WORDS: WORD_COUNTS, FIGURES: JSON}
    if max_words:
        formats |= {IDS: WORD_IDS, LEXICON_WORDS: WORD_COUNTS}
    inputs = {
        "text": run.identity.get("text"),
        "lexicon_text": fingerprint(options.lexicon_text),
        "profile": [options.profile, options.profile_version],
        **({"normalizer": options.normalizer} if options.normalizer else {}),
        "text_column": options.text_column,
        "memory_limit": options.memory_limit,
        "max_words": max_words,
    }

    def work() -> Made:
        counter = WordCounter(profile, options.memory_limit)
        builder = SequenceBuilder(profile, max_words)
        if isinstance(corpus, CountedCorpus):
            counts, dropped = corpus.counts, corpus.dropped
            for text in corpus.texts() if max_words else ():
                builder.add(profile.chunks(text))
                if builder.is_full():
                    break
        else:
            if isinstance(corpus, Mapping):
                counter = count_words(corpus, profile, memory_limit=options.memory_limit)
            else:
                for text in texts_of(corpus, options.text_column, progress, "counting words"):
                    counter.add(text)
                    if max_words and not builder.is_full():
                        builder.add(profile.chunks(text))
            counts, dropped = counter.counts(), counter.dropped
        frequent_words(counts, options.min_word_count)
        figures = {"words": sum(counts.values()), "distinct_words": len(counts), "dropped_words": dropped}
        if dropped:
            warnings.warn(
                f"{dropped} rare words were dropped to stay within {options.memory_limit} bytes",
                TreetokWarning,
                stacklevel=5,
            )
        made: dict[str, Any] = {WORDS: counts, FIGURES: figures}
        if max_words:
            further = count_further(options, profile, progress)
            made |= {IDS: builder.sequence(), LEXICON_WORDS: further}
            if further:
                figures["lexicon_words"] = len(further)
        return made, figures

    artefacts = run.stage("words", inputs, formats, work)
    return CountedText(
        artefacts[WORDS],
        artefacts[LEXICON_WORDS] if max_words else {},
        artefacts[FIGURES],
        artefacts.sha256,
        artefacts,
    )


def count_further(options: TrainOptions, profile: Profile, progress: Progress) -> dict[str, int]:
    """The words of the text that is used for the lexicon only."""
    if not options.lexicon_text:
        return {}
    limit, column = options.memory_limit, options.text_column
    paths = list(options.lexicon_text)
    return count_words(paths, profile, text_column=column, memory_limit=limit, progress=progress).counts()


def frequent_words(counts: Mapping[str, int], min_word_count: int) -> dict[str, int]:
    words = {word: count for word, count in counts.items() if count >= min_word_count}
    if not words:
        raise TreetokError("the corpus has no words" + (" that are frequent enough" if min_word_count > 1 else ""))
    return words


def fingerprint(items: Any) -> str:
    """The SHA-256 of a file or text; of several, a SHA-256 over all of theirs."""
    return combined(list(digests(items)))


def combined(parts: list[bytes]) -> str:
    return parts[0].hex() if len(parts) == 1 else hashlib.sha256(b"".join(parts)).hexdigest()


class HashedCorpus:
    """A corpus to be read once. Texts from a generator are hashed as they come by, and not kept in memory.

    items: what to read instead of the corpus.
    """

    def __init__(self, corpus: Any) -> None:
        found = paths_or_texts(corpus)
        self._digests: list[bytes] = []
        self._hashed_files: list[tuple[Path, os.stat_result]] = []
        self._has_pipe = False
        if isinstance(found, list):
            self.items: Any = found
            for item in self.items:
                self._add(item)
        else:
            self.items = self._hashed(found)

    def _hashed(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._add(item)
            yield item

    def _add(self, item: Any) -> None:
        path = Path(item) if isinstance(item, os.PathLike) else None
        # A pipe can be read only once.
        if path is not None and path.exists() and not (path.is_file() or path.is_dir()):
            self._has_pipe = True
            return
        if path is not None and path.is_file():
            self._hashed_files.append((path, path.stat()))
        self._digests += digests([item])

    def sha256(self) -> str:
        """As `fingerprint`, in any order of files and texts; empty where part of the text came from a pipe. Raises
        TreetokError if a file is no longer what was hashed."""
        for path, before in self._hashed_files:
            check_unchanged(path, before)
        return "" if self._has_pipe else combined(sorted(self._digests))


def digests(items: Any) -> Iterator[bytes]:
    if isinstance(items, Mapping):
        items = [f"{word}\t{count}" for word, count in sorted(items.items(), key=str)]
    for item in items:
        if isinstance(item, os.PathLike):
            with opened(Path(item)) as file:
                yield hashlib.file_digest(file, "sha256").digest()
        else:
            yield hashlib.sha256(str(item).encode("utf-8", "surrogatepass")).digest()

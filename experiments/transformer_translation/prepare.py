"""The first step: split the pairs, train the tokenizers, and encode.

Everything is written to a folder. `PAIRS` is all that training needs; scoring needs `TEXTS` and `TOKENIZERS` too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from lineup_options import listed
from transformer_translation.encoded_pairs import EncodedPairs, EncodedSentences
from transformer_translation.parallel_text import LANGUAGES, PairSets, held_out_part, kept_apart, read_pairs
from transformer_translation.subwords import (
    KINDS,
    PROFILE,
    BpeSubwords,
    Subwords,
    running_text,
    save_subwords,
)
from treetok import TreeTokenizer
from treetok.corpus.counted_words import CountedWords
from treetok.corpus.counting import count_words
from treetok.errors import TreetokError
from treetok.progress import Progress
from treetok.text import profile_named

PAIRS, TEXTS, TOKENIZERS = "pairs.npz", "texts.json", "tokenizers"
# Options that the files depend on.
SETTINGS = (
    "training_sets", "development_set", "test_sets", "held_out_from", "held_out_sentences", "most_bytes",
    "vocab_size", "alignment", "english_trees", "german_trees", "tokenizer_text_en", "tokenizer_text_de",
)  # fmt: skip


def prepare(options: argparse.Namespace) -> None:
    """Write all files, unless they are there."""
    texts_file, pairs_file = options.folder / TEXTS, options.folder / PAIRS
    if options.data is None or options.german_trees is None:
        if pairs_file.exists():
            return
        raise TreetokError("pairs are made of --data, with --german-trees for the German tokenizer")
    settings = {name: plain(getattr(options, name)) for name in SETTINGS}
    if pairs_file.exists():
        if json.loads(texts_file.read_text(encoding="utf-8"))["settings"] == settings:
            return
        raise TreetokError(f"{options.folder} was prepared with other options: choose another folder")
    sets = pair_sets(options)
    subwords = train_subwords(sets, options)
    sizes = {f"{language} {kind}": trained.vocab_size for (language, kind), trained in subwords.items()}
    if len(set(sizes.values())) > 1:
        raise TreetokError(f"the tokenizers differ in size: {sizes}; choose a smaller --vocab-size")
    for (language, kind), trained in subwords.items():
        save_subwords(trained, options.folder / TOKENIZERS, language, kind)
    content = {
        "settings": settings,
        "pairs": {"training": len(sets.training), "development": len(sets.development)},
        "removed": sets.removed,
        "tests": sets.tests,
    }
    texts_file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    # Last: where this file is, the others are.
    encoded_pairs(sets, subwords).save(pairs_file)


def plain(value: Any) -> Any:
    """An option as JSON; of paths, the names."""
    return [path.name for path in value] if isinstance(value, list) else value


def pair_sets(options: argparse.Namespace) -> PairSets:
    tests = {name: read_pairs(options.data, name) for name in listed(options.test_sets)}
    training = []
    for name in listed(options.training_sets):
        pairs = read_pairs(options.data, name)
        if name == options.held_out_from and options.held_out_sentences:
            try:
                tests[name], pairs = held_out_part(pairs, options.held_out_sentences)
            except TreetokError as error:
                raise TreetokError(f"--held-out-sentences: {error} in {name!r}") from None
        training += pairs
    development = read_pairs(options.data, options.development_set)
    return kept_apart(training, development, tests, options.most_bytes)


def train_subwords(sets: PairSets, options: argparse.Namespace) -> dict[tuple[str, str], Subwords]:
    """The tokenizers of both languages, by language and kind."""
    trained: dict[tuple[str, str], Subwords] = {}
    for number, language in enumerate(LANGUAGES):
        counts = word_counts(
            [running_text(pair[number]) for pair in sets.training], getattr(options, f"tokenizer_text_{language}")
        )
        trained[language, "bpe"] = BpeSubwords.train(counts, options.vocab_size)
        trained[language, "treetok"] = TreeTokenizer.train(
            CountedWords(counts),
            options.vocab_size,
            options.english_trees if language == "en" else options.german_trees,
            PROFILE,
            alignment=options.alignment,
            # Both vocabularies are those of the same words, and none is of the text the trees were learned from.
            prior=0,
        )
    return trained


def word_counts(sentences: list[str], files: list[Path]) -> dict[str, int]:
    """The words of sentences, and of files if there are any."""
    profile, progress = profile_named(PROFILE), Progress(True)
    counts = dict(count_words(sentences, profile, progress=progress).counts())
    if files:
        for word, times in count_words(files, profile, progress=progress).counts().items():
            counts[word] = counts.get(word, 0) + times
    return counts


def encoded_pairs(sets: PairSets, subwords: dict[tuple[str, str], Subwords]) -> EncodedPairs:
    parts = {"training": sets.training, "development": sets.development, **sets.tests}
    sentences = {
        (part, language, kind): EncodedSentences.of_tokens(
            subwords[language, kind].encode_batch(running_text(pair[number]) for pair in pairs)
        )
        for part, pairs in parts.items()
        for number, language in enumerate(LANGUAGES)
        for kind in KINDS
    }
    return EncodedPairs(
        sentences,
        np.array([pair.size for pair in sets.training], dtype=np.int64),
        sum(len(pair.german.encode()) for pair in sets.development),
        {key: trained.vocab_size for key, trained in subwords.items()},
    )

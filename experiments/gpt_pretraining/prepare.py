"""The first step: train the baselines, and segment all words of the texts with every tokenizer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from gpt_pretraining.documents import documents_of, hash_of, training_parts
from gpt_pretraining.runs import label
from gpt_pretraining.token_stream import lossless
from gpt_pretraining.token_tables import (
    TABLES,
    WORDS,
    checked_table,
    distinct_words,
    load_words,
    save_words,
    table_of,
)
from treetok.errors import TreetokError
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.lineup import TrainingText, profile_of, train_baselines
from treetok.evaluate.load_tokenizer import load_tokenizers
from treetok.pipeline.count_words import fingerprint
from treetok.progress import Progress

BASELINES = {"bpe": "BPE", "unigram": "Unigram", "wordpiece": "WordPiece"}


def prepare(options: argparse.Namespace, most_bytes: int) -> None:
    """Write the words of `most_bytes` of training text and of held-out text, and the table of every tokenizer,
    unless they are there."""
    folder: Path = options.folder
    baselines = list(map(kind_and_entries, options.baseline))
    if baselines and not options.tokenizer_text:
        raise TreetokError("baselines need a text to be trained on: --tokenizer-text FILE")
    models = load_tokenizers(options.model)
    for model in models:
        check_profile(model)
    if not (folder / WORDS).exists():
        texts = training_parts(options.train_text, most_bytes)
        texts += [document for path in options.text for document in documents_of(path)]
        profile = lossless()
        save_words(distinct_words(profile.split(text) for text in texts), folder)
    words = load_words(folder)
    for model in models:
        path = folder / table_file(model.name, model.vocabulary_size or 0)
        if is_missing(path, words, identity := model.tokenizer.state.sha256):
            table_of(model, words, identity).save(path)
    if baselines:
        counted = TrainingText(options.tokenizer_text, lossless(), Progress(True))
        text_sha256 = fingerprint(options.tokenizer_text)
    for kind, entries in baselines:
        path = folder / table_file(BASELINES[kind], entries)
        if is_missing(path, words, identity := f"{kind} {entries} {text_sha256}"):
            (baseline,) = train_baselines(kind, counted, entries, ("equal",), None)
            if baseline.vocabulary_size != entries:
                raise TreetokError(
                    f"{baseline.name} has {baseline.vocabulary_size} entries, not {entries}: the text has no more"
                )
            table_of(baseline, words, identity).save(path)


def is_missing(path: Path, words: Sequence[str], identity: str) -> bool:
    """Whether there is no such table; an error if there is one of another tokenizer, or of other words."""
    if not path.exists():
        return True
    if checked_table(path, hash_of(words)).tokenizer != identity:
        raise TreetokError(f"{path} is of another tokenizer of this name: choose another --folder, or remove it")
    return False


def kind_and_entries(written: str) -> tuple[str, int]:
    """
    >>> kind_and_entries("bpe:32000")
    ('bpe', 32000)
    """
    kind, _, entries = written.partition(":")
    if kind not in BASELINES or not entries.isdecimal() or not int(entries):
        raise TreetokError(
            f"a baseline is one of {', '.join(BASELINES)} with its number of entries, as in bpe:32000, not"
            f" {written!r}"
        )
    return kind, int(entries)


def check_profile(tokenizer: EvalTokenizer) -> None:
    profile, expected = profile_of(tokenizer), lossless()
    described = (profile.name, profile.version, profile.normalizer)
    if not isinstance(tokenizer, NamedTreeTokenizer) or described != (expected.name, expected.version, None):
        raise TreetokError(f"{tokenizer.name} is no TreeTok tokenizer of the newest profile {expected.name}")


def table_file(name: str, entries: int) -> str:
    return label(name, entries) + TABLES

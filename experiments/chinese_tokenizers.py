"""The boundaries of tokens of Chinese, scored by the words of sentences: of TreeTok models, of baselines that are
trained on the same text, and of trivial segmentations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chinese_gold import Gold, facts_of
from composition_models import versions
from han_text import GoldSentence
from model_scores import ModelScores, finished_scores
from treetok.errors import TreetokError
from treetok.evaluate.baselines import TRAINABLE
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.lineup import build_lineup
from treetok.evaluate.load_tokenizer import load_tokenizers
from treetok.evaluate.texts import name_of
from treetok.pipeline.count_words import fingerprint
from treetok.progress import Progress
from word_boundaries import boundaries_found, one_token_per_character, one_token_per_stretch, written_rows

TRIVIAL_TOKENS: dict[str, Callable[[GoldSentence], list[str]]] = {
    "characters": one_token_per_character,
    "stretches": one_token_per_stretch,
}
PROFILE = "lossless"


def load_models(specs: Sequence[str]) -> list[EvalTokenizer]:
    """TreeTok models; an error for one that would take the place of another row."""
    models = load_tokenizers(specs)
    for model in models:
        if model.name in (*TRAINABLE, *TRIVIAL_TOKENS):
            raise TreetokError(
                f"a model cannot be called {model.name}, which is a row of its own: rename its folder"
            )
    return models


def score_tokenizers(
    options: argparse.Namespace, gold: Gold, folder: Path, models: Sequence[EvalTokenizer]
) -> None:
    """Score the models, baselines that have no scores yet, and trivial segmentations."""
    files = list(gold.values())
    for name, tokens in TRIVIAL_TOKENS.items():
        save_tokens(folder, name, {}, token_entries(gold, tokens))
    for model in models:
        own = {"tokenizer": model.tokenizer.state.sha256} if isinstance(model, NamedTreeTokenizer) else {}
        save_tokenizer(folder, model.name, own, gold, model)
    wanted = options.against
    if not wanted:
        return
    text_sha256 = fingerprint(options.text)
    settings = {
        name: {"baseline": name, "text": text_sha256, "entries": options.vocab_size, "profile": PROFILE}
        for name in wanted
    }
    missing = [name for name in wanted if finished_scores(folder, name, 0, {}, settings[name], files) is None]
    if missing:
        baselines = build_lineup(
            [], missing, options.text, vocab_size=options.vocab_size, profile=PROFILE, progress=Progress(True)
        ).baselines
        for name, baseline in zip(missing, baselines, strict=True):
            save_tokenizer(folder, name, settings[name], gold, baseline)


def save_tokenizer(
    folder: Path, name: str, own_settings: dict[str, Any], gold: Gold, tokenizer: EvalTokenizer
) -> None:
    entries = token_entries(gold, tokens_by(tokenizer))
    for file in gold.values():
        # A piece may be several tokens: the bytes of a character.
        tokens = sum(len(tokenizer.tokenize(sentence.text)) for sentence in file.sentences)
        entries[name_of(file.path)]["tokens"] = tokens
    save_tokens(folder, name, own_settings, entries, tokenizer.vocabulary_size)


def save_tokens(
    folder: Path, name: str, own_settings: dict[str, Any], gold: dict[str, Any], vocabulary_size: int | None = None
) -> None:
    ModelScores(name, 0, {}, own_settings, {"entries": vocabulary_size}, versions(), gold).save(folder)


def tokens_by(tokenizer: EvalTokenizer) -> Callable[[GoldSentence], list[str]]:
    """Segments sentences as they stand at the beginning of a line, not after a space, as words would."""

    def tokens(sentence: GoldSentence) -> list[str]:
        line_feed, *pieces = tokenizer.segment("\n" + sentence.text)
        if line_feed != "\n":
            raise TreetokError(f"{tokenizer.name} does not keep line feeds: it should be of the profile {PROFILE}")
        return pieces

    return tokens


def token_entries(gold: Gold, tokens_of: Callable[[GoldSentence], list[str]]) -> dict[str, Any]:
    """What a file of scores says of each gold file: rows of `boundaries_found` by kind of position."""
    entries = {}
    for role, file in gold.items():
        tokens = [tokens_of(sentence) for sentence in file.sentences]
        rows = boundaries_found(file.sentences, tokens)
        entries[name_of(file.path)] = {
            **facts_of(role, file),
            "tokens": sum(map(len, tokens)),
            "rows": {positions: written_rows(of_kind) for positions, of_kind in rows.items()},
        }
    return entries

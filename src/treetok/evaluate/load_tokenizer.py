"""Tokenizers by name or path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from treetok.errors import TreetokError
from treetok.evaluate.baselines.pretrained import (
    HuggingFaceTokenizer,
    SentencePieceTokenizer,
    TiktokenTokenizer,
    load_sentencepiece,
    load_tiktoken,
    load_tokenizer_json,
)
from treetok.evaluate.baselines.word_table import SUFFIXES as WORD_TABLES
from treetok.evaluate.baselines.word_table import load_word_table
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.storage.format import HEAD
from treetok.tokenizer import TreeTokenizer

TIKTOKEN = "tiktoken:"
TOKENIZER_JSON = "tokenizer.json"


def load_tokenizer(spec: str | os.PathLike[str], name: str | None = None) -> EvalTokenizer:
    """Load the tokenizer that `spec` names: a TreeTok tokenizer (shipped name or directory), a Hugging Face
    `tokenizer.json` (or a directory that has one), a SentencePiece `.model`, `tiktoken:` and the name of an
    encoding, or a table of words and their tokens (`.cuts`, `.cuts.xz`).

    >>> load_tokenizer("en").segment("blackbirds")
    ['black', 'bird', 's']
    """
    if not isinstance(spec, str | os.PathLike):
        raise TreetokError(f"a tokenizer has a name or a path, not {spec!r}")
    given = os.fspath(spec)
    if not isinstance(given, str) or not given:
        raise TreetokError(f"a tokenizer has a name or a path, not {given!r}")
    if given.startswith(TIKTOKEN):
        return TiktokenTokenizer(load_tiktoken(given.removeprefix(TIKTOKEN)), name or given)
    path = Path(given)
    if path.is_dir() and not (path / HEAD).exists() and (path / TOKENIZER_JSON).exists():
        path = path / TOKENIZER_JSON
    if path.name.endswith(WORD_TABLES):
        return load_word_table(path, name)
    if path.suffix == ".json":
        return HuggingFaceTokenizer(load_tokenizer_json(path), name or default_name(path))
    if path.suffix == ".model":
        return SentencePieceTokenizer(load_sentencepiece(path), name or default_name(path))
    return NamedTreeTokenizer(TreeTokenizer.load(spec), name or f"TreeTok {path.name}")


def load_tokenizers(specs: Sequence[str]) -> list[EvalTokenizer]:
    """Load several tokenizers and give them distinct names."""
    loaded = [load_tokenizer(spec) for spec in specs]
    names = [tokenizer.name for tokenizer in loaded]
    for number, (spec, name) in enumerate(zip(specs, names, strict=True)):
        if names.count(name) > 1:
            if specs.count(spec) > 1:
                raise TreetokError(f"{spec} is named twice")
            loaded[number] = load_tokenizer(spec, spec)
    return loaded


def default_name(path: Path) -> str:
    """The file name, or the directory name of a file called tokenizer.json.

    >>> default_name(Path("models/gpt2/tokenizer.json")), default_name(Path("models/t5.model"))
    ('gpt2', 't5')
    """
    return (path.resolve().parent.name or path.stem) if path.name == TOKENIZER_JSON else path.stem

"""The tokenizers that are compared: BPE and TreeTok, of equal size and trained on the same words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from treetok import TreeTokenizer
from treetok.evaluate.baselines.pre_tokenized import PreTokenizedTokenizer
from treetok.token_table import BYTE_NAMES, UNKNOWN, base_entries, byte_name

# Text in, the same text out; both tokenizers split it into the same words first.
PROFILE = "lossless"
KINDS = ("bpe", "treetok")


def running_text(sentence: str) -> str:
    """A sentence as it stands behind another, so that its first word is a word like the others."""
    return " " + sentence


class Subwords(Protocol):
    """What translation needs of a tokenizer. Ids are below `vocab_size`."""

    @property
    def vocab_size(self) -> int: ...

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]: ...

    def decode(self, ids: Iterable[int]) -> str: ...


class BpeSubwords:
    """BPE with ids. Bytes stand for characters outside of the vocabulary.

    names: tokens in the order of their ids, followed by unused ids for special tokens, which TreeTok has too.
    baseline: None for decoding only.
    """

    def __init__(
        self, names: Sequence[str], vocab_size: int, baseline: PreTokenizedTokenizer | None = None
    ) -> None:
        self.names, self.vocab_size = list(names), vocab_size
        self._baseline = baseline
        self._ids = {name: number for number, name in enumerate(names)}

    @classmethod
    def train(cls, counts: Mapping[str, int], vocab_size: int) -> BpeSubwords:
        from treetok.evaluate.baselines.subword import WordSegmenter, train_baseline

        baseline = train_baseline("bpe", counts, vocab_size, PROFILE)
        segmenter = baseline._segment_word
        assert isinstance(segmenter, WordSegmenter) and baseline.vocabulary_size is not None
        bytes_and_ascii = [e if isinstance(e, str) else byte_name(e) for e in base_entries(byte_fallback=True)]
        names = sorted({*segmenter.tokenizer.get_vocab(), *bytes_and_ascii} - {UNKNOWN})
        return cls(names, baseline.vocabulary_size, baseline)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        assert self._baseline is not None
        return [[self._ids[token] for token in self._baseline.tokenize(text)] for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        names = [self.names[number] for number in ids if number < len(self.names)]
        data = [bytes([int(name[1:-1], 16)]) if name in BYTE_NAMES else name.encode() for name in names]
        return b"".join(data).decode(errors="replace")


def save_subwords(subwords: Subwords, folder: Path, language: str, kind: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(subwords, BpeSubwords):
        content = {"names": subwords.names, "vocab_size": subwords.vocab_size}
        (folder / f"{language}-{kind}.json").write_text(json.dumps(content), encoding="utf-8")
    else:
        assert isinstance(subwords, TreeTokenizer)
        subwords.save(folder / f"{language}-{kind}")


def load_subwords(folder: Path, language: str, kind: str) -> Subwords:
    """For decoding: BPE is read without its merges."""
    if kind == "treetok":
        return TreeTokenizer.load(folder / f"{language}-{kind}")
    return BpeSubwords(**json.loads((folder / f"{language}-{kind}.json").read_text(encoding="utf-8")))

"""Vocabularies for the tokenizers that TreeTok is compared with, trained once and kept in a folder.

`bpe.json`, `wordpiece.json` and `unigram.json` are for Hugging Face tokenizers, `sentencepiece.model` is for
SentencePiece. `bpe.tiktoken` holds the entries of `bpe.json`, so that all libraries of BPE do the same work.
"""

from __future__ import annotations

import base64
import importlib.metadata
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BPE, TIKTOKEN, WORDPIECE, UNIGRAM = "bpe.json", "bpe.tiktoken", "wordpiece.json", "unigram.json"
SENTENCEPIECE = "sentencepiece.model"
# Says what the files were made from. It is written last, so that files of a run that was stopped are made again.
ORIGIN = "origin.json"


def prepare_vocabularies(folder: Path, train_text: Path, size: int) -> None:
    """Train what the folder does not have yet for this text (plain, one text per line) and size."""
    origin = {
        "text": train_text.name,
        "bytes": train_text.stat().st_size,
        "size": size,
        **{package: version_of(package) for package in ("tokenizers", "sentencepiece")},
    }
    made = folder / ORIGIN
    if made.exists() and json.loads(made.read_text(encoding="utf-8")) == origin:
        return
    made.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    if origin["tokenizers"]:
        bpe = train_bpe(train_text, size)
        bpe.save(str(folder / BPE))
        write_ranks(bpe, folder / TIKTOKEN)
        train_wordpiece(train_text, size).save(str(folder / WORDPIECE))
        train_unigram(train_text, size).save(str(folder / UNIGRAM))
    if origin["sentencepiece"]:
        train_sentencepiece(train_text, size, folder / SENTENCEPIECE)
    made.write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def lines_of(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def trained(tokenizer: Tokenizer, trainer: Any, text: Path) -> Tokenizer:
    tokenizer.train_from_iterator(lines_of(text), trainer)
    return tokenizer


def train_bpe(text: Path, size: int) -> Tokenizer:
    """BPE as in GPT-2: bytes, with its regular expression. Libraries have faster ways for the expressions they
    know, and all of them know this one."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    return trained(tokenizer, trainer, text)


def train_wordpiece(text: Path, size: int) -> Tokenizer:
    """WordPiece as in BERT, cased."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=["[UNK]"], limit_alphabet=1000, show_progress=False
    )
    return trained(tokenizer, trainer, text)


def train_unigram(text: Path, size: int) -> Tokenizer:
    """Unigram as in T5: spaces are part of the pieces."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    return trained(tokenizer, trainer, text)


def train_sentencepiece(text: Path, size: int, target: Path) -> None:
    import sentencepiece

    with target.open("wb") as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line.rstrip("\n") for line in lines_of(text)),
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            # A small text may not support as many entries.
            hard_vocab_limit=False,
            byte_fallback=True,
            num_threads=os.cpu_count() or 1,
            max_sentence_length=1 << 16,
            minloglevel=2,
        )


def write_ranks(bpe: Tokenizer, target: Path) -> None:
    """The entries of byte-level BPE as a file of tiktoken: bytes in base64 and their id, which is the rank."""
    byte_of = bytes_by_character()
    with target.open("wb") as file:
        for entry, rank in sorted(bpe.get_vocab().items(), key=lambda item: item[1]):
            file.write(base64.b64encode(bytes(byte_of[character] for character in entry)) + b" %d\n" % rank)


def bytes_by_character() -> dict[str, int]:
    """The bytes behind the characters of byte-level BPE: itself for a printable one, then from U+0100 on.

    >>> bytes_by_character()["a"], bytes_by_character()["Ġ"]
    (97, 32)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(others)}

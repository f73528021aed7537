"""Tokenizers trained elsewhere: Hugging Face `tokenizers`, SentencePiece and tiktoken.

A word is segmented as inside a sentence: another word and a space are put before it and removed again. Pieces
are slices of the word itself, located by token offsets, so they always join to the word: the bytes of one
character are one piece, and markers never show.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from treetok.errors import TreetokError
from treetok.install_hint import install_hint
from treetok.text import check_encodable
from treetok.token_table import byte_name

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tiktoken import Encoding
    from tokenizers import Tokenizer

# What precedes a word when it is segmented.
CONTEXT = "a "

Offsets = Iterable[tuple[int, int]]
Loaded = TypeVar("Loaded")


class PretrainedTokenizer(ABC):
    """Segments words inside a sentence; subclasses say how text becomes tokens and offsets."""

    name: str
    vocabulary_size: int | None

    def __repr__(self) -> str:
        return f"<{self.name}: {self.vocabulary_size} entries>"

    def segment(self, word: str) -> list[str]:
        check_encodable(word)
        if not word.strip():
            return []
        offsets = self._offsets(CONTEXT + word)
        shift = len(CONTEXT)
        return slices(word, [(start - shift, end - shift) for start, end in offsets])

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """Split text into tokens."""

    @abstractmethod
    def _offsets(self, text: str) -> Offsets:
        """Character offsets (start, end) of every token."""


def slices(word: str, offsets: Offsets) -> list[str]:
    """Split a word where tokens end, except inside another token: such tokens share a character.

    >>> slices("naïve", [(-2, -1), (-1, 2), (2, 3), (2, 3), (3, 5)])
    ['na', 'ï', 've']
    """
    offsets = [(max(0, start), end) for start, end in offsets if end > 0]
    inside = {place for start, end in offsets for place in range(start + 1, end)}
    ends = {min(end, len(word)) for _, end in offsets} - inside - {0}
    pieces = [word[start:end] for start, end in pairwise(sorted({0, *ends, len(word)}))]
    # A normaliser may drop the last characters; then no token ends after them.
    if len(pieces) > 1 and len(word) not in ends:
        pieces[-2:] = [pieces[-2] + pieces[-1]]
    return pieces


class HuggingFaceTokenizer(PretrainedTokenizer):
    """A Hugging Face `tokenizers` tokenizer."""

    def __init__(self, tokenizer: Tokenizer, name: str) -> None:
        # Both may have been saved with the tokenizer.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.name = name
        self.vocabulary_size = tokenizer.get_vocab_size()
        self._tokenizer = tokenizer

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        tokens: list[str] = self._tokenizer.encode(text, add_special_tokens=False).tokens
        return tokens

    def _offsets(self, text: str) -> Offsets:
        offsets: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets


class SentencePieceTokenizer(PretrainedTokenizer):
    """A SentencePiece model."""

    def __init__(self, processor: SentencePieceProcessor, name: str) -> None:
        self.name = name
        self.vocabulary_size = processor.get_piece_size()
        self._processor: Any = processor

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        # Through ids, so that all unknown characters give the same unknown token.
        tokens: list[str] = self._processor.id_to_piece(self._processor.encode(text))
        return tokens

    def _offsets(self, text: str) -> Offsets:
        try:
            offsets: Offsets = self._processor.encode(text, out_type="offset_mapping")["offsets"]
        except RuntimeError:
            # sentencepiece before 0.2.2.
            pieces = self._processor.encode(text, out_type="immutable_proto").pieces
            offsets = [(piece.begin, piece.end) for piece in pieces]
        return offsets


class TiktokenTokenizer(PretrainedTokenizer):
    """A tiktoken encoding."""

    def __init__(self, encoding: Encoding, name: str) -> None:
        self.name = name
        self.vocabulary_size = encoding.n_vocab
        self._encoding = encoding

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        return [bytes_as_text(token) for token in self._bytes_of_tokens(text)]

    def _offsets(self, text: str) -> Offsets:
        # Tokens are bytes. A token that starts or ends inside a character is taken to cover all of it.
        character_of_byte = [number for number, character in enumerate(text) for _ in character.encode()]
        ends = accumulate(map(len, self._bytes_of_tokens(text)), initial=0)
        return [(character_of_byte[start], character_of_byte[end - 1] + 1) for start, end in pairwise(ends)]

    def _bytes_of_tokens(self, text: str) -> list[bytes]:
        # Special tokens in text are treated as plain text.
        return self._encoding.decode_tokens_bytes(self._encoding.encode_ordinary(text))


def bytes_as_text(token: bytes) -> str:
    """
    >>> bytes_as_text(b" caf"), bytes_as_text(b"caf\\xc3")
    (' caf', 'caf<0xC3>')
    """
    try:
        return token.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else byte_name(byte) for byte in token)


# ---- loading


def load_tokenizer_json(path: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise TreetokError(f"loading {path} needs tokenizers: {install_hint('eval')}") from None
    return load_file(path, "a Hugging Face tokenizer.json", lambda: Tokenizer.from_file(str(path)))


def load_sentencepiece(path: Path) -> SentencePieceProcessor:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise TreetokError(f"loading {path} needs sentencepiece: pip install sentencepiece") from None
    return load_file(path, "a SentencePiece model", lambda: SentencePieceProcessor(model_file=str(path)))


def load_file(path: Path, what: str, load: Callable[[], Loaded]) -> Loaded:
    """Load a file, or say what is wrong with it: these libraries raise exceptions of many types."""
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        return load()
    except Exception as error:
        raise TreetokError(f"{path} is not {what}: {one_line(error)}") from None


def load_tiktoken(name: str) -> Encoding:
    try:
        import tiktoken
    except ImportError:
        raise TreetokError(f"tiktoken:{name} needs tiktoken: pip install tiktoken") from None
    known = tiktoken.list_encoding_names()
    if name not in known:
        raise TreetokError(f"tiktoken has no encoding {name!r}: choose one of {', '.join(sorted(known))}")
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        # Encodings are downloaded on first use; the exception depends on how that fails.
        raise TreetokError(f"tiktoken cannot load the encoding {name!r}: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__

"""Contestants by name: tokenizers that were trained elsewhere, and saved ones of our own.

A word is cut as it stands inside a sentence: behind another word and a space, which are taken off again. Pieces
are slices of the word as given, found by where tokens begin and end, so they always join to the word: bytes of
one character are one piece, and markers never show.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from treetok.errors import TreetokError
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.rivals.table import SUFFIXES as TABLES
from treetok.evaluate.rivals.table import load_table
from treetok.evaluate.rivals.treetok_tokenizer import TreeTokContestant
from treetok.storage.format import HEAD
from treetok.text import check_encodable
from treetok.tokenizer import TreeTokenizer
from treetok.tokens import byte_name

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tiktoken import Encoding
    from tokenizers import Tokenizer

TIKTOKEN = "tiktoken:"
TOKENIZER_JSON = "tokenizer.json"
# The beginning of a sentence that words are put into.
BEFORE_THE_WORD = "a "

Offsets = Iterable[tuple[int, int]]
Loaded = TypeVar("Loaded")


def load_contestant(spec: str | os.PathLike[str], name: str | None = None) -> Contestant:
    """The tokenizer that `spec` names: a TreeTok tokenizer by name or directory, a `tokenizer.json` of Hugging
    Face (or a directory that has one), a `.model` of SentencePiece, `tiktoken:` and the name of an encoding, or
    a table of words and their tokens (`.cuts`, `.cuts.xz`).

    >>> load_contestant("en").segment("blackbirds")
    ['black', 'bird', 's']
    """
    if not isinstance(spec, str | os.PathLike):
        raise TreetokError(f"a tokenizer has a name or a path, not {spec!r}")
    given = os.fspath(spec)
    if not isinstance(given, str) or not given:
        raise TreetokError(f"a tokenizer has a name or a path, not {given!r}")
    if given.startswith(TIKTOKEN):
        return TiktokenContestant(load_encoding(given.removeprefix(TIKTOKEN)), name or given)
    path = Path(given)
    if path.is_dir() and not (path / HEAD).exists() and (path / TOKENIZER_JSON).exists():
        path = path / TOKENIZER_JSON
    if path.name.endswith(TABLES):
        return load_table(path, name)
    if path.suffix == ".json":
        return HuggingFaceContestant(load_tokenizer_json(path), name or named_after(path))
    if path.suffix == ".model":
        return SentencePieceContestant(load_sentencepiece(path), name or named_after(path))
    return TreeTokContestant(TreeTokenizer.load(spec), name or f"TreeTok {path.name}")


def named_after(path: Path) -> str:
    """A name that tells files called alike apart.

    >>> named_after(Path("models/gpt2/tokenizer.json")), named_after(Path("models/t5.model"))
    ('gpt2', 't5')
    """
    return (path.resolve().parent.name or path.stem) if path.name == TOKENIZER_JSON else path.stem


class InSentence(ABC):
    """What is cut inside a sentence; how text becomes tokens and offsets is for the kinds of it to say."""

    name: str
    vocabulary_size: int | None

    def __repr__(self) -> str:
        return f"<{self.name}: {self.vocabulary_size} entries>"

    def segment(self, word: str) -> list[str]:
        check_encodable(word)
        if not word.strip():
            return []
        offsets = self._offsets(BEFORE_THE_WORD + word)
        before = len(BEFORE_THE_WORD)
        return slices(word, [(start - before, end - before) for start, end in offsets])

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """Text to the tokens of this kind of tokenizer."""

    @abstractmethod
    def _offsets(self, text: str) -> Offsets:
        """Where the characters of each token begin and end."""


def slices(word: str, offsets: Offsets) -> list[str]:
    """Cut a word where tokens end, but not inside other tokens: these share a character.

    >>> slices("naïve", [(-2, -1), (-1, 2), (2, 3), (2, 3), (3, 5)])
    ['na', 'ï', 've']
    """
    offsets = [(max(0, start), end) for start, end in offsets if end > 0]
    inside = {place for start, end in offsets for place in range(start + 1, end)}
    ends = {min(end, len(word)) for _, end in offsets} - inside - {0}
    pieces = [word[start:end] for start, end in pairwise(sorted({0, *ends, len(word)}))]
    # The normaliser of a tokenizer may leave nothing of the last characters; then no token ends behind them.
    if len(pieces) > 1 and len(word) not in ends:
        pieces[-2:] = [pieces[-2] + pieces[-1]]
    return pieces


class HuggingFaceContestant(InSentence):
    """A tokenizer of Hugging Face `tokenizers`."""

    def __init__(self, tokenizer: Tokenizer, name: str) -> None:
        # Whoever saved the file may have left these on.
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


class SentencePieceContestant(InSentence):
    """A model of SentencePiece."""

    def __init__(self, processor: SentencePieceProcessor, name: str) -> None:
        self.name = name
        self.vocabulary_size = processor.get_piece_size()
        self._processor: Any = processor

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        # By way of ids, so that every unknown character is the same unknown token.
        tokens: list[str] = self._processor.id_to_piece(self._processor.encode(text))
        return tokens

    def _offsets(self, text: str) -> Offsets:
        try:
            offsets: Offsets = self._processor.encode(text, out_type="offset_mapping")["offsets"]
        except RuntimeError:
            # Before version 0.2.2 of the package.
            pieces = self._processor.encode(text, out_type="immutable_proto").pieces
            offsets = [(piece.begin, piece.end) for piece in pieces]
        return offsets


class TiktokenContestant(InSentence):
    """An encoding of tiktoken."""

    def __init__(self, encoding: Encoding, name: str) -> None:
        self.name = name
        self.vocabulary_size = encoding.n_vocab
        self._encoding = encoding

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        return [text_of_bytes(token) for token in self._bytes_of_tokens(text)]

    def _offsets(self, text: str) -> Offsets:
        # Tokens are bytes. One that begins or ends within a character has a share in the whole of it.
        character_of_byte = [number for number, character in enumerate(text) for _ in character.encode()]
        ends = accumulate(map(len, self._bytes_of_tokens(text)), initial=0)
        return [(character_of_byte[start], character_of_byte[end - 1] + 1) for start, end in pairwise(ends)]

    def _bytes_of_tokens(self, text: str) -> list[bytes]:
        # Text that looks like a special token is text.
        return self._encoding.decode_tokens_bytes(self._encoding.encode_ordinary(text))


def text_of_bytes(token: bytes) -> str:
    """
    >>> text_of_bytes(b" caf"), text_of_bytes(b"caf\\xc3")
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
        raise TreetokError(f"loading {path} needs tokenizers: pip install 'treetok[eval]'") from None
    return loaded(path, "a tokenizer.json of Hugging Face", lambda: Tokenizer.from_file(str(path)))


def load_sentencepiece(path: Path) -> SentencePieceProcessor:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise TreetokError(f"loading {path} needs sentencepiece: pip install sentencepiece") from None
    return loaded(path, "a model of SentencePiece", lambda: SentencePieceProcessor(model_file=str(path)))


def loaded(path: Path, what: str, load: Callable[[], Loaded]) -> Loaded:
    """Load a file, or say what is wrong with it: these libraries raise whatever they like."""
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        return load()
    except Exception as error:
        raise TreetokError(f"{path} is not {what}: {one_line(error)}") from None


def load_encoding(name: str) -> Encoding:
    try:
        import tiktoken
    except ImportError:
        raise TreetokError(f"{TIKTOKEN}{name} needs tiktoken: pip install tiktoken") from None
    known = tiktoken.list_encoding_names()
    if name not in known:
        raise TreetokError(f"tiktoken has no encoding {name!r}: choose one of {', '.join(sorted(known))}")
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        # Encodings are downloaded when first used; what is raised depends on how that fails.
        raise TreetokError(f"tiktoken cannot get the encoding {name!r}: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__

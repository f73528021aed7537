"""The token table of a tokenizer: special tokens, bytes, pieces of words, and markers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from treetok.errors import TreetokError
from treetok.markers import MARKERS, Marker, marked, unmarked

UNKNOWN = "[UNK]"
ASCII = range(0x80)
HIGH_BYTES = range(0x80, 0x100)


def byte_name(byte: int) -> str:
    """How a byte that is not a character by itself is displayed: <0xE4>."""
    return f"<0x{byte:02X}>"


BYTE_NAMES = frozenset(map(byte_name, HIGH_BYTES))


def is_base_name(name: str) -> bool:
    """Whether a name is that of a character, a byte or a marker, and so unavailable for special tokens."""
    return len(name) == 1 or name in BYTE_NAMES or name in MARKERS


# A vocabulary entry: a string, a marker, or (128 to 255) one byte of a multi-byte UTF-8 sequence. Bytes below
# 128 are ASCII characters and are stored as strings.
Entry = str | int


def base_entries(byte_fallback: bool) -> list[Entry]:
    """The entries that byte fallback requires: the ASCII characters and bytes 128 to 255."""
    return [*map(chr, ASCII), *HIGH_BYTES] if byte_fallback else []


class TokenTable:
    """Tokens by id and ids by token. Special tokens get the given ids; other tokens fill the rest in order."""

    def __init__(self, entries: Sequence[Entry], special_tokens: Mapping[str, int], byte_fallback: bool) -> None:
        self.special_tokens = dict(special_tokens)
        size = len(entries) + len(special_tokens)
        taken = set(special_tokens.values())
        ordinary = set(entries)
        for name in special_tokens:
            if name in ordinary or is_base_name(name):
                raise TreetokError(f"{name!r} is both a special and an ordinary token")
        if len(taken) < len(special_tokens) or any(not 0 <= number < size for number in taken):
            raise TreetokError(f"the ids of special tokens must be distinct and between 0 and {size - 1}")
        free = [number for number in range(size) if number not in taken]
        self.names: list[str] = [""] * size
        self.bytes: list[bytes] = [b""] * size
        # Number of characters of a word that a token covers. The first byte of a multi-byte character covers it,
        # the other bytes and markers cover none; the unknown token covers one.
        self.lengths: list[int] = [1] * size
        self.id_of_piece: dict[str, int] = {}
        self.id_of_byte: dict[int, int] = {}
        self.id_of_marker: dict[Marker, int] = {}
        for number, entry in zip(free, entries, strict=True):
            if isinstance(entry, Marker):
                self.id_of_marker[entry] = number
                self.names[number], self.lengths[number] = entry.token, 0
            elif isinstance(entry, int):
                self.id_of_byte[entry] = number
                self.names[number], self.bytes[number] = byte_name(entry), bytes([entry])
                self.lengths[number] = int(entry >= 0xC0)
            else:
                self.id_of_piece[entry] = number
                self.names[number], self.bytes[number] = entry, entry.encode()
                self.lengths[number] = len(entry)
        for name, number in special_tokens.items():
            self.names[number], self.bytes[number] = name, name.encode()
        if len(ordinary) < len(entries):
            raise TreetokError("a token appears twice in the vocabulary")
        if 0 < len(self.id_of_marker) < len(Marker):
            raise TreetokError(f"the vocabulary has some of the markers, not all: {', '.join(MARKERS)}")
        if byte_fallback:
            for byte in ASCII:
                if chr(byte) not in self.id_of_piece:
                    raise TreetokError(f"the vocabulary is missing the character {chr(byte)!r}")
            for byte in HIGH_BYTES:
                if byte not in self.id_of_byte:
                    raise TreetokError(f"the vocabulary is missing the byte {byte_name(byte)}")
        elif UNKNOWN not in special_tokens:
            raise TreetokError(f"the vocabulary is missing the special token {UNKNOWN}")
        self.byte_fallback = byte_fallback
        self.id_of_name = {name: number for number, name in enumerate(self.names)} | self.special_tokens

    def __len__(self) -> int:
        return len(self.names)

    def ids_of_piece(self, piece: str) -> tuple[int, ...]:
        """The id of a piece. One that is made of another token maps to a marker and that token; a character
        outside the vocabulary maps to its bytes or to the unknown token."""
        number = self.id_of_piece.get(piece)
        if number is not None:
            return (number,)
        if len(piece) > 1:
            marker, token = unmarked(piece)
            return (self.id_of_marker[marker], self.id_of_piece[token])
        if self.byte_fallback:
            return tuple(self.id_of_byte[byte] for byte in piece.encode())
        return (self.special_tokens[UNKNOWN],)

    def bytes_of(self, ids: Iterable[int]) -> Iterator[bytes]:
        """The bytes of each token of a text, changed by the markers."""
        if not self.id_of_marker:
            yield from map(self.bytes.__getitem__, ids)
            return
        before = None
        for token_id in ids:
            yield self.bytes_after(before, token_id)
            before = token_id

    def bytes_after(self, before: int | None, token_id: int) -> bytes:
        """The bytes of a token behind another, or None at the start."""
        for marker, number in self.id_of_marker.items():
            if before == number:
                changed = marked(marker, self.names[token_id])
                return self.bytes[token_id] if changed is None else changed.encode()
        return self.bytes[token_id]

    def lengths_of(self, ids: Iterable[int]) -> Iterator[int]:
        """How many characters of a word each of its tokens covers."""
        joiner = self.id_of_marker.get(Marker.JOIN, -1)
        before = -1
        for token_id in ids:
            yield self.lengths[token_id] - (before == joiner >= 0)
            before = token_id

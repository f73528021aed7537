"""The token table of a tokenizer: special tokens, bytes, pieces of words, and markers."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from treetok.errors import TreetokError, shown
from treetok.markers import MARKERS, Marker, changed_by, unmarked

UNKNOWN = "[UNK]"
ASCII = range(0x80)
HIGH_BYTES = range(0x80, 0x100)


def byte_name(byte: int) -> str:
    """How a byte that is not a character by itself is displayed: <0xE4>."""
    return f"<0x{byte:02X}>"


BYTE_NAMES = frozenset(map(byte_name, HIGH_BYTES))


def is_base_name(name: str) -> bool:
    """Whether a name is that of a character or a byte, and so unavailable for special tokens."""
    return len(name) == 1 or name in BYTE_NAMES


# A vocabulary entry: a string, a marker, or (128 to 255) one byte of a multi-byte UTF-8 sequence. Bytes below
# 128 are ASCII characters and are stored as strings.
Entry = str | int


def base_entries(byte_fallback: bool) -> list[Entry]:
    """The entries that byte fallback requires: the ASCII characters and bytes 128 to 255."""
    return [*map(chr, ASCII), *HIGH_BYTES] if byte_fallback else []


def check_entries(entries: Sequence[Entry], special_tokens: Mapping[str, int], byte_fallback: bool) -> None:
    """Raise TreetokError if these cannot be the tokens of a tokenizer."""
    ordinary = set(entries)
    size = len(entries) + len(special_tokens)
    for name in special_tokens:
        if name in ordinary or is_base_name(name):
            raise TreetokError(f"{name!r} is both a special and an ordinary token")
    taken = set(special_tokens.values())
    if len(taken) < len(special_tokens) or any(not 0 <= number < size for number in taken):
        raise TreetokError(f"the ids of special tokens must be distinct and between 0 and {size - 1}")
    if len(ordinary) < len(entries):
        twice = next(entry for entry, times in Counter(entries).items() if times > 1)
        name = byte_name(twice) if isinstance(twice, int) else str(twice)
        raise TreetokError(f"the token {name!r} appears twice in the vocabulary")
    if ordinary.intersection(Marker):
        check_markers(ordinary, special_tokens, byte_fallback)
    for entry in base_entries(byte_fallback):
        if entry not in ordinary:
            missing = f"the byte {byte_name(entry)}" if isinstance(entry, int) else f"the character {entry!r}"
            raise TreetokError(f"the vocabulary is missing {missing}")
    if not byte_fallback and UNKNOWN not in special_tokens:
        raise TreetokError(f"the vocabulary is missing the special token {UNKNOWN}")


def check_markers(entries: Collection[Entry], special_tokens: Mapping[str, int], byte_fallback: bool) -> None:
    if not all(marker in entries for marker in Marker):
        raise TreetokError(f"the vocabulary has some of the markers, not all: {', '.join(MARKERS)}")
    if not byte_fallback:
        raise TreetokError("the vocabulary has markers, but tokens of this profile have no spaces to take away")
    for name in MARKERS:
        if name in special_tokens or name in entries:
            raise TreetokError(f"{name!r} is a marker, and cannot be another token")


class TokenTable:
    """Tokens by id and ids by token. Special tokens get the given ids; other tokens fill the rest in order."""

    def __init__(self, entries: Sequence[Entry], special_tokens: Mapping[str, int], byte_fallback: bool) -> None:
        check_entries(entries, special_tokens, byte_fallback)
        self.special_tokens = dict(special_tokens)
        size = len(entries) + len(special_tokens)
        taken = set(special_tokens.values())
        free = [number for number in range(size) if number not in taken]
        self.names: list[str] = [""] * size
        self.bytes: list[bytes] = [b""] * size
        # Number of characters of a word that a token covers. The first byte of a multi-byte character covers it,
        # the other bytes and markers cover none; the unknown token covers one.
        self.lengths: list[int] = [1] * size
        self.id_of_piece: dict[str, int] = {}
        self.id_of_byte: dict[int, int] = {}
        self.id_of_marker: dict[Marker, int] = {}
        self.marker_of_id: dict[int, Marker] = {}
        for number, entry in zip(free, entries, strict=True):
            if isinstance(entry, Marker):
                self.id_of_marker[entry], self.marker_of_id[number] = number, entry
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
        self.byte_fallback = byte_fallback
        self.id_of_name = {name: number for number, name in enumerate(self.names)} | self.special_tokens

    def __len__(self) -> int:
        return len(self.names)

    def checked_id(self, token_id: Any) -> int:
        """An id as an int; raises TreetokError if it is not that of a token."""
        try:
            number = operator.index(token_id)
        except TypeError:
            raise TreetokError(f"a token id must be an integer, not {shown(token_id)}") from None
        if not 0 <= number < len(self):
            raise TreetokError(f"token id {shown(number)} is out of range: ids run from 0 to {len(self) - 1}")
        return number

    def ids_of_piece(self, piece: str) -> tuple[int, ...]:
        """The id of a piece. One that is made of another token maps to markers and that token; a character
        outside the vocabulary maps to its bytes or to the unknown token."""
        number = self.id_of_piece.get(piece)
        if number is not None:
            return (number,)
        if len(piece) > 1:
            marker, changed = unmarked(piece)
            return (self.id_of_marker[marker], *self.ids_of_piece(changed))
        if self.byte_fallback:
            return tuple(self.id_of_byte[byte] for byte in piece.encode())
        return (self.special_tokens[UNKNOWN],)

    def bytes_of(self, ids: Iterable[int]) -> Iterator[bytes]:
        """The bytes of each token of a text, changed by the markers before it."""
        if not self.id_of_marker:
            yield from map(self.bytes.__getitem__, ids)
            return
        before: list[Marker] = []
        for token_id in ids:
            yield self.bytes_behind(before, token_id)

    def bytes_behind(self, before: list[Marker], token_id: int) -> bytes:
        """The bytes of a token behind these markers, which are used up. A marker itself is added to them."""
        marker = self.marker_of_id.get(token_id)
        if marker is not None:
            before.append(marker)
        elif before and self.id_of_piece.get(self.names[token_id]) == token_id:
            changed = changed_by(before, self.names[token_id])
            before.clear()
            return changed.encode()
        else:
            before.clear()
        return self.bytes[token_id]

    def lengths_of(self, ids: Iterable[int]) -> Iterator[int]:
        """How many characters of a word each of its tokens covers."""
        is_joined = False
        for token_id in ids:
            marker = self.marker_of_id.get(token_id)
            yield self.lengths[token_id] - (is_joined and marker is None)
            is_joined = marker is not None and (is_joined or marker is Marker.JOIN)

    def offsets(self, ids: Iterable[int], places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Where the tokens of a word are in the text, given where its characters are. A token that covers none is
        at the end of the one before it, or at the start of the word."""
        at = 0
        for length in self.lengths_of(ids):
            if length:
                yield places[at][0], places[at + length - 1][1]
            else:
                place = places[at - 1][1] if at else places[0][0]
                yield place, place
            at += length

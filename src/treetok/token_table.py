"""The token table of a tokenizer: special tokens, bytes, pieces of words, and the joiner.

The joiner takes away the leading space of the token after it: `windsurf` may be ` wind`, joiner, ` surf`. So words
serve inside other words, and need not be in the vocabulary a second time, without the space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from treetok.errors import TreetokError

UNKNOWN = "[UNK]"
ASCII = range(0x80)
HIGH_BYTES = range(0x80, 0x100)
JOINER = 0x100
JOINER_NAME = "<join>"
# Shorter words hardly ever serve inside others: `all` in `usually` is an accident.
MIN_JOINED_LETTERS = 3


def byte_name(byte: int) -> str:
    """How a byte that is not a character by itself is displayed: <0xE4>."""
    return f"<0x{byte:02X}>"


BYTE_NAMES = frozenset(map(byte_name, HIGH_BYTES))


def is_base_name(name: str) -> bool:
    """Whether a name is that of a character, a byte or the joiner, and so unavailable for special tokens."""
    return len(name) == 1 or name in BYTE_NAMES or name == JOINER_NAME


# A vocabulary entry: a string, the joiner, or (128 to 255) one byte of a multi-byte UTF-8 sequence. Bytes below
# 128 are ASCII characters and are stored as strings.
Entry = str | int


def base_entries(byte_fallback: bool) -> list[Entry]:
    """The entries that byte fallback requires: the ASCII characters and bytes 128 to 255."""
    return [*map(chr, ASCII), *HIGH_BYTES] if byte_fallback else []


def joined_string(token: str) -> str | None:
    """What a token becomes behind the joiner, if it may stand there: a word without its leading space.

    >>> joined_string(" surf"), joined_string("surf"), joined_string(" 2008"), joined_string(" a")
    ('surf', None, None, None)
    """
    letters = token[1:]
    can_be = token[:1] == " " and letters.isalpha() and len(letters) >= MIN_JOINED_LETTERS
    return letters if can_be else None


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
        # the other bytes and the joiner cover none; the unknown token covers one.
        self.lengths: list[int] = [1] * size
        self.id_of_piece: dict[str, int] = {}
        self.id_of_byte: dict[int, int] = {}
        self.joiner: int | None = None
        for number, entry in zip(free, entries, strict=True):
            if entry == JOINER:
                self.joiner = number
                self.names[number], self.lengths[number] = JOINER_NAME, 0
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
        """The id of a piece. One that is a token only with a leading space maps to the joiner and that token; a
        character outside the vocabulary maps to its bytes or to the unknown token."""
        number = self.id_of_piece.get(piece)
        if number is not None:
            return (number,)
        if self.joiner is not None and len(piece) > 1:
            return (self.joiner, self.id_of_piece[" " + piece])
        if self.byte_fallback:
            return tuple(self.id_of_byte[byte] for byte in piece.encode())
        return (self.special_tokens[UNKNOWN],)

    def bytes_of(self, ids: Iterable[int]) -> Iterator[bytes]:
        """The bytes of each token of a text; behind the joiner without a leading space."""
        if self.joiner is None:
            yield from map(self.bytes.__getitem__, ids)
            return
        before = None
        for token_id in ids:
            yield self.bytes_after(before, token_id)
            before = token_id

    def bytes_after(self, before: int | None, token_id: int) -> bytes:
        """The bytes of a token behind another, or None at the start."""
        token = self.bytes[token_id]
        is_joined = before is not None and before == self.joiner
        return token.removeprefix(b" ") if is_joined else token

    def lengths_of(self, ids: Iterable[int]) -> Iterator[int]:
        """How many characters of a word each of its tokens covers."""
        before = None
        for token_id in ids:
            is_joined = before is not None and before == self.joiner
            yield self.lengths[token_id] - is_joined
            before = token_id

"""The numbered tokens of a tokenizer: specials, bytes, pieces of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treetok.errors import TreetokError

UNKNOWN = "[UNK]"
ASCII = range(0x80)
HIGH_BYTES = range(0x80, 0x100)


def byte_name(byte: int) -> str:
    """How a byte that is no character is shown: <0xE4>."""
    return f"<0x{byte:02X}>"


BYTE_NAMES = frozenset(map(byte_name, HIGH_BYTES))


def is_base_name(name: str) -> bool:
    """Whether a name is that of one character or of a byte: no special token may be called so."""
    return len(name) == 1 or name in BYTE_NAMES


# A token as it stands in a vocabulary: a piece of text, or (128 to 255) one byte of a longer UTF-8 sequence.
# The bytes below 128 are ASCII characters and stand there as text.
Entry = str | int


def base_entries(byte_fallback: bool) -> list[Entry]:
    """What every vocabulary has where characters fall back to bytes: ASCII characters and the other bytes."""
    return [*map(chr, ASCII), *HIGH_BYTES] if byte_fallback else []


class TokenTable:
    """Tokens by id and ids by token. Special tokens have the ids given, all others fill the rest in order."""

    def __init__(self, entries: Sequence[Entry], special_tokens: Mapping[str, int], byte_fallback: bool) -> None:
        self.special_tokens = dict(special_tokens)
        size = len(entries) + len(special_tokens)
        taken = set(special_tokens.values())
        ordinary = set(entries)
        for name in special_tokens:
            if name in ordinary or is_base_name(name):
                raise TreetokError(f"{name!r} is both a special and an ordinary token")
        if len(taken) < len(special_tokens) or any(not 0 <= number < size for number in taken):
            raise TreetokError(f"the ids of the special tokens must be different and below {size}")
        free = [number for number in range(size) if number not in taken]
        self.names: list[str] = [""] * size
        self.bytes: list[bytes] = [b""] * size
        # How many characters of a word a token stands for. Of the bytes of one character the first stands for
        # it, the others for none; the unknown token stands for one.
        self.lengths: list[int] = [1] * size
        self.id_of_piece: dict[str, int] = {}
        self.id_of_byte: dict[int, int] = {}
        for number, entry in zip(free, entries, strict=True):
            if isinstance(entry, int):
                self.id_of_byte[entry] = number
                self.names[number], self.bytes[number] = byte_name(entry), bytes([entry])
                self.lengths[number] = int(entry >= 0xC0)
            else:
                self.id_of_piece[entry] = number
                self.names[number], self.bytes[number] = entry, entry.encode()
                self.lengths[number] = len(entry)
        for name, number in special_tokens.items():
            self.names[number], self.bytes[number] = name, name.encode()
        if len(self.id_of_piece) + len(self.id_of_byte) < len(entries):
            raise TreetokError("a token stands twice in the vocabulary")
        if byte_fallback:
            for byte in ASCII:
                if chr(byte) not in self.id_of_piece:
                    raise TreetokError(f"the vocabulary lacks the character {chr(byte)!r}")
            for byte in HIGH_BYTES:
                if byte not in self.id_of_byte:
                    raise TreetokError(f"the vocabulary lacks the byte {byte_name(byte)}")
        elif UNKNOWN not in special_tokens:
            raise TreetokError(f"the vocabulary lacks the special token {UNKNOWN}")
        self.byte_fallback = byte_fallback
        self.id_of_name = {name: number for number, name in enumerate(self.names)} | self.special_tokens

    def __len__(self) -> int:
        return len(self.names)

    def ids_of_piece(self, piece: str) -> tuple[int, ...]:
        """The id of a piece; a character outside the vocabulary becomes its bytes or the unknown token."""
        number = self.id_of_piece.get(piece)
        if number is not None:
            return (number,)
        if self.byte_fallback:
            return tuple(self.id_of_byte[byte] for byte in piece.encode())
        return (self.special_tokens[UNKNOWN],)

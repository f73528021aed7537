"""Decoding ids as they come, for generation loops."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable

from treetok.markers import Marker
from treetok.token_table import TokenTable


class DecodeStream:
    """Decodes ids one by one or several at once. Half a character (an unfinished UTF-8 sequence) is held back
    until it is complete, so what is returned never has to be taken back: joined, it is what `decode` returns."""

    def __init__(self, table: TokenTable, separator: str, skipped_ids: Collection[int] = ()) -> None:
        self._table, self._separator, self._skipped_ids = table, separator.encode(), frozenset(skipped_ids)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_first = True
        self._before: list[Marker] = []

    def step(self, token_id: int) -> str:
        """The text completed by this id, possibly empty."""
        return self.extend([token_id])

    def extend(self, token_ids: Iterable[int]) -> str:
        """The text completed by these ids, possibly empty. If one is not the id of a token, none is used."""
        numbers = [self._table.checked_id(token_id) for token_id in token_ids]
        parts = []
        for number in numbers:
            if number in self._skipped_ids:
                continue
            if not self._is_first:
                parts.append(self._separator)
            self._is_first = False
            parts.append(self._table.bytes_behind(self._before, number))
        return self._decoder.decode(b"".join(parts))

    def finish(self) -> str:
        """Call after the last id: returns U+FFFD for an unfinished UTF-8 sequence, otherwise an empty string. Then
        the next text can begin."""
        self._is_first = True
        self._before.clear()
        return self._decoder.decode(b"", final=True)

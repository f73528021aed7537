"""Decoding one id at a time, for generation loops."""

from __future__ import annotations

import codecs

from treetok.markers import Marker
from treetok.token_table import TokenTable


class DecodeStream:
    """Decodes one id at a time; an unfinished UTF-8 sequence is held back until it is complete."""

    def __init__(self, table: TokenTable, separator: str) -> None:
        self._table, self._separator = table, separator.encode()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_first = True
        self._before: list[Marker] = []

    def step(self, token_id: int) -> str:
        """The text completed by this id, possibly empty."""
        token = self._table.bytes_behind(self._before, self._table.checked_id(token_id))
        if not self._is_first:
            token = self._separator + token
        self._is_first = False
        return self._decoder.decode(token)

    def finish(self) -> str:
        """Call after the last id: returns U+FFFD for an unfinished UTF-8 sequence, otherwise an empty string."""
        return self._decoder.decode(b"", final=True)

"""Decoding one id at a time, for generation loops."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

from treetok.token_table import TokenTable


class DecodeStream:
    """Decodes one id at a time; an unfinished UTF-8 sequence is held back until it is complete."""

    def __init__(self, table: TokenTable, separator: str, checked_id: Callable[[Any], int]) -> None:
        self._table, self._separator, self._checked_id = table, separator.encode(), checked_id
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._before: int | None = None

    def step(self, token_id: int) -> str:
        """The text completed by this id, possibly empty."""
        token_id = self._checked_id(token_id)
        token = self._table.bytes_after(self._before, token_id)
        if self._before is not None:
            token = self._separator + token
        self._before = token_id
        return self._decoder.decode(token)

    def finish(self) -> str:
        """Call after the last id: returns U+FFFD for an unfinished UTF-8 sequence, otherwise an empty string."""
        return self._decoder.decode(b"", final=True)

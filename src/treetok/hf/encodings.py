"""A batch laid out as a model reads it: special tokens put in, truncated, padded.

All but the ids is computed when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from treetok.cached_property import cached_property
from treetok.hf.text_encoder import Text, TextEncoder
from treetok.hf.truncation import Side, Span

Value = TypeVar("Value")
NOWHERE = (0, 0)


class Template(NamedTuple):
    """The special tokens before, between and after sequences, their type ids, and those of the sequences."""

    specials: list[list[int]]
    types_of_specials: list[list[int]]
    types: list[int]

    def __len__(self) -> int:
        return sum(map(len, self.specials))

    def filled(self, value: Value) -> list[list[Value]]:
        """A value for each special token."""
        return [[value] * len(tokens) for tokens in self.specials]


class Padding(NamedTuple):
    # None: to the longest row.
    length: int | None
    multiple_of: int | None
    side: Side
    token_id: int
    type_id: int

    def to(self, lengths: Sequence[int]) -> Padding:
        """With the length that rows of these lengths are padded to."""
        length = max(lengths, default=0) if self.length is None else self.length
        if self.multiple_of:
            length += -length % self.multiple_of
        return self._replace(length=length)


class Row(NamedTuple):
    """One row of the output: the text or pair it is from, and the tokens of each text that are in it."""

    sample: int
    spans: tuple[Span, ...]

    def numbers(self, values: Sequence[Value]) -> list[list[Value]]:
        """A value for each token of each text."""
        return [[value] * (end - start) for value, (start, end) in zip(values, self.spans, strict=True)]


@dataclass(frozen=True)
class Encoding:
    """One row of a batch, with the attributes and methods of `tokenizers.Encoding`."""

    ids: list[int]
    tokens: list[str]
    type_ids: list[int]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    # Where each token is in its text, to which word of the text and to which text of a pair it belongs.
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]
    sequence_ids: list[int | None]
    n_sequences: int

    def __len__(self) -> int:
        return len(self.ids)

    def token_to_sequence(self, token: int) -> int | None:
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The token that covers a character."""
        for token, (start, end) in enumerate(self.offsets):
            if start <= char < end and self.sequence_ids[token] == sequence:
                return token
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        tokens = [
            token
            for token, places in enumerate(zip(self.sequence_ids, self.word_ids, strict=True))
            if places == (sequence, word)
        ]
        return (tokens[0], tokens[-1] + 1) if tokens else None

    def word_to_chars(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


class Encodings(Sequence[Encoding]):
    """The rows of a batch.

    texts, ids: those of the first texts of all samples and, for pairs, those of the second.
    rows: None if they are the samples as they are, in full.
    as_arrays: whether columns are arrays, for tensors, if all rows are of one length.
    """

    def __init__(
        self,
        encoder: TextEncoder,
        texts: Sequence[Sequence[Text]],
        ids: Sequence[list[list[int]]],
        rows: list[Row] | None,
        template: Template,
        padding: Padding | None,
        names_of: Callable[[list[int]], list[str]],
        as_arrays: bool,
    ) -> None:
        self._encoder, self._texts, self._template, self._names_of = encoder, texts, template, names_of
        if rows is not None:
            unpadded = [
                between(template.specials, cut([of_all[row.sample] for of_all in ids], row)) for row in rows
            ]
        elif not len(template) and len(ids) == 1:
            unpadded = ids[0]
        else:
            unpadded = [between(template.specials, of_texts) for of_texts in zip(*ids, strict=True)]
        self._rows = rows
        self._lengths_of_texts = [list(map(len, of_all)) for of_all in ids]
        # Without padding.
        self.lengths = list(map(len, unpadded))
        self._padding = None if padding is None else padding.to(self.lengths)
        self._is_token = is_token(self.lengths, self._padding) if as_arrays else None
        self.input_ids = self._padded(unpadded, padding.token_id if padding else 0)

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> Encoding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Encoding]: ...
    def __getitem__(self, index: int | slice) -> Encoding | list[Encoding]:
        if isinstance(index, slice):
            return [self._encoding(number) for number in range(len(self))[index]]
        return self._encoding(range(len(self))[index])

    def __reduce__(self) -> tuple[type[list[Encoding]], tuple[list[Encoding]]]:
        # Other processes get plain data, not the tokenizer.
        return list, (list(self),)

    # ---- columns: a list for each row, or an array

    def attention_masks(self) -> Any:
        if self._is_token is not None:
            return self._is_token.astype(np.int64)
        return self._padded([[1] * length for length in self.lengths], 0)

    def special_tokens_masks(self) -> Any:
        specials, zeros = self._template.filled(1), [0] * len(self._texts)
        return self._padded([between(specials, row.numbers(zeros)) for row in self.rows], 1)

    def type_ids(self) -> Any:
        _, specials, types = self._template
        if len(types) == 1 and not any(chain(types, *specials)):
            unpadded = [[0] * length for length in self.lengths]
        else:
            unpadded = [between(specials, row.numbers(types)) for row in self.rows]
        return self._padded(unpadded, self._padding.type_id if self._padding else 0)

    def offsets(self) -> Any:
        specials = self._template.filled(NOWHERE)
        of_texts = [[text.offsets for text in self._encoder.align(texts)] for texts in self._texts]
        unpadded = [between(specials, cut([of_all[row.sample] for of_all in of_texts], row)) for row in self.rows]
        return self._padded(unpadded, NOWHERE)

    def _padded(self, rows: list[list[Any]], value: Any) -> Any:
        if self._is_token is None:
            return rows if self._padding is None else [padded(row, self._padding, value) for row in rows]
        array = np.full((*self._is_token.shape, *np.shape(value)), value, dtype=np.int64)
        values = chain.from_iterable(rows)
        array[self._is_token] = np.fromiter(values, dtype=(np.int64, np.shape(value)), count=sum(self.lengths))
        return array

    # ---- one row

    def _encoding(self, number: int) -> Encoding:
        row, template, padding = self.rows[number], self._template, self._padding
        aligned = [self._encoder.align([texts[row.sample]])[0] for texts in self._texts]
        ids = between(template.specials, cut([text.ids for text in aligned], row))
        nothing: list[list[int | None]] = template.filled(None)
        numbers: list[int | None] = [0, 1]
        sequence_ids = between(nothing, row.numbers(numbers[: len(aligned)]))
        padded_ids = padded(ids, padding, padding.token_id if padding else 0)
        return Encoding(
            ids=padded_ids,
            tokens=self._names_of(padded_ids),
            type_ids=padded(
                between(template.types_of_specials, row.numbers(template.types)),
                padding,
                padding.type_id if padding else 0,
            ),
            attention_mask=padded([1] * len(ids), padding, 0),
            special_tokens_mask=padded([int(sequence is None) for sequence in sequence_ids], padding, 1),
            offsets=padded(
                between(template.filled(NOWHERE), cut([text.offsets for text in aligned], row)), padding, NOWHERE
            ),
            word_ids=padded(between(nothing, cut([text.words for text in aligned], row)), padding, None),
            sequence_ids=padded(sequence_ids, padding, None),
            n_sequences=len(aligned),
        )

    @cached_property
    def rows(self) -> list[Row]:
        if self._rows is not None:
            return self._rows
        of_samples = zip(*self._lengths_of_texts, strict=True)
        return [Row(sample, tuple((0, length) for length in lengths)) for sample, lengths in enumerate(of_samples)]


def between(specials: Sequence[list[Value]], sequences: Sequence[list[Value]]) -> list[Value]:
    """
    >>> between([["CLS"], ["SEP"], ["SEP"]], [["a", "b"], ["c"]])
    ['CLS', 'a', 'b', 'SEP', 'c', 'SEP']
    """
    joined = [*specials[0], *sequences[0], *specials[1]]
    for sequence, special in zip(sequences[1:], specials[2:], strict=True):
        joined += sequence
        joined += special
    return joined


def cut(values: Sequence[list[Value]], row: Row) -> list[list[Value]]:
    """The values of the tokens that are in a row."""
    return [of_text[slice(*span)] for of_text, span in zip(values, row.spans, strict=True)]


def is_token(lengths: Sequence[int], padding: Padding | None) -> npt.NDArray[np.bool_] | None:
    """Where in an array of all rows tokens are, not padding; None if rows differ in length."""
    longest = max(lengths, default=0)
    width = longest if padding is None or padding.length is None else padding.length
    if longest > width or (padding is None and lengths and min(lengths) < longest):
        return None
    columns, of_rows = np.arange(width), np.array(lengths, dtype=np.int64)[:, None]
    return columns >= width - of_rows if padding is not None and padding.side == "left" else columns < of_rows


def padded(row: list[Value], padding: Padding | None, value: Value) -> list[Value]:
    if padding is None or padding.length is None or len(row) >= padding.length:
        return row
    missing = [value] * (padding.length - len(row))
    return row + missing if padding.side == "right" else missing + row

"""The texts of JSON Lines and Parquet files, each with the number of its row, from 0."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import IO, Any

from treetok.corpus.lines import LONGEST_LINE, decode, read_lines
from treetok.errors import TreetokError
from treetok.text import check_encodable

# Of a Parquet file.
ROWS_AT_ONCE = 4096
BYTES_AT_ONCE = 1 << 20
TEXT_AT_ONCE = 1 << 24
# Characters of names of columns and types in an error message.
LONGEST_SHOWN = 200

# Called with the number of bytes read from the file so far.
Report = Callable[[int], object]


class NoTextColumn(TreetokError):
    """A row or file has no text under the name that was asked for, which may be wrong."""


def read_json_lines(stream: IO[bytes], name: object, text_column: str) -> Iterator[tuple[int, str]]:
    for line, row in read_lines(stream, name):
        if not row.strip():
            continue
        try:
            # Only the text is used. As numbers, long ones would be refused.
            value = json.loads(decode(row, name, line).removeprefix("\ufeff"), parse_int=float)
        except ValueError as error:
            raise TreetokError(f"{name}, line {line}: not JSON ({error})") from None
        except RecursionError:
            raise TreetokError(f"{name}, line {line}: JSON is nested too deeply") from None
        if not isinstance(value, dict) or text_column not in value:
            raise NoTextColumn(f"{name}, line {line}: no text under the key {text_column!r}")
        text = value[text_column]
        if text is None:
            continue
        if not isinstance(text, str):
            raise NoTextColumn(f"{name}, line {line}: no text under the key {text_column!r}")
        try:
            check_encodable(text)
        except TreetokError as error:
            raise TreetokError(f"{name}, line {line}: {error}") from None
        yield line - 1, text


def read_parquet(raw: IO[bytes], name: object, text_column: str, report: Report) -> Iterator[tuple[int, str]]:
    try:
        import pyarrow.parquet
        from pyarrow import types
    except ImportError:
        raise TreetokError(f"reading {name} needs pyarrow: pip install pyarrow") from None
    try:
        size = raw.seek(0, io.SEEK_END)
        with pyarrow.parquet.ParquetFile(raw) as file:
            check_column(file.schema_arrow, name, text_column)
            largest, longest = sizes_of_text(file.metadata, text_column)
        # As a dictionary, since a few bytes can say that all rows have the same long text. A dictionary would keep
        # all texts, so not if there is much of them; then there are few rows at once instead.
        has_dictionary = largest <= TEXT_AT_ONCE
        at_once = max(1, min(ROWS_AT_ONCE, TEXT_AT_ONCE // longest))
        kept = [text_column] if has_dictionary else None
        with pyarrow.parquet.ParquetFile(raw, read_dictionary=kept, buffer_size=BYTES_AT_ONCE) as file:
            row, rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(at_once, columns=[text_column], use_threads=False):
                column = batch.column(0)
                if types.is_dictionary(column.type):
                    texts, numbers = column.dictionary, column.indices.to_pylist()
                else:
                    texts, numbers = column, range(len(column))
                for number in numbers:
                    text = None if number is None else texts[number].as_buffer()
                    if text is not None:
                        yield row, text_of_cell(text, name, row)
                    row += 1
                report(min(size, size * row // rows))
    except (TreetokError, MemoryError, OSError):
        raise
    except Exception as error:
        # Damaged data can make the library raise anything.
        raise TreetokError(f"{name} is damaged or does not match its file extension: {error}") from None


def sizes_of_text(metadata: Any, text_column: str) -> tuple[int, int]:
    """According to the file: how many bytes the texts of a group of rows have at most, and a text in the mean of
    its group."""
    largest = longest = 1
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema == text_column and group.num_rows:
                largest = max(largest, column.total_uncompressed_size)
                longest = max(longest, column.total_uncompressed_size // group.num_rows)
    return largest, longest


def check_column(schema: Any, name: object, text_column: str) -> None:
    from pyarrow import types

    names = schema.names
    if names.count(text_column) != 1:
        shown = ", ".join(names)[:LONGEST_SHOWN]
        how = "no" if text_column not in names else "more than one"
        raise NoTextColumn(f"{name} has {how} column {text_column!r}; it has: {shown}")
    found = schema.field(text_column).type
    kind = found.value_type if types.is_dictionary(found) else found
    can_be_text = (
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_binary,
        types.is_large_binary,
        types.is_binary_view,
    )
    if not any(is_kind(kind) for is_kind in can_be_text):
        raise NoTextColumn(f"{name}: the column {text_column!r} holds {str(found)[:LONGEST_SHOWN]}, not text")


def text_of_cell(cell: Any, name: object, row: int) -> str:
    """Text that writers of Parquet are to encode as UTF-8, which few of them check."""
    if cell.size > LONGEST_LINE:
        raise TreetokError(f"{name}, row {row}: the text has more than {LONGEST_LINE >> 20} MiB")
    try:
        return str(cell, "utf-8")
    except UnicodeDecodeError as error:
        raise TreetokError(f"{name}, row {row}: byte 0x{cell[error.start]:02x} is not UTF-8") from None

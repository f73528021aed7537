"""Encode every shard to a Parquet file, with one row for each document.

source      the path or URL of the file
row         the number of the row (or line of JSON Lines) in it, from 0; 0 for plain text, which is one document
offset      where this piece of the document begins, in bytes: plain text of more than 16 MB has several pieces
ids         the ids
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import daft
import numpy as np
import numpy.typing as npt
import pyarrow

from treetok.cached_property import cached_property
from treetok.cluster.engine import choose_engine
from treetok.cluster.read_shard import check_text_column, label_of, open_shard, plain_text
from treetok.cluster.run_shards import run_shards
from treetok.cluster.shard_folder import ShardFolder
from treetok.cluster.shards import DEFAULT_SHARD_BYTES, Shard, cut_into_shards
from treetok.cluster.sources import list_sources
from treetok.corpus.blocks import blocks_of_words
from treetok.corpus.lines import decode
from treetok.corpus.opening import reading_errors
from treetok.corpus.reading import BLOCK_BYTES, has_rows, rows_in
from treetok.encode_files import ENCODED_AT_ONCE, checked_dtype
from treetok.errors import TreetokError
from treetok.progress import Progress
from treetok.storage.format import HEAD
from treetok.storage.save import contents_of_files
from treetok.tokenizer import TreeTokenizer

Ids = npt.NDArray[np.uint32]
# Of some pieces of documents: rows, offsets, and ids as `encode_flat` returns them.
Piece = tuple[list[int], list[int], Ids, npt.NDArray[np.uint64]]


def encode_to_parquet(
    tokenizer: TreeTokenizer,
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    end: str | None = None,
    text_column: str = "text",
    runner: str | None = None,
    ray_address: str | None = None,
    threads: int | None = None,
    shard_bytes: int = DEFAULT_SHARD_BYTES,
    force: bool = False,
    progress: bool | Callable[[str, int, int | None], object] = True,
) -> int:
    """Encode files to a folder of Parquet files, and return how many ids it has in all. Shards that an earlier
    run finished are not done again.

    inputs: files, folders, patterns and URLs, in any format that is read elsewhere.
    output: a folder or URL that all workers can write to.
    dtype: uint16 or uint32 (default: uint16 if it can hold all ids).
    end: a special token to write after every document: after a file of plain text, and after each row.
    runner, ray_address, threads: see `choose_engine`.
    shard_bytes: larger files are cut, if they are plain text.
    force: replace results of another model, of other settings or other inputs.
    """
    kind = checked_dtype(dtype, tokenizer.vocab_size)
    if end is not None and end not in tokenizer.special_tokens:
        raise TreetokError(f"{end!r} is not a special token of this tokenizer")
    engine = choose_engine(runner, ray_address=ray_address, threads=threads)
    sources = list_sources(inputs)
    for name, times in Counter(source.name for source in sources).items():
        if times > 1:
            raise TreetokError(f"{name} is given more than once")
    shards = cut_into_shards(sources, shard_bytes)
    settings = {
        "task": "encode",
        "model": hashlib.sha256(contents_of_files(tokenizer.state)[HEAD]).hexdigest()[:16],
        "dtype": str(kind),
        "end": end,
        "text_column": text_column,
        "shard_bytes": shard_bytes,
    }
    folder = ShardFolder(output)
    work = EncodeShard(
        folder,
        pickled(tokenizer),
        str(kind),
        None if end is None else tokenizer.special_tokens[end],
        text_column,
        daft.get_context().daft_planning_config.default_io_config,
    )
    check_text_column(shards, text_column, work.io_config)
    run_shards(engine, work, folder, shards, settings, "encoding", Progress(progress), force)
    return sum(facts["ids"] for facts in folder.facts(shard.name for shard in shards))


def pickled(tokenizer: TreeTokenizer) -> bytes:
    try:
        return pickle.dumps(tokenizer)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TreetokError(f"the tokenizer cannot be sent to workers: {error}") from None


@dataclass(frozen=True)
class EncodeShard:
    """Encodes a shard. The tokenizer is pickled: Daft may keep what it is given until Python exits, which is too
    late for objects of the native core."""

    folder: ShardFolder
    pickled: bytes
    dtype: str
    end_id: int | None
    text_column: str
    io_config: Any

    @cached_property
    def tokenizer(self) -> TreeTokenizer:
        tokenizer: TreeTokenizer = pickle.loads(self.pickled)
        return tokenizer

    def __call__(self, shard: Shard) -> None:
        kind = np.dtype(self.dtype)
        ids_type = pyarrow.list_(pyarrow.from_numpy_dtype(kind))
        schema = pyarrow.schema(
            [
                ("source", pyarrow.string()),
                ("row", pyarrow.int64()),
                ("offset", pyarrow.int64()),
                ("ids", ids_type),
            ]
        )
        count = 0

        def tables(raw: IO[bytes]) -> Iterator[pyarrow.Table]:
            nonlocal count
            with reading_errors(shard.source):
                for rows, offsets, ids, ends in self._pieces(raw, shard):
                    count += len(ids)
                    lists = pyarrow.ListArray.from_arrays(ends.astype(np.int32), ids.astype(kind, copy=False))
                    yield pyarrow.table([[shard.source] * len(rows), rows, offsets, lists], schema=schema)

        with open_shard(shard, self.io_config) as raw:
            self.folder.write(shard.name, schema, tables(raw), lambda: {"ids": count})

    def _pieces(self, raw: IO[bytes], shard: Shard) -> Iterator[Piece]:
        return self._rows(raw, shard) if has_rows(shard.source) else self._plain(raw, shard)

    def _rows(self, raw: IO[bytes], shard: Shard) -> Iterator[Piece]:
        for group in together(rows_in(raw, shard.source, self.text_column)):
            ids, ends = self.tokenizer.encode_flat([text for _, text in group])
            if self.end_id is not None:
                ids = np.insert(ids, ends[1:].astype(np.int64), np.uint32(self.end_id))
                ends = np.add(ends, np.arange(len(ends)), dtype=np.uint64, casting="unsafe")
            yield [row for row, _ in group], [0] * len(group), ids, ends

    def _plain(self, raw: IO[bytes], shard: Shard) -> Iterator[Piece]:
        """A text is one document, in pieces: one for each block that is encoded at once."""
        with plain_text(raw, shard) as (start, stream):
            label, offset = label_of(shard, start), start
            last: tuple[int, Ids] | None = None
            for line, block in blocks_of_words(iter(lambda: stream.read(BLOCK_BYTES), b""), ENCODED_AT_ONCE):
                if last is not None:
                    yield one_piece(*last)
                last = offset, self.tokenizer.encode_flat([decode(block, label, line)])[0]
                offset += len(block)
        assert last is not None
        if self.end_id is not None and shard.stop == shard.size:
            last = last[0], np.append(last[1], np.uint32(self.end_id))
        # Where a text has no spaces, the next cut may be that of the next shard.
        if len(last[1]) or shard.is_whole:
            yield one_piece(*last)


def one_piece(offset: int, ids: Ids) -> Piece:
    return [0], [offset], ids, np.array([0, len(ids)], dtype=np.uint64)


def together(rows: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Rows in groups of bounded size."""
    group: list[tuple[int, str]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row[1])
        if size >= ENCODED_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group

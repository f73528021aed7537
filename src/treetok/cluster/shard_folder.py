"""The folder of results, one Parquet file per shard: what is done, and what has changed since.

A finished shard is the file with its name: files are written under another name first, then renamed, so that a
worker which is killed leaves nothing that looks finished. The manifest records the settings and the shards.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.fs
import pyarrow.parquet

from treetok.cached_property import cached_property
from treetok.cluster.shards import Shard
from treetok.cluster.sources import is_url
from treetok.errors import TreetokError, first_difference
from treetok.storage.locks import SECONDS_UNTIL_STALE
from treetok.storage.replace_file import UNFINISHED, remove_abandoned, replaced_when_complete

MANIFEST = "_treetok.json"
VERSION = 1
RESULT = ".parquet"
# The key of what is recorded about a shard in its own file.
FACTS = "treetok"
FILES_AT_ONCE = 32


class ShardFolder:
    """A local folder, or one in an object store; workers get it by name."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        if not isinstance(place, str | os.PathLike) or not os.fspath(place):
            raise TreetokError(f"not the name of a folder: {place!r}")
        given = os.fspath(place).removeprefix("file://")
        self.place = given if is_url(given) else str(Path(given).absolute())

    def __getstate__(self) -> dict[str, str]:
        return {"place": self.place}

    def __str__(self) -> str:
        return self.place

    @cached_property
    def _opened(self) -> tuple[pyarrow.fs.FileSystem, str]:
        if not is_url(self.place):
            return pyarrow.fs.LocalFileSystem(), self.place
        try:
            filesystem, path = pyarrow.fs.FileSystem.from_uri(self.place)
        except (OSError, ValueError) as error:
            raise TreetokError(f"cannot write to {self.place}: {error}") from None
        return filesystem, path.rstrip("/")

    @property
    def _filesystem(self) -> pyarrow.fs.FileSystem:
        return self._opened[0]

    @property
    def _is_local(self) -> bool:
        return isinstance(self._filesystem, pyarrow.fs.LocalFileSystem)

    def path(self, name: str) -> str:
        """The path of a file, for pyarrow."""
        return f"{self._opened[1]}/{name}"

    def url(self, name: str) -> str:
        """The path or URL of a file, for Daft."""
        return f"{self.place.rstrip('/')}/{name}"

    # ---- what is there

    def files(self) -> set[str]:
        if not is_url(self.place) and Path(self.place).exists() and not Path(self.place).is_dir():
            raise TreetokError(
                f"cannot write to {self}: it is a file, and the results are a folder of Parquet files"
            )
        selector = pyarrow.fs.FileSelector(self._opened[1], allow_not_found=True)
        try:
            return {info.base_name for info in self._filesystem.get_file_info(selector) if info.is_file}
        except OSError as error:
            raise TreetokError(f"cannot list {self}: {error}") from None

    def prepare(self, settings: Mapping[str, Any], shards: Sequence[Shard], force: bool) -> set[str]:
        """Make the folder ready for a run, and return the names of the shards that are done already.

        Raises TreetokError if it has results of other settings or sources, unless `force` removes these.
        """
        files = self.files()
        manifest = self._read_manifest() if MANIFEST in files else None
        done = {name for name in files if name.endswith(RESULT)}
        foreign = done - (manifest["shards"].keys() if manifest else set())
        if foreign:
            raise TreetokError(f"treetok did not write {self.url(min(foreign))}: choose another folder")
        described = json.loads(json.dumps(settings))
        recorded: dict[str, Any] = {}
        if manifest is not None and manifest["settings"] == described:
            recorded = manifest["shards"]
            if not force:
                self._check_sources(recorded, shards, done)
        elif manifest is not None and not force:
            difference = first_difference(manifest["settings"], described)
            raise TreetokError(
                f"{self} was made with other settings ({difference}): choose another folder, or pass --force to"
                " replace what is there"
            )
        kept = {shard.name for shard in shards if recorded.get(shard.name) == list(astuple(shard))} & done
        with self._writing_errors():
            if self._is_local:
                self._filesystem.create_dir(self._opened[1])
            self._delete(done - kept)
            plan = {shard.name: astuple(shard) for shard in shards}
            content = json.dumps({"version": VERSION, "settings": described, "shards": plan}, indent=1)
            with self._whole_file(MANIFEST) as file:
                file.write(content.encode("utf-8", "surrogateescape"))
        return kept

    def remove_unfinished(self) -> None:
        """Remove what workers that were killed have left behind. Another run may be writing to the same folder:
        where that cannot be told, only what is old is removed."""
        with self._writing_errors():
            if self._is_local:
                remove_abandoned(Path(self._opened[1]))
                return
            selector = pyarrow.fs.FileSelector(self._opened[1], allow_not_found=True)
            for info in self._filesystem.get_file_info(selector):
                is_unfinished = info.is_file and info.base_name.endswith(UNFINISHED)
                if is_unfinished and time.time() - info.mtime.timestamp() > SECONDS_UNTIL_STALE:
                    self._delete([info.base_name])

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                self._filesystem.delete_file(self.path(name))

    def _read_manifest(self) -> dict[str, Any]:
        try:
            with self._filesystem.open_input_stream(self.path(MANIFEST)) as file:
                manifest: dict[str, Any] = json.loads(file.read().decode("utf-8", "surrogateescape"))
            if manifest["version"] == VERSION and {"settings", "shards"} <= manifest.keys():
                return manifest
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        raise TreetokError(f"{self.url(MANIFEST)} is damaged or of another version: choose another folder")

    def _check_sources(self, recorded: Mapping[str, Any], shards: Sequence[Shard], done: set[str]) -> None:
        """A source that has changed is done again; one that is missing may be a mistake."""
        sources = {shard.source for shard in shards}
        for name in sorted(done):
            source = recorded[name][0]
            if source not in sources:
                raise TreetokError(
                    f"{self} has results of {source}, which is not given now: give it, too, choose another folder,"
                    " or pass --force to remove them"
                )

    # ---- results

    def has(self, name: str) -> bool:
        info: pyarrow.fs.FileInfo = self._filesystem.get_file_info(self.path(name))
        return bool(info.is_file)

    def write(
        self,
        name: str,
        schema: pyarrow.Schema,
        tables: Iterable[pyarrow.Table],
        facts: Callable[[], Mapping[str, Any]],
    ) -> None:
        """Write the results of a shard. `facts` are asked for when all tables are written."""
        with (
            self._writing_errors(),
            self._whole_file(name) as file,
            pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            for table in tables:
                writer.write_table(table)
            writer.add_key_value_metadata({FACTS: json.dumps(facts())})

    def facts(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """What was recorded about shards when they were finished."""
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
            return list(pool.map(self._facts_of, names))

    def _facts_of(self, name: str) -> dict[str, Any]:
        try:
            with self._filesystem.open_input_file(self.path(name)) as file:
                metadata = pyarrow.parquet.read_metadata(file).metadata
            facts: dict[str, Any] = json.loads(metadata[FACTS.encode()])
            return facts
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise TreetokError(f"{self.url(name)} is damaged: remove it and run again ({error})") from None

    @contextlib.contextmanager
    def _whole_file(self, name: str) -> Iterator[Any]:
        """A file that appears when it is complete."""
        if self._is_local:
            with replaced_when_complete(Path(self.path(name))) as local:
                yield local
            return
        beside = self.path(f".{name}.{uuid.uuid4().hex}{UNFINISHED}")
        try:
            with self._filesystem.open_output_stream(beside) as remote:
                yield remote
            # Object stores cannot rename, but a copy appears there when it is complete.
            self._filesystem.copy_file(beside, self.path(name))
            self._filesystem.delete_file(beside)
        except BaseException:
            with contextlib.suppress(OSError):
                self._filesystem.delete_file(beside)
            raise

    @contextlib.contextmanager
    def _writing_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TreetokError(f"cannot write to {self}: {error.strerror or error}") from None

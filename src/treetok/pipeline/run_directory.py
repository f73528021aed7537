"""The directory of a run: the finished stages, their inputs and their artefacts.

`run.json` records every finished stage: its inputs, the SHA-256 of its artefacts, its figures, seconds and peak
memory. A stage is skipped if its inputs are unchanged and its artefacts intact; if artefacts are damaged or
missing, the stage is run again with a warning. Without a directory nothing is written and every stage is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treetok.errors import TreetokError, TreetokWarning, first_difference
from treetok.pipeline.artefacts import Format
from treetok.pipeline.peak_memory import peak_memory, reset_peak_memory
from treetok.storage.atomic import LOCK, checked_target, finish_saves, open_file, save_atomically

RUN = "run.json"
VERSION = 1

# The result of a stage: its artefacts by file name, and figures for the record.
Made = tuple[dict[str, Any], dict[str, Any]]


class Artefacts:
    """The artefacts of a stage, loaded on first access."""

    def __init__(
        self, formats: Mapping[str, Format[Any]], sha256: Mapping[str, str], read: Callable[[str], bytes]
    ):
        self._formats, self._read = formats, read
        self.sha256 = dict(sha256)
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = self._formats[name].load(self._read(name))
        return self._values[name]


@dataclass(frozen=True)
class StageRecord:
    """A finished stage. `seconds` is the total over all runs that worked on it (except runs that were killed),
    `peak_memory` that of the run that finished it."""

    inputs: dict[str, Any]
    sha256: dict[str, str]
    figures: dict[str, Any]
    seconds: float
    peak_memory: dict[str, int]


@dataclass
class Run:
    """
    identity: what must be unchanged to resume a run; anything else may change, and the stages that depend on it
        are run again.
    is_writer: only one of several processes writes files.
    """

    directory: Path | None
    identity: dict[str, Any]
    is_writer: bool = True
    records: dict[str, StageRecord] = field(default_factory=dict)
    # Unfinished stages: their inputs, and the seconds spent so far.
    started: dict[str, dict[str, Any]] = field(default_factory=dict)
    done_before: set[str] = field(default_factory=set)
    # The stage that is running.
    current: str = ""

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str] | None,
        identity: Mapping[str, Any],
        resume: bool,
        is_writer: bool = True,
        force: bool = False,
    ) -> Run:
        """Start a run, or resume one. With `force`, an earlier run is resumed if possible, otherwise replaced."""
        described: dict[str, Any] = json.loads(json.dumps(identity))
        if directory is None:
            if resume:
                raise TreetokError("there is nothing to resume: no directory was given")
            return cls(None, described)
        place = checked_target(directory, (), RUN)
        if not is_writer and not (resume or force):
            # Another process writes there; this one must not look at its files.
            return cls(None, described)
        if is_writer and (place / RUN).exists():
            finish_saves(place, RUN)
        if force:
            return cls._resumed_or_new(place, described, is_writer)
        if not (place / RUN).exists():
            if (place / "words.tsv").exists():
                raise TreetokError(f"{place} has files of a run, but {RUN} is missing: remove it to begin anew")
            return cls(place, described, is_writer)
        saved = read_json(place / RUN)
        if not resume:
            if has_models(saved):
                raise TreetokError(f"{place} has an earlier run: continue it with --resume, or pass --force")
            return cls(place, described, is_writer)
        run = cls(place, described, is_writer)
        run._load(saved)
        return run

    @classmethod
    def _resumed_or_new(cls, place: Path, identity: dict[str, Any], is_writer: bool) -> Run:
        """Nothing is removed here: a new run replaces the files of an old one as its stages finish."""
        run = cls(place, identity, is_writer)
        with contextlib.suppress(TreetokError):
            run._load(read_json(place / RUN))
            return run
        # A process that does not write must not look at files that another one is replacing.
        return cls(place if is_writer else None, identity, is_writer)

    def _load(self, saved: Any) -> None:
        assert self.directory is not None
        path = self.directory / RUN
        try:
            if saved["version"] != VERSION:
                raise TreetokError(
                    f"{path} is of another version of treetok: remove {self.directory} to begin anew"
                )
            there = saved["identity"]
            self.records = {name: StageRecord(**record) for name, record in saved["stages"].items()}
            self.started = dict(saved["started"])
        except (KeyError, TypeError, AttributeError):
            raise TreetokError(f"{path} is damaged: remove {self.directory} to begin anew") from None
        if there != self.identity:
            difference = first_difference(there, self.identity)
            raise TreetokError(
                f"{self.directory} has the run of another training: {difference};"
                " choose another directory, or remove it to begin anew"
            )

    def place(self, stage: str) -> Path | None:
        """Where the checkpoints and logs of a stage are."""
        return None if self.directory is None else self.directory / stage

    def folder(self, stage: str) -> Path | None:
        """Like `place`, but None in a process that must not write."""
        return self.place(stage) if self.is_writer else None

    def stage(
        self,
        name: str,
        inputs: Mapping[str, Any],
        formats: Mapping[str, Format[Any]],
        work: Callable[[], Made],
    ) -> Artefacts:
        """Run a stage unless it is finished; returns its artefacts."""
        described: dict[str, Any] = json.loads(json.dumps(inputs))
        if (found := self._found(name, described, formats)) is not None:
            self.done_before.add(name)
            # A run that was killed may have left them.
            self._remove_checkpoints(name)
            return found
        before, self.current = self.current, name
        self._start(name, described)
        began = time.monotonic()
        reset_peak_memory()
        try:
            values, figures = work()
        except BaseException:
            self._add_seconds(name, time.monotonic() - began)
            raise
        contents = {file: formats[file].dump(value) for file, value in values.items()}
        sha256 = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
        earlier = self.started.pop(name, {}).get("seconds", 0.0)
        seconds = round(earlier + time.monotonic() - began, 2)
        self.records[name] = StageRecord(described, sha256, figures, seconds, peak_memory())
        self._save(contents)
        self._remove_checkpoints(name)
        self.current = before
        # Decoded from bytes as if read from the files, so that a resumed run continues from the same values.
        return Artefacts(formats, sha256, contents.__getitem__)

    def _found(self, name: str, inputs: dict[str, Any], formats: Mapping[str, Format[Any]]) -> Artefacts | None:
        """The artefacts of a finished stage, or None if it must be run again."""
        record = self.records.get(name)
        if self.directory is None or record is None:
            return None
        if record.inputs != inputs:
            # The options were changed on purpose: no warning.
            return None
        for file in formats:
            why = self._damage(file, record.sha256.get(file))
            if why:
                warnings.warn(
                    f"{self.directory / file} is {why}: the stage {name!r} is done again", TreetokWarning, 3
                )
                return None
        return Artefacts(formats, record.sha256, self._read)

    def _read(self, file: str) -> bytes:
        assert self.directory is not None
        with open_file(self.directory, RUN, file) as content:
            return content.read()

    def _damage(self, file: str, sha256: str | None) -> str:
        assert self.directory is not None
        try:
            with open_file(self.directory, RUN, file) as content:
                is_intact = hashlib.file_digest(content, "sha256").hexdigest() == sha256
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            return f"unreadable ({error.strerror or error})"
        return "" if is_intact else "damaged"

    def _start(self, name: str, inputs: dict[str, Any]) -> None:
        """Record that a stage has started; delete checkpoints that were made from different inputs."""
        folder = self.folder(name)
        if folder is None or not self.is_writer:
            return
        if self.started.get(name, {}).get("inputs") != inputs:
            self.started[name] = {"inputs": inputs, "seconds": 0.0}
            if folder.exists():
                shutil.rmtree(folder, ignore_errors=True)
        if self.records:
            # Before the first stage is finished there is nothing to resume.
            self._save({})

    def _add_seconds(self, name: str, seconds: float) -> None:
        """Add the time spent on a stage that was stopped."""
        if name in self.started:
            self.started[name]["seconds"] += seconds
            if self.records:
                with contextlib.suppress(TreetokError):
                    self._save({})

    def _remove_checkpoints(self, name: str) -> None:
        """Once a stage is finished, only its artefacts and its log are needed."""
        folder = self.folder(name)
        if folder is None or not self.is_writer or not folder.is_dir():
            return
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_file() and (path.suffix in (".safetensors", ".json") or path.name == LOCK):
                path.unlink()
        for path in [*sorted(folder.rglob("*"), reverse=True), folder]:
            with contextlib.suppress(OSError):
                path.rmdir()

    def _save(self, contents: dict[str, bytes]) -> None:
        if self.directory is None or not self.is_writer:
            return
        run = {
            "version": VERSION,
            "identity": self.identity,
            "stages": {name: vars(record) for name, record in self.records.items()},
            "started": self.started,
        }
        head = (json.dumps(run, ensure_ascii=False, indent=1) + "\n").encode()
        save_atomically(self.directory, contents | {RUN: head}, RUN)


def has_models(saved: Any) -> bool:
    """Whether training has started: the stages before it take a minute and need no protection."""
    try:
        return any(name.startswith("member") for name in [*saved["stages"], *saved["started"]])
    except (KeyError, TypeError, AttributeError):
        # Unreadable: do not overwrite it.
        return True


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise TreetokError(f"{path} is damaged: it is not JSON; remove {path.parent} to begin anew") from None

"""Load a tokenizer. Missing, damaged or newer files are rejected, by name, before they are used."""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from treetok.control_characters import escape_controls
from treetok.errors import TreetokError, TreetokWarning
from treetok.garbage_collection import without_garbage_collection
from treetok.lexicon import Lexicon
from treetok.sources import CountTrees, ParserTrees, TreeSource
from treetok.special_tokens import check_roles, check_special_tokens, default_roles
from treetok.storage.atomic import folder_of
from treetok.storage.files import is_shipped, map_file, read_file, shipped_directory
from treetok.storage.format import (
    CARD,
    CUSTOM,
    FILES,
    FORMAT,
    HEAD,
    LEXICON,
    LONGEST_CARD,
    LONGEST_HEAD,
    NGRAMS,
    PARSER,
    VOCABULARY,
)
from treetok.storage.strict_json import parse_json
from treetok.storage.tensors import read_tensors
from treetok.storage.vocab_tsv import LONGEST_VOCABULARY, read_vocabulary
from treetok.text import Profile, profile_named
from treetok.token_table import check_entries
from treetok.tokenizer_state import TokenizerState

TRIES = 25
# In bytes: a checksum of fewer takes less time than to start a thread.
WORTH_A_THREAD = 1 << 15

Arrays = dict[str, npt.NDArray[Any]]
Made = TypeVar("Made")


# Settings keys of version 0.1.0 and their current names.
RENAMED_SETTINGS = {
    "cut_as_the_model_would_of_unseen_words": "parser_agreement_unseen",
    "whole_trees_as_the_model_on_unseen_words": "parser_tree_agreement_unseen",
}


def shipped_names() -> list[str]:
    """The tokenizers that come with the package."""
    return sorted(folder.name for folder in shipped_directory().iterdir() if folder.joinpath(HEAD).is_file())


def find_directory(name_or_directory: str | os.PathLike[str]) -> Path:
    if not isinstance(name_or_directory, str | os.PathLike):
        raise TreetokError(f"a tokenizer must be a name or a directory, not {name_or_directory!r}")
    name = os.fspath(name_or_directory)
    if isinstance(name_or_directory, str) and name in shipped_names():
        if Path(name, HEAD).exists():
            warnings.warn(
                f"{name!r} loads the tokenizer shipped with treetok; for the local directory use './{name}'",
                TreetokWarning,
                stacklevel=4,
            )
        return shipped_directory() / name
    directory = Path(name)
    try:
        is_there = directory.is_dir()
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        if name in shipped_names():
            raise TreetokError(
                f"there is no directory {name}, as a path must be; the shipped tokenizer is the string {name!r}"
            )
        raise TreetokError(f"no tokenizer {name!r}: neither a directory nor one of {', '.join(shipped_names())}")
    return directory


def load_state(name_or_directory: str | os.PathLike[str], trees: TreeSource | None = None) -> TokenizerState:
    """Read and validate a tokenizer directory; errors name the file at fault."""
    directory = find_directory(name_or_directory)
    try:
        return newest_state(directory, trees)
    except OSError as error:
        # Files that cannot be read are named; this is the directory itself.
        raise TreetokError(f"cannot read {directory}: {error.strerror or error}") from None
    except MemoryError:
        raise TreetokError(f"there is not enough memory to load {directory}") from None


def newest_state(directory: Path, trees: TreeSource | None) -> TokenizerState:
    for tries_left in range(TRIES, -1, -1):
        before = version_of(directory)
        try:
            with without_garbage_collection():
                content = read_head_file(directory)
                head = parsed_head(content, directory / HEAD)
                moving = folder_of(directory, HEAD, content)
                card = current_card(moving, directory)
                # It has no checksum that would tell.
                if before != version_of(directory):
                    raise TreetokError(f"{directory} is replaced again and again while it is read")
                return state_from(directory, head, card, moving, trees)
        except TreetokError:
            # If another process is saving a tokenizer here, the files read may be from different versions.
            if not tries_left or before == version_of(directory):
                raise
            time.sleep(0.02)
    raise AssertionError("unreachable")


def version_of(directory: Path) -> tuple[int, int, int]:
    """A value that changes whenever a tokenizer is saved. File timestamps are coarse, so two saves in quick
    succession may have equal times, but then their inodes differ."""
    with contextlib.suppress(OSError):
        head = (directory / HEAD).stat()
        return head.st_ino, head.st_mtime_ns, head.st_ctime_ns
    return 0, 0, 0


def state_from(
    directory: Path, head: dict[str, Any], card: str | None, moving: Path, trees: TreeSource | None
) -> TokenizerState:
    """`moving`: where files are that have not been moved to the directory yet."""
    with naming_directory(directory):
        files = head["files"]
        contents = {
            name: map_current(
                moving / name, path_of(directory, name, files[name]), directory, files[name]["bytes"]
            )
            for name in FILES
            if name in files
        }
        if len(contents.get(VOCABULARY, ())) > LONGEST_VOCABULARY:
            raise TreetokError(
                f"{directory / VOCABULARY} is damaged: it is larger than {LONGEST_VOCABULARY} bytes"
            )
    checksums = Checksums(contents)
    checksums.start()
    try:
        return state_of(directory, head, contents, card, trees)
    finally:
        # What is wrong in a file that is damaged does not matter.
        with naming_directory(directory):
            checksums.check(files, directory)
        for content in contents.values():
            release_pages(content.obj)


def state_of(
    directory: Path,
    head: dict[str, Any],
    contents: Mapping[str, memoryview],
    card: str | None,
    trees: TreeSource | None,
) -> TokenizerState:
    """The state that these files hold. They may be damaged: their checksums are still being computed."""
    with naming_directory(directory):
        profile = profile_of_head(head, directory / HEAD)
        normalizer = head.get("normalizer")
        profile_named(profile.name, profile.version, normalizer)
        special_tokens = head["special_tokens"]
        check_special_tokens(special_tokens)
        entries = read_vocabulary(contents.get(VOCABULARY), directory / VOCABULARY)
        roles = head.get("roles", default_roles(profile, special_tokens))
        fewest_tokens = head["fewest_tokens"] if head["format"] > 1 else False
        if not isinstance(fewest_tokens, bool):
            raise TreetokError(f"fewest_tokens must be true or false, not {fewest_tokens!r}")
        settings = {RENAMED_SETTINGS.get(name, name): value for name, value in head["settings"].items()}
        json.dumps(settings, ensure_ascii=False).encode()
        source_name = head["trees"]
    empty = np.zeros(0, dtype=np.uint8)
    lexicon = Lexicon(empty, empty, empty)
    if LEXICON in contents:
        lexicon = read_arrays(contents[LEXICON], directory / LEXICON, lexicon_of_arrays)
    source = read_source(source_name, contents, directory) if trees is None else trees
    if not isinstance(source, TreeSource):
        raise TreetokError(f"trees of type {type(trees).__name__} have no split_scores(words)")
    with naming_directory(directory):
        check_entries([entry for entry, _ in entries], special_tokens, profile.byte_fallback)
        check_roles(roles, special_tokens, profile.byte_fallback)
    return TokenizerState(
        profile.name,
        profile.version,
        entries,
        special_tokens,
        lexicon,
        source,
        fewest_tokens,
        settings,
        card,
        roles,
        normalizer,
    )


def profile_of_head(head: Mapping[str, Any], path: Path) -> Profile:
    """The profile in the version that the tokenizer was trained with."""
    name, version = head["profile"], head["profile_version"] if head["format"] > 2 else 1
    newest = profile_named(name).version
    if type(version) is int and version > newest:
        raise TreetokError(
            f"{path} has version {version} of the profile {name!r}, this treetok knows up to {newest}:"
            " upgrade treetok"
        )
    return profile_named(name, version)


@contextlib.contextmanager
def naming_directory(directory: Path) -> Iterator[None]:
    """Turn errors in what was read into errors that name the directory."""
    try:
        yield
    except TreetokError as error:
        if escape_controls(str(directory)) in str(error):
            raise
        raise TreetokError(f"{directory} is damaged: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TreetokError(f"{directory / HEAD} is damaged: {type(error).__name__} at {error}") from None


def read_source(name: Any, contents: Mapping[str, memoryview], directory: Path) -> TreeSource:
    """The source of trees for words that are not in the lexicon."""
    if name == "counts" and NGRAMS in contents:
        return read_arrays(contents[NGRAMS], directory / NGRAMS, counts_of_arrays)
    if name == "neural" and PARSER in contents:
        return read_arrays(contents[PARSER], directory / PARSER, ParserTrees.from_arrays)
    if name in ("counts", "neural"):
        raise TreetokError(f"{directory / (NGRAMS if name == 'counts' else PARSER)} is missing")
    if name == CUSTOM:
        raise TreetokError(f"{directory} was trained with a custom source of trees: pass it to load as trees=")
    raise TreetokError(f"{directory / HEAD}: unknown trees {name!r}; it may need a newer treetok")


def read_head(directory: Path) -> dict[str, Any]:
    return parsed_head(read_head_file(directory), directory / HEAD)


def read_head_file(directory: Path) -> bytes:
    path = directory / HEAD
    try:
        return read_file(path, directory, LONGEST_HEAD)
    except FileNotFoundError:
        raise TreetokError(f"{path.parent} is not a tokenizer: {path.name} is missing") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None


def parsed_head(content: bytes, path: Path) -> dict[str, Any]:
    try:
        head = parse_json(content)
    except ValueError as error:
        raise TreetokError(f"{path} is damaged: {error}") from None
    if not isinstance(head, dict) or type(head.get("format")) is not int or head["format"] < 1:
        raise TreetokError(f"{path} is damaged: it has no format version")
    if head["format"] > FORMAT:
        raise TreetokError(
            f"{path} has format version {head['format']}, this treetok reads up to {FORMAT}: upgrade treetok"
        )
    return head


def path_of(directory: Path, name: str, expected: dict[str, Any]) -> Path:
    """The path of a file. Shipped tokenizers may share files, which are stored next to their directories; in
    any other tokenizer a `shared` entry is ignored."""
    shared = expected.get("shared")
    if shared is None:
        return directory / name
    if is_shipped(directory) and Path(shared).name == shared:
        return shipped_directory() / str(shared)
    path = directory / name
    if not path.exists():
        raise TreetokError(
            f"{path} is missing: shipped tokenizers share it; to copy one, load it by name and save it elsewhere"
        )
    return path


def shared_files(directory: Path) -> list[Path]:
    """The files that a shipped tokenizer shares with others."""
    files = read_head(directory)["files"]
    paths = [path_of(directory, name, expected) for name, expected in files.items()]
    return [path for path in paths if path.parent.resolve() != directory.resolve()]


def has_own_trees(directory: Path) -> bool:
    """Whether trees of unseen words come from the tokenizer's own files, and not from an object that is passed."""
    return read_head(directory).get("trees") != CUSTOM


def map_current(moving: Path, path: Path, directory: Path, expected: object) -> memoryview:
    """The content of a file that may not have been moved to its path yet."""
    if moving.exists():
        try:
            return map_file(moving, directory, expected)
        except TreetokError:
            if moving.exists():
                raise
    return map_file(path, directory, expected)


class Checksums:
    """The checksums of what was read, computed while it is put together. Each large file has a thread of its own:
    one for all would have to wait for Python after each file."""

    def __init__(self, contents: Mapping[str, memoryview]) -> None:
        self._contents = contents
        self._found: dict[str, str] = {}
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for name in sorted(self._contents, key=lambda name: -len(self._contents[name])):
            if len(self._contents[name]) < WORTH_A_THREAD:
                self._compute(name)
                continue
            thread = threading.Thread(target=self._compute, args=[name], daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # No more threads are to be had.
                self._compute(name)
            else:
                self._threads.append(thread)

    def _compute(self, name: str) -> None:
        self._found[name] = hashlib.sha256(self._contents[name]).hexdigest()

    def check(self, files: Mapping[str, dict[str, Any]], directory: Path) -> None:
        for thread in self._threads:
            thread.join()
        # All of them: one that could not be computed must not pass.
        for name in self._contents:
            if self._found.get(name) != files[name]["sha256"]:
                path = path_of(directory, name, files[name])
                raise TreetokError(f"{path} is damaged: its checksum does not match {HEAD}")


def release_pages(content: object) -> None:
    """Pages of a mapped file that were read to check it stay in the system's cache, and come back when they are
    needed."""
    if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        content.madvise(mmap.MADV_DONTNEED)


def current_card(moving: Path, directory: Path) -> str | None:
    card = read_card(moving / CARD, directory)
    return read_card(directory / CARD, directory) if card is None else card


def read_card(path: Path, directory: Path) -> str | None:
    """The current text of the model card, which users may edit; nothing depends on it."""
    try:
        return read_file(path, directory, LONGEST_CARD).decode()
    except (OSError, ValueError, TreetokError):
        return None


def read_arrays(content: memoryview, path: Path, make: Callable[[Arrays], Made]) -> Made:
    """Load the arrays of a safetensors file and convert them with `make`."""
    try:
        return make(read_tensors(content))
    except (KeyError, ValueError, TypeError, TreetokError) as error:
        raise TreetokError(f"{path} is damaged: {error}") from None


def lexicon_of_arrays(arrays: Arrays) -> Lexicon:
    text, lengths, depths = arrays["text"], arrays["lengths"], arrays["depths"]
    for array in (text, lengths, depths):
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError("its arrays are not one-dimensional arrays of bytes")
    return Lexicon(text, lengths, depths)


def counts_of_arrays(arrays: Arrays) -> CountTrees:
    hashes, counts = arrays["hashes"], arrays["counts"]
    for array in (hashes, counts):
        if array.dtype != np.uint64 or array.ndim != 1:
            raise ValueError("its arrays are not one-dimensional arrays of 64-bit integers")
    return CountTrees(hashes, counts)

"""A tokenizer on disk: a directory of plain files, without pickle, checked when it is loaded.

treetok.json          format version, profile, special tokens, settings, size and SHA-256 of every other file
vocab.tsv             token and count, a line each, in the order of the ids
ngrams.safetensors    counts of n-grams, where trees come from counts
lexicon.safetensors   words whose trees were worked out in advance
MODEL_CARD.md         for people
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from treetok.errors import TreetokError
from treetok.lexicon import Lexicon
from treetok.parts import TokenizerParts
from treetok.sources import CountTrees, TreeSource
from treetok.text import profile_named
from treetok.tokens import Entry, TokenTable

FORMAT = 1
HEAD = "treetok.json"
VOCABULARY = "vocab.tsv"
NGRAMS = "ngrams.safetensors"
LEXICON = "lexicon.safetensors"
CARD = "MODEL_CARD.md"
FILES = (VOCABULARY, NGRAMS, LEXICON, CARD)
LONGEST_HEAD = 16 << 20
# Counts are added up in 64 bits.
LARGEST_TOTAL = 1 << 60

Arrays = dict[str, npt.NDArray[Any]]
Made = TypeVar("Made")


# ---- tokens as text

ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|U[0-9a-f]{8}|x[0-9a-f]{2}|.?)")


def write_token(entry: Entry) -> str:
    r"""A token as it stands in vocab.tsv: `\xe4` is a byte, `\u` and `\U` escape characters.

    >>> print(write_token(" caf\u00e9\t"), write_token(0xE4))
     café\u0009 \xe4
    """
    if isinstance(entry, int):
        return f"\\x{entry:02x}"
    return "".join(write_character(character) for character in entry)


def write_character(character: str) -> str:
    if character == " " or (character != "\\" and character.isprintable()):
        return character
    code_point = ord(character)
    return f"\\u{code_point:04x}" if code_point < 0x10000 else f"\\U{code_point:08x}"


def read_token(written: str) -> Entry:
    r"""The reverse of `write_token`.

    >>> read_token("caf\\u00e9"), read_token("\\xe4")
    ('café', 228)
    """
    if re.fullmatch(r"\\x[89a-f][0-9a-f]", written):
        return int(written[2:], 16)

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[:1] not in ("u", "U") or len(code) < 5 or int(code[1:], 16) > 0x10FFFF:
            raise ValueError(f"bad escape {match[0]!r}")
        return chr(int(code[1:], 16))

    token = ESCAPE.sub(character, written)
    token.encode()
    if not token:
        raise ValueError("an empty token")
    return token


# ---- saving


def save_parts(parts: TokenizerParts, directory: str | os.PathLike[str]) -> None:
    """Write all files beside the directory's own, then put them in place; on any error the old ones stay."""
    target = Path(directory)
    try:
        if target.exists() and not target.is_dir():
            raise TreetokError(f"cannot save to {target}: it is a file, not a directory")
        target.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".treetok-save-", dir=target))
        try:
            write_files(parts, staging)
            put_in_place(staging, target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise TreetokError(f"cannot save to {target}: {error.strerror or error}") from None


def write_files(parts: TokenizerParts, directory: Path) -> None:
    lines = [f"{write_token(entry)}\t{count}\n" for entry, count in parts.entries]
    contents = {VOCABULARY: "".join(lines).encode(), CARD: model_card(parts).encode()}
    source = "custom"
    if isinstance(parts.source, CountTrees):
        source = "counts"
        contents[NGRAMS] = safetensors.numpy.save({"hashes": parts.source.hashes, "counts": parts.source.counts})
    if len(parts.lexicon):
        text = np.frombuffer(parts.lexicon.text.encode(), dtype=np.uint8)
        arrays: Arrays = {"text": text, "lengths": parts.lexicon.lengths, "depths": parts.lexicon.depths}
        contents[LEXICON] = safetensors.numpy.save(arrays)
    head = {
        "format": FORMAT,
        "profile": parts.profile,
        "trees": source,
        "special_tokens": dict(parts.special_tokens),
        "settings": dict(parts.settings),
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in sorted(contents.items())
        },
    }
    contents[HEAD] = (json.dumps(head, ensure_ascii=False, indent=1) + "\n").encode()
    for name, content in contents.items():
        with (directory / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def put_in_place(staging: Path, target: Path) -> None:
    """Move the new files in and the old ones out. Renaming takes no room on the disk; should it fail all the
    same, what was moved is moved back. A crash in between leaves files that do not belong together, which
    loading notices by their checksums. Files that are not a tokenizer's are left alone."""
    old = staging / "old"
    old.mkdir()
    undo: list[Callable[[], object]] = []
    try:
        for name in (HEAD, *FILES):
            if (target / name).exists():
                (target / name).replace(old / name)
                undo.append(partial((old / name).replace, target / name))
        for name in (*FILES, HEAD):
            if (staging / name).exists():
                (staging / name).replace(target / name)
                undo.append(partial((target / name).replace, staging / name))
    except BaseException:
        for step in reversed(undo):
            with contextlib.suppress(OSError):
                step()
        raise


def model_card(parts: TokenizerParts) -> str:
    if parts.card is not None:
        return parts.card
    pieces = len(parts.entries)
    rows = {
        "profile": parts.profile,
        "tokens": f"{pieces + len(parts.special_tokens)}, of them {len(parts.special_tokens)} special",
        "words whose trees are kept": len(parts.lexicon),
        **parts.settings,
    }
    table = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in rows.items())
    return f"# A TreeTok tokenizer\n\n| | |\n|---|---|\n{table}\n"


# ---- loading


def shipped_names() -> list[str]:
    """The tokenizers that come with the package."""
    return sorted(
        folder.name
        for folder in resources.files("treetok").joinpath("shipped").iterdir()
        if folder.is_dir() and folder.joinpath(HEAD).is_file()
    )


def find_directory(name_or_directory: str | os.PathLike[str]) -> Path:
    name = os.fspath(name_or_directory)
    if isinstance(name_or_directory, str) and name in shipped_names():
        return Path(str(resources.files("treetok").joinpath("shipped", name)))
    directory = Path(name)
    if not directory.is_dir():
        raise TreetokError(f"no tokenizer {name!r}: neither a directory nor one of {', '.join(shipped_names())}")
    return directory


def load_parts(name_or_directory: str | os.PathLike[str], trees: TreeSource | None = None) -> TokenizerParts:
    """Read a directory; everything that is missing, damaged or from a newer version is refused by name."""
    directory = find_directory(name_or_directory)
    head = read_head(directory / HEAD)
    try:
        profile = profile_named(head["profile"])
        files, special_tokens = head["files"], head["special_tokens"]
        contents = {name: read_checked(directory / name, files[name]) for name in FILES if name in files}
        entries = read_vocabulary(contents.get(VOCABULARY), directory / VOCABULARY)
        if not all(name and isinstance(number, int) for name, number in special_tokens.items()):
            raise TreetokError("the special tokens are not named and numbered")
        TokenTable([entry for entry, _ in entries], special_tokens, profile.byte_fallback)
        settings = dict(head["settings"])
        source_name = head["trees"]
    except TreetokError as error:
        if str(directory) in str(error):
            raise
        raise TreetokError(f"{directory} is damaged: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TreetokError(f"{directory / HEAD} is damaged: {type(error).__name__} at {error}") from None

    lexicon = Lexicon("", np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.uint8))
    if LEXICON in contents:
        lexicon = read_arrays(contents[LEXICON], directory / LEXICON, lexicon_of_arrays)
    if trees is not None:
        if not isinstance(trees, TreeSource):
            raise TreetokError(f"trees of type {type(trees).__name__} have no split_scores(words)")
        source = trees
    elif source_name == "counts" and NGRAMS in contents:
        source = read_arrays(contents[NGRAMS], directory / NGRAMS, counts_of_arrays)
    elif source_name == "counts":
        raise TreetokError(f"{directory / NGRAMS} is missing")
    elif source_name == "custom":
        raise TreetokError(f"{directory} was trained with trees of your own: pass them to load as trees=")
    else:
        raise TreetokError(f"{directory / HEAD}: unknown trees {source_name!r}; a newer treetok may know them")
    return TokenizerParts(
        profile.name,
        entries,
        special_tokens,
        lexicon,
        source,
        settings,
        contents[CARD].decode() if CARD in contents else None,
    )


def read_head(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LONGEST_HEAD:
            raise TreetokError(f"{path} is damaged: it is larger than {LONGEST_HEAD} bytes")
        head = json.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise TreetokError(f"{path.parent} is not a tokenizer: {path.name} is missing") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise TreetokError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(head, dict) or not isinstance(head.get("format"), int):
        raise TreetokError(f"{path} is damaged: it names no format version")
    if head["format"] > FORMAT:
        raise TreetokError(
            f"{path} has format version {head['format']}, this treetok reads up to {FORMAT}: upgrade treetok"
        )
    return head


def read_checked(path: Path, expected: dict[str, Any]) -> bytes:
    """The bytes of a file, if they are those that were saved. The size is compared before anything is read."""
    try:
        size = path.stat().st_size
        if size != expected["bytes"]:
            raise TreetokError(f"{path} is damaged: it has {size} bytes instead of {expected['bytes']}")
        content = path.read_bytes()
    except FileNotFoundError:
        raise TreetokError(f"{path} is missing") from None
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    if hashlib.sha256(content).hexdigest() != expected["sha256"]:
        raise TreetokError(f"{path} is damaged: its checksum is not the one in {HEAD}")
    return content


def read_vocabulary(content: bytes | None, path: Path) -> list[tuple[Entry, int]]:
    if content is None:
        raise TreetokError(f"{path} is missing")
    entries: list[tuple[Entry, int]] = []
    lines = content.decode().split("\n")
    if lines.pop() != "":
        raise TreetokError(f"{path} is damaged: its last line is cut off")
    for number, line in enumerate(lines, start=1):
        token, tab, count = line.partition("\t")
        try:
            if not tab or not re.fullmatch("[0-9]{1,18}", count):
                raise ValueError("no token and count")
            entries.append((read_token(token), int(count)))
        except ValueError as error:
            raise TreetokError(f"{path}, line {number}: {error}") from None
    if sum(count for _, count in entries) >= LARGEST_TOTAL:
        raise TreetokError(f"{path} is damaged: its counts are too large")
    return entries


def read_arrays(content: bytes, path: Path, make: Callable[[Arrays], Made]) -> Made:
    """Arrays from a safetensors file, made into what they stand for."""
    try:
        return make(safetensors.numpy.load(content))
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError, TreetokError) as error:
        raise TreetokError(f"{path} is damaged: {error}") from None


def lexicon_of_arrays(arrays: Arrays) -> Lexicon:
    text, lengths, depths = arrays["text"], arrays["lengths"], arrays["depths"]
    for array in (text, lengths, depths):
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError("its arrays are not rows of bytes")
    return Lexicon(text.tobytes().decode(), lengths, depths)


def counts_of_arrays(arrays: Arrays) -> CountTrees:
    hashes, counts = arrays["hashes"], arrays["counts"]
    for array in (hashes, counts):
        if array.dtype != np.uint64 or array.ndim != 1:
            raise ValueError("its arrays are not rows of 64-bit numbers")
    return CountTrees(hashes, counts)

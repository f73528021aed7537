"""Saving: a directory gets the new tokenizer as a whole, or keeps the old one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from treetok.errors import TreetokError
from treetok.parts import TokenizerParts
from treetok.sources import CountTrees
from treetok.storage.layout import ARRIVING, CARD, FILES, FORMAT, HEAD, LEXICON, NGRAMS, VOCABULARY, finish_save
from treetok.storage.tokens_as_text import write_token


def save_parts(parts: TokenizerParts, directory: str | os.PathLike[str]) -> None:
    """Write all files into a folder beside the directory's own files; give that folder the name that makes its
    files count; move them. Until the folder has the name, the old tokenizer is untouched, and from then on the
    new one is complete, however the rest ends. Files that are not a tokenizer's are left alone."""
    target = Path(directory)
    try:
        if target.exists() and not target.is_dir():
            raise TreetokError(f"cannot save to {target}: it is a file, not a directory")
        target.mkdir(parents=True, exist_ok=True)
        finish_save(target)
        writing = Path(tempfile.mkdtemp(prefix=".treetok-writing-", dir=target))
        try:
            names = write_files(parts, writing)
            writing.rename(target / ARRIVING)
        except BaseException:
            shutil.rmtree(writing, ignore_errors=True)
            raise
        finish_save(target)
        for name in FILES:
            if name not in names:
                with contextlib.suppress(FileNotFoundError):
                    (target / name).unlink()
    except OSError as error:
        raise TreetokError(f"cannot save to {target}: {error.strerror or error}") from None


def write_files(parts: TokenizerParts, directory: Path) -> list[str]:
    """Write every file to the disk; returns their names."""
    lines = [f"{write_token(entry)}\t{count}\n" for entry, count in parts.entries]
    contents = {VOCABULARY: "".join(lines).encode()}
    source = "custom"
    if isinstance(parts.source, CountTrees):
        source = "counts"
        contents[NGRAMS] = safetensors.numpy.save({"hashes": parts.source.hashes, "counts": parts.source.counts})
    if len(parts.lexicon):
        text = np.frombuffer(parts.lexicon.text.encode(), dtype=np.uint8)
        arrays: dict[str, npt.NDArray[Any]] = {
            "text": text,
            "lengths": parts.lexicon.lengths,
            "depths": parts.lexicon.depths,
        }
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
    contents[CARD] = model_card(parts).encode()
    contents[HEAD] = (json.dumps(head, ensure_ascii=False, indent=1) + "\n").encode()
    for name, content in contents.items():
        with (directory / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    return list(contents)


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

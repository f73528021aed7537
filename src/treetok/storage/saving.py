"""Saving: a tokenizer as the bytes of its files."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from treetok.parts import TokenizerParts
from treetok.sources import CountTrees
from treetok.storage.names import CARD, FILES, FORMAT, HEAD, LEXICON, NGRAMS, VOCABULARY
from treetok.storage.tokens_as_text import write_token
from treetok.storage.whole import write_whole


def save_parts(parts: TokenizerParts, directory: str | os.PathLike[str]) -> None:
    """A directory gets the new tokenizer as a whole, or keeps the old one."""
    contents = contents_of_files(parts)
    write_whole(directory, contents, HEAD, obsolete=[name for name in FILES if name not in contents])


def contents_of_files(parts: TokenizerParts) -> dict[str, bytes]:
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
    return contents


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

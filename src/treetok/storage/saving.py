"""Saving: a tokenizer as the bytes of its files."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from treetok.lexicon import Lexicon
from treetok.parts import TokenizerParts
from treetok.sources import CountTrees, ParserTrees
from treetok.storage.names import CARD, FILES, FORMAT, HEAD, LEXICON, NGRAMS, PARSER, VOCABULARY
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
    elif isinstance(parts.source, ParserTrees):
        source = "neural"
        contents[PARSER] = safetensors.numpy.save(parts.source.arrays())
    if len(parts.lexicon):
        contents[LEXICON] = lexicon_as_bytes(parts.lexicon)
    head = {
        "format": FORMAT,
        "profile": parts.profile,
        "trees": source,
        "fewest_tokens": parts.fewest_tokens,
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


def lexicon_as_bytes(lexicon: Lexicon) -> bytes:
    text = np.frombuffer(lexicon.text.encode(), dtype=np.uint8)
    arrays: dict[str, npt.NDArray[Any]] = {"text": text, "lengths": lexicon.lengths, "depths": lexicon.depths}
    return safetensors.numpy.save(arrays)


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

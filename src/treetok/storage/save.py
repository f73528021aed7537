"""Save a tokenizer to a directory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from treetok.errors import TreetokError
from treetok.lexicon import Lexicon
from treetok.sources import CountTrees, ParserTrees
from treetok.special_tokens import check_special_tokens
from treetok.storage.atomic import save_atomically
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
    TRANSFORMERS,
    VOCABULARY,
)
from treetok.storage.strict_json import parse_json
from treetok.storage.vocab_tsv import LONGEST_VOCABULARY, escape_token
from treetok.tokenizer_state import TokenizerState

# Lets transformers find the class in `treetok.hf`. Without a list of added tokens, it would look for one in files
# of its older versions.
TRANSFORMERS_CONFIG = {"added_tokens_decoder": {}, "tokenizer_class": "TreeTokTokenizer"}


def save_state(state: TokenizerState, directory: str | os.PathLike[str]) -> None:
    """Replace the tokenizer in a directory atomically: on failure the old one stays."""
    contents = contents_of_files(state)
    obsolete = [name for name in FILES if name not in contents]
    save_atomically(directory, contents, HEAD, obsolete, known=(HEAD, *FILES, TRANSFORMERS))


def contents_of_files(state: TokenizerState) -> dict[str, bytes]:
    lines = [f"{escape_token(entry)}\t{count}\n" for entry, count in state.entries]
    contents = {VOCABULARY: "".join(lines).encode()}
    source = CUSTOM
    if isinstance(state.source, CountTrees):
        source = "counts"
        contents[NGRAMS] = tensors_as_bytes({"hashes": state.source.hashes, "counts": state.source.counts})
    elif isinstance(state.source, ParserTrees):
        source = "neural"
        contents[PARSER] = tensors_as_bytes(state.source.arrays())
    if len(state.lexicon):
        contents[LEXICON] = lexicon_as_bytes(state.lexicon)
    head = {
        "format": FORMAT,
        "profile": state.profile,
        "profile_version": state.profile_version,
        **({"normalizer": state.normalizer} if state.normalizer else {}),
        "trees": source,
        "fewest_tokens": state.fewest_tokens,
        "special_tokens": dict(state.special_tokens),
        "roles": dict(state.roles),
        "settings": dict(state.settings),
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in sorted(contents.items())
        },
    }
    contents[CARD] = model_card(state).encode()
    contents[TRANSFORMERS] = (json.dumps(TRANSFORMERS_CONFIG, indent=2) + "\n").encode()
    contents[HEAD] = (json.dumps(head, ensure_ascii=False, indent=1) + "\n").encode()
    check_limits(contents, state)
    return contents


def check_limits(contents: Mapping[str, bytes], state: TokenizerState) -> None:
    """Raise TreetokError if these files would be refused when they are loaded."""
    check_special_tokens(state.special_tokens)
    for name, most in ((HEAD, LONGEST_HEAD), (VOCABULARY, LONGEST_VOCABULARY), (CARD, LONGEST_CARD)):
        if len(contents[name]) > most:
            raise TreetokError(f"the tokenizer cannot be saved: {name} would be larger than {most} bytes")
    try:
        parse_json(contents[HEAD])
    except ValueError as error:
        raise TreetokError(f"the tokenizer cannot be saved: its settings are no plain JSON: {error}") from None


def lexicon_as_bytes(lexicon: Lexicon) -> bytes:
    arrays: dict[str, npt.NDArray[Any]] = {
        "text": lexicon.utf8,
        "lengths": lexicon.lengths,
        "depths": lexicon.depths,
    }
    return tensors_as_bytes(arrays)


def tensors_as_bytes(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    # Loading a tokenizer does without this library.
    import safetensors.numpy

    return safetensors.numpy.save(arrays)


def model_card(state: TokenizerState) -> str:
    if state.card is not None:
        return state.card
    pieces = len(state.entries)
    rows = {
        "profile": state.profile,
        "tokens": f"{pieces + len(state.special_tokens)}, including {len(state.special_tokens)} special",
        "words with stored trees": len(state.lexicon),
        **state.settings,
    }
    table = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in rows.items())
    return f"# A TreeTok tokenizer\n\n| | |\n|---|---|\n{table}\n"

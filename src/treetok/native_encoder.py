"""The native core: does what `reference_encoder` does, in C++."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from treetok.markers import Marker
from treetok.native import PROFILE_NUMBERS, core, why_not_native
from treetok.normalizing_encoder import NormalizingEncoder
from treetok.segment import COST_PER_TOKEN
from treetok.sources import CountTrees, ParserTrees, TreeSource
from treetok.token_entropy import entropies_of
from treetok.token_table import UNKNOWN, Entry, byte_name
from treetok.tokenizer_state import TokenizerState

if TYPE_CHECKING:
    from treetok import _core

# Kinds of tokens, as numbered in `native/vocabulary.h`.
SPECIAL, PIECE, BYTE, FIRST_MARKER = 0, 1, 2, 3


def native_encoder(state: TokenizerState) -> _core.Encoder | NormalizingEncoder | None:
    """The native encoder of a tokenizer; None if there is no native core, or if trees or pieces come from Python
    code that it does not know."""
    is_known = type(state) is TokenizerState and isinstance(state.source, CountTrees | ParserTrees)
    if not is_known or why_not_native() is not None:
        return None
    names, kinds, costs = tokens_of(state)
    lexicon = state.lexicon
    encoder: _core.Encoder = core().Encoder(
        PROFILE_NUMBERS[state.profile, state.profile_version],
        names,
        kinds,
        costs,
        COST_PER_TOKEN if state.fewest_tokens else 0,
        state.special_tokens.get(UNKNOWN, 0),
        (lexicon.utf8, lexicon.lengths, lexicon.depths) if len(lexicon) else None,
        native_source(state.source),
    )
    return NormalizingEncoder(encoder, state) if state.normalizer else encoder


def native_source(source: TreeSource) -> Any:
    """Trees of words that are not in the lexicon."""
    if isinstance(source, CountTrees):
        return source.hashes, source.counts
    assert isinstance(source, ParserTrees)
    return source.native


def tokens_of(state: TokenizerState) -> tuple[list[str], Any, Any]:
    """Names, kinds and costs of all tokens, in the order of their ids. The cost of a byte is the byte."""
    names: list[Any]
    names, costs, others = core().entry_columns(state.entries)
    kinds = np.full(len(names), PIECE, dtype=np.uint8)
    kinds[others] = [kind_of(names[at]) for at in others]
    is_piece = kinds == PIECE
    costs[is_piece] = entropies_of(costs[is_piece]) + (COST_PER_TOKEN if state.fewest_tokens else 0)
    for at in others:
        entry = names[at]
        costs[at] = int(entry)
        names[at] = entry.token if isinstance(entry, Marker) else byte_name(int(entry))
    if not state.special_tokens:
        return names, kinds, costs
    name_of = {number: name for name, number in state.special_tokens.items()}
    # How many other tokens come before each special one.
    before = [number - rank for rank, number in enumerate(sorted(name_of))]
    parts = [names[start:end] for start, end in pairwise([0, *before, len(names)])]
    all_names = parts[0]
    for number, part in zip(sorted(name_of), parts[1:], strict=True):
        all_names.append(name_of[number])
        all_names += part
    return all_names, np.insert(kinds, before, SPECIAL), np.insert(costs, before, 0)


def kind_of(entry: Entry) -> int:
    return FIRST_MARKER + entry - min(Marker) if isinstance(entry, Marker) else BYTE

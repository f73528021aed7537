"""Check on large texts that the native core gives what plain Python gives: ids and offsets, cold and warm, with
one and with two threads. This is slow, since plain Python is; the tests do the same on small texts.

python scripts/check_native.py TEXT... [--model MODEL]... [--megabytes 50] [--offsets-megabytes 2]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from treetok import TreeTokenizer
from treetok.corpus.reading import read_texts
from treetok.native import SWITCH, why_not_native
from treetok.native_encoder import native_encoder
from treetok.reference_encoder import ReferenceEncoder
from treetok.tokenizer_state import TokenizerState

LINES_AT_ONCE = 20_000


def first_lines(path: Path, characters: int) -> list[str]:
    """The lines of the first so many characters of a text."""
    text, left = [], characters
    for block in read_texts(path):
        text.append(block[:left])
        left -= len(block)
        if left <= 0:
            break
    return "".join(text).split("\n")


def states_of(model: str) -> Iterator[tuple[str, TokenizerState]]:
    """A tokenizer with both ways to merge pieces and with both versions of its profile."""
    state = TreeTokenizer.load(model).state
    for version in state.text_profile.versions:
        for fewest_tokens in (False, True):
            name = f"{model}, profile {version}, {'fewest tokens' if fewest_tokens else 'lowest entropy'}"
            yield name, replace(state, profile_version=version, fewest_tokens=fewest_tokens)


@contextmanager
def plain_python() -> Iterator[None]:
    """Without this, unseen words would be parsed by the native parser in both."""
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        del os.environ[SWITCH]


def check(state: TokenizerState, lines: list[str], with_offsets: list[str]) -> int:
    """Number of ids, all of which are equal; exits with an error otherwise."""
    native, reference = native_encoder(state), ReferenceEncoder(state)
    assert native is not None
    total = 0
    for start in range(0, len(lines), LINES_AT_ONCE):
        part = lines[start : start + LINES_AT_ONCE]
        with plain_python():
            expected = reference.encode_flat(part, 1)
        # Cold, then warm; with one thread, then with two, and with two that have seen nothing.
        fresh = native_encoder(state)
        assert fresh is not None
        for encoder, threads in ((native, 1), (native, 2), (fresh, 2)):
            found = encoder.encode_flat(part, threads)
            for one, other in zip(expected, found, strict=True):
                if not np.array_equal(one, other):
                    sys.exit(f"they differ in lines {start} to {start + len(part)} with {threads} threads")
        total += len(expected[0])
    for line in with_offsets:
        with plain_python():
            expected_places = reference.encode_with_offsets([line], 1)
        if not all(map(np.array_equal, native.encode_with_offsets([line], 1), expected_places)):
            sys.exit(f"offsets differ in {line!r}")
        separator = state.text_profile.separator
        ids = native.encode(line)
        if native.decode(ids, False, separator) != reference.decode(ids, False, separator):
            sys.exit(f"decoded texts differ in {line!r}")
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--model", action="append", dest="models")
    parser.add_argument("--megabytes", type=float, default=50, help="of each text, in million characters")
    parser.add_argument("--offsets-megabytes", type=float, default=2, help="for offsets and decoding")
    options = parser.parse_args()
    if (reason := why_not_native()) is not None:
        sys.exit(f"there is no native core: {reason}")
    for path in options.texts:
        lines = first_lines(path, int(options.megabytes * 1e6))
        with_offsets = first_lines(path, int(options.offsets_megabytes * 1e6))
        for model in options.models or ["en", "en-uncased"]:
            for name, state in states_of(model):
                start = time.perf_counter()
                total = check(state, lines, with_offsets)
                print(f"{path.name}: {name}: {total} ids equal ({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()

"""Words that somebody has chosen so that they would collide cost no more than others, since hashes have a random
key; and nothing that is returned or written depends on that key."""

import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer
from treetok.native import core, why_not_native

WORDS = 8_000
# The factors of a hash without a key, which is the sum of the products of both halves of a word with them.
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
TOP_BITS = 20

needs_core = pytest.mark.skipif(why_not_native() is not None, reason="there is no native core")


def random_letters(random, words, letters):
    return random.integers(ord("a"), ord("z") + 1, size=(words, letters), dtype=np.uint8)


def colliding_words() -> list[str]:
    """Words of a space and 14 letters, of which that hash has the same highest bits: the second half of each is
    one that brings the sum into the right range, found by binary search."""
    random = np.random.default_rng(0)
    first = np.full((1 << 17, 8), ord(" "), np.uint8)
    first[:, 1:] = random_letters(random, len(first), 7)
    products = first.view("<u8")[:, 0] * FIRST_FACTOR
    order = np.argsort(products)
    words: set[str] = set()
    while len(words) < WORDS:
        second = np.full((1 << 16, 8), 15, np.uint8)
        second[:, :7] = random_letters(random, len(second), 7)
        missing = np.uint64(1 << 63) - second.view("<u8")[:, 0] * SECOND_FACTOR
        start, stop = (
            np.searchsorted(products[order], missing + np.uint64(more)) for more in (0, 1 << (64 - TOP_BITS))
        )
        for number in np.nonzero(stop > start)[0]:
            ending = second[number, :7].tobytes()
            words.update((first[at].tobytes() + ending).decode() for at in order[start[number] : stop[number]])
    return sorted(words)[:WORDS]


def random_words() -> list[str]:
    return [" " + letters.tobytes().decode() for letters in random_letters(np.random.default_rng(1), WORDS, 14)]


def seconds_to_find(words: list[str]) -> float:
    """How long it takes to look up words that are known."""
    tok = TreeTokenizer.train({"word": 2}, 266, "counts", "lossless", progress=False)
    text = "".join(words)
    tok.encode_flat([text], threads=1)
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        tok.encode_flat([text], threads=1)
        best = min(best, time.process_time() - start)
    return best


@needs_core
def test_words_that_would_collide_cost_no_more_than_others():
    assert seconds_to_find(colliding_words()) < 3 * seconds_to_find(random_words()) + 0.002


SHOW_ALL = """
import hashlib, os, sys, tempfile
from pathlib import Path
from treetok import TreeTokenizer
from treetok.corpus.counting import WordCounter
from treetok.native import core
from treetok.text import profile_named

files = sys.argv[1:]
digest = hashlib.sha256()
for profile in ("lossless", "uncased"):
    tok = TreeTokenizer.train(files, 400, "counts", profile, progress=False)
    with tempfile.TemporaryDirectory() as directory:
        tok.save(directory)
        for path in sorted(Path(directory).iterdir()):
            digest.update(path.read_bytes())
    texts = [Path(file).read_text(encoding="utf-8") for file in files]
    digest.update(repr(tok.encode_batch(texts, threads=2)).encode())
    counter = WordCounter(profile_named(profile))
    # Room for so few that rare ones have to go.
    counter.max_words = 1000
    for line in "\\n".join(texts).split("\\n"):
        counter.add(line)
    digest.update(repr((counter.counts(), counter.dropped)).encode())
print(core().hash_of("a word"), digest.hexdigest())
"""


@needs_core
def test_nothing_depends_on_the_key_of_hashes():
    here = [
        subprocess.run(
            [sys.executable, "-c", SHOW_ALL, str(SAMPLE_FILES[0])], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert here[0][0] != here[1][0], "both processes have the same key"
    assert here[0][1] == here[1][1]


@needs_core
def test_hashes_are_spread():
    """Strings that differ in few bits fall into different slots, whichever bits of the hash choose the slot."""
    strings = [
        chr(97 + a) + chr(97 + b) + ending for a in range(26) for b in range(26) for ending in ("", "xyzabcdef")
    ]
    hashes = np.array([core().hash_of(string) for string in strings], dtype=np.uint64)
    for slots in (hashes & np.uint64(0xFFF), hashes >> np.uint64(52)):
        # 1,152 of 4,096 slots are hit when 1,352 strings are thrown at random.
        assert len(np.unique(slots)) > 1000

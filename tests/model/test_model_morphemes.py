"""The morphemes of any text: of any alphabet, however small."""

import subprocess
import sys
from itertools import pairwise

import pytest

pytest.importorskip("tokenizers")

from treetok.errors import TreetokError
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes
from treetok.model.data.piece_model import PieceConfig
from treetok.pipeline.morphs_from_trees import morphs_of_trees
from treetok.tree import split_depths

# 3000 distinct characters in words of two and three.
HAN = [chr(0x4E00 + number) for number in range(3000)]
CHINESE = {a + b + (HAN[0] if at % 2 else ""): 1 + at % 7 for at, (a, b) in enumerate(pairwise(HAN))}
TEXTS = {
    "no word": {},
    "one letter": {"a": 1},
    "one word": {"abcdef": 1},
    "one word of one letter": {"aaaa": 2},
    "two words": {"ab": 1, "cd": 1},
    "numbers": {"123": 4, "1234": 4, "٣٤": 2},
    "Chinese": CHINESE,
}
SIZES = [1, 2, 4, 6, 7, 500, 1000, 1001, 2000, 3000, 3001, 10_000]


def run(code):
    """In another process: a trainer that never ends cannot be stopped from within."""
    subprocess.run([sys.executable, "-c", "from test_model_morphemes import *\n" + code], check=True, timeout=60)


def check_every_size(method):
    for counts in TEXTS.values():
        for size in SIZES:
            found = find_morphemes(counts, MorphemeConfig(method, size, count_power=0.5))
            assert len(found.characters) == min(1000, len(set("".join(counts))))
            assert all(set(found.characters).issuperset(string) for string in found.longer)
            assert method != "unigram" or len(found.longer) <= size


@pytest.mark.parametrize("method", ["bpe", "unigram", "stems"])
def test_every_text_has_morphemes(method, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "tests/model")
    run(f"check_every_size({method!r})")


def test_unigram_finds_strings_of_frequent_characters_where_there_is_no_room_for_all():
    frequent = {"山水": 50, "山水田": 50, "山水人": 40, "田人": 30}
    found = find_morphemes(CHINESE | frequent, MorphemeConfig("unigram", 2000))
    assert "山水" in found.longer


@pytest.mark.parametrize("name", TEXTS)
def test_trees_of_every_text_suggest_morphemes_or_none(name):
    counts = {word: times for word, times in TEXTS[name].items() if len(word) > 1}
    scores = {word: [-depth for depth in split_depths(list(range(len(word) - 1)))] for word in counts}
    for size in SIZES:
        found = morphs_of_trees(scores, counts, size)
        assert all(len(string) > 1 for string in found) and len(found) <= size


@pytest.mark.parametrize("power", [-0.1, 1.5, float("nan")])
@pytest.mark.parametrize("config", [MorphemeConfig, PieceConfig])
def test_counts_to_no_other_power(config, power):
    with pytest.raises(TreetokError, match="count_power must be between 0 and 1"):
        config(count_power=power)

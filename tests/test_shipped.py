"""The tokenizers that come with the package, and how they get there."""

import sys
import zlib

import pytest

from conftest import ROOT, SAMPLE_FILES
from treetok import TreeTokenizer
from treetok.storage import load, shipped_names

sys.path += [str(ROOT / "experiments"), str(ROOT / "scripts")]

from ship import ship

from frequent_words import read_checked_words

SIZES = {"en": 32_000, "en-large": 64_000, "en-uncased": 30_000}
# What `en` still cuts absurdly.
ABSURD = {
    "Eskimos": "E|ski|mos",
    "Sentry": "S|entry",
    "appetizers": "app|et|izer|s",
    "cartesian": "cart|es|ian",
    "flap": "fl|ap",
    "loafing": "lo|af|ing",
    "riparian": "rip|arian",
    "sizing": "s|izing",
}
MAX_DOWNLOAD = 10_000_000
COMMON = ["small-lexicon.safetensors", "small-ngrams.safetensors"]


def test_names_and_sizes():
    assert {name: TreeTokenizer.load(name).vocab_size for name in shipped_names()} == SIZES


def test_the_download_is_small():
    files = [path for path in load.shipped_directory().rglob("*") if path.is_file()]
    assert sum(len(zlib.compress(path.read_bytes())) for path in files) < MAX_DOWNLOAD


def test_checked_words_are_cut_sensibly():
    tokenizer = TreeTokenizer.load("en")
    cuts = {word: tuple(tokenizer.segment(word)) for word in read_checked_words()}
    absurd = {word: "|".join(cut) for word, cut in cuts.items() if cut not in read_checked_words()[word]}
    assert absurd == ABSURD


@pytest.mark.parametrize("name", SIZES)
def test_text_comes_back(name):
    tokenizer = TreeTokenizer.load(name)
    for path in SAMPLE_FILES:
        text = path.read_text(encoding="utf-8")
        decoded = tokenizer.decode(tokenizer.encode(text))
        assert decoded == text if tokenizer.profile == "lossless" else decoded


def test_files_in_common_are_shipped_once(tmp_path, monkeypatch):
    first = TreeTokenizer.train(SAMPLE_FILES, 1000, "counts", progress=False)
    second = TreeTokenizer.train(SAMPLE_FILES, 1200, first, prior=0, progress=False)
    for name, tokenizer in (("small", first), ("large", second)):
        tokenizer.save(tmp_path / name)
    target = tmp_path / "shipped"
    for _ in range(2):  # Again, over what is there.
        ship([tmp_path / "small", tmp_path / "large"], target)
    assert sorted(path.name for path in target.iterdir() if path.is_file()) == COMMON
    assert sorted(path.name for path in (target / "large").iterdir()) == [
        "MODEL_CARD.md",
        "treetok.json",
        "vocab.tsv",
    ]
    monkeypatch.setattr(load, "shipped_directory", lambda: target)
    for name, tokenizer in (("small", first), ("large", second)):
        assert TreeTokenizer.load(name).encode("The walkers walked.") == tokenizer.encode("The walkers walked.")

"""The tokenizers that come with the package, and how they get there."""

import shutil
import sys
import zlib

import pytest

from conftest import ROOT, SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.storage import files as storage_files
from treetok.storage import load, shipped_names

sys.path += [str(ROOT / "experiments"), str(ROOT / "scripts")]

from frequent_words import read_checked_words
from ship import ship

# With <|pad|> and <|mask|>, which were added to the first two.
SIZES = {"en": 32_002, "en-large": 64_002, "en-uncased": 30_000}
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
    tokenizers = {name: TreeTokenizer.load(name) for name in shipped_names()}
    assert {name: tokenizer.vocab_size for name, tokenizer in tokenizers.items()} == SIZES
    assert {tokenizer.state.profile_version for tokenizer in tokenizers.values()} == {2}


def test_the_download_is_small():
    files = [path for path in load.shipped_directory().rglob("*") if path.is_file()]
    assert sum(len(zlib.compress(path.read_bytes())) for path in files) < MAX_DOWNLOAD


def test_checked_words_are_cut_sensibly():
    tokenizer = TreeTokenizer.load("en")
    cuts = {word: tuple(tokenizer.segment(word)) for word in read_checked_words()}
    absurd = {word: "|".join(cut) for word, cut in cuts.items() if cut not in read_checked_words()[word]}
    assert absurd == ABSURD


@pytest.mark.parametrize("name", ["en", "en-large"])
def test_text_comes_back(name):
    tokenizer = TreeTokenizer.load(name)
    for path in SAMPLE_FILES:
        text = path.read_text(encoding="utf-8")
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_relative_path_to_a_shipped_tokenizer(monkeypatch, capsys):
    monkeypatch.chdir(load.shipped_directory())
    assert main(["info", "./en"]) == 0
    assert "shared with others" in capsys.readouterr().out


def test_a_copy_says_what_it_lacks(tmp_path):
    shutil.copytree(load.shipped_directory() / "en", tmp_path / "en")
    with pytest.raises(TreetokError, match="safetensors is missing: shipped tokenizers share it"):
        TreeTokenizer.load(tmp_path / "en")


@pytest.fixture
def trained(tmp_path):
    first = TreeTokenizer.train(SAMPLE_FILES, 1000, "counts", progress=False)
    second = TreeTokenizer.train(SAMPLE_FILES, 1200, first, prior=0, progress=False)
    for name, tokenizer in (("small", first), ("large", second)):
        tokenizer.save(tmp_path / name)
    return {"small": first, "large": second}


def test_files_in_common_are_shipped_once(trained, tmp_path, monkeypatch):
    target = tmp_path / "shipped"
    directories = [tmp_path / name for name in trained]
    ship([tmp_path / "small"], target)
    (target / "small" / "MODEL_CARD.md").write_text("by hand", encoding="utf-8")
    ship(directories, target)
    assert sorted(path.name for path in target.iterdir() if path.is_file()) == COMMON
    for name in trained:
        assert sorted(path.name for path in (target / name).iterdir()) == [
            "MODEL_CARD.md",
            "treetok.json",
            "vocab.tsv",
        ]
    assert (target / "small" / "MODEL_CARD.md").read_text(encoding="utf-8") == "by hand"
    for module in (load, storage_files):
        monkeypatch.setattr(module, "shipped_directory", lambda: target)
    for name, tokenizer in trained.items():
        assert TreeTokenizer.load(name).encode("The walkers walked.") == tokenizer.encode("The walkers walked.")


def test_nothing_is_shipped_if_one_is_damaged(trained, tmp_path):
    target = tmp_path / "shipped"
    ship([tmp_path / "small"], target)
    (tmp_path / "large" / "vocab.tsv").write_text("damaged", encoding="utf-8")
    with pytest.raises(TreetokError, match="is damaged"):
        ship([tmp_path / "large"], target)
    with pytest.raises(TreetokError, match="two tokenizers have the same name"):
        ship([tmp_path / "small", tmp_path / "large" / ".." / "small"], target)
    with pytest.raises(TreetokError, match="where tokenizers are shipped to"):
        ship([target / "small"], target)
    assert [path.name for path in target.iterdir()] == ["small"]

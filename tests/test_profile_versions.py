"""Tokenizers keep the version of the text profile that they were trained with."""

import json
import pickle
import unicodedata

import pytest

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError

INDIC = "हिन्दी भाषा में लिखी हुई किताबें। தமிழ் மொழி புத்தகங்கள். বাংলা ভাষার বইগুলি। "


WORDS = ["किताबें", "भाषा", "புத்தகங்கள்", "தமிழ்", "বইগুলি", "ভাষার"]


@pytest.mark.parametrize("word", WORDS)
def test_words_of_indic_scripts_are_whole(word):
    lossless = TreeTokenizer.train([INDIC * 3], 400, "counts", progress=False)
    assert lossless.tokenize(f"x {word}")[1:] == [f" {word}"]
    assert lossless.decode(lossless.encode(f"x {word}!")) == f"x {word}!"
    # BERT's normalisation decomposes characters and strips combining marks (Mn); the spacing ones (Mc) stay.
    uncased = TreeTokenizer.train([INDIC * 3], 75, "counts", "uncased", progress=False)
    normal = "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
    assert uncased.tokenize(word) == uncased.segment(word) == [normal]
    assert uncased.decode(uncased.encode(f"{word} {word}")) == f"{normal} {normal}"


def change_head(directory, **changes):
    head = json.loads((directory / "treetok.json").read_text(encoding="utf-8")) | changes
    head = {name: value for name, value in head.items() if value is not None}
    (directory / "treetok.json").write_text(json.dumps(head), encoding="utf-8")


def test_a_tokenizer_keeps_the_rules_it_was_trained_with(tmp_path):
    """New ones get the newest version of the profile; those saved before there were versions have the first."""
    text = "It’s हिन्दी, said the friend’s friend. " * 3
    new = TreeTokenizer.train([text], 60, "counts", "uncased", progress=False)
    new.save(tmp_path)
    head = json.loads((tmp_path / "treetok.json").read_text(encoding="utf-8"))
    assert head["profile_version"] == 2
    again = TreeTokenizer.load(tmp_path)
    assert again.tokenize("It’s हिन्दी") == new.tokenize("It’s हिन्दी") == ["it", "’s", "हिनदी"]
    change_head(tmp_path, profile_version=None, format=2)
    old = TreeTokenizer.load(tmp_path)
    assert old.state.profile_version == 1
    assert old.tokenize("It’s") == ["it", "’", "s"]
    # What is loaded is saved, and pickled, in the same version.
    old.save(tmp_path / "again")
    for copy in (TreeTokenizer.load(tmp_path / "again"), pickle.loads(pickle.dumps(old))):
        assert copy.tokenize("It’s") == ["it", "’", "s"]


@pytest.fixture
def saved(tmp_path):
    TreeTokenizer.train(SAMPLE_FILES, 600, "counts", progress=False).save(tmp_path)
    return tmp_path


def test_a_version_that_is_missing_is_no_old_version(saved):
    change_head(saved, profile_version=None)
    with pytest.raises(TreetokError, match="is damaged: KeyError at 'profile_version'"):
        TreeTokenizer.load(saved)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            3,
            r"treetok\.json has version 3 of the profile 'lossless', this treetok knows up to 2: upgrade treetok$",
        ),
        (0, "is damaged: unknown version 0 of the profile 'lossless': choose one of 1, 2"),
        ("2", "is damaged: unknown version '2' of the profile 'lossless'"),
    ],
)
def test_an_unknown_version_of_the_profile_is_refused(saved, version, message):
    change_head(saved, profile_version=version)
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.load(saved)

"""Baselines: their pieces join to the word, and the same text gives the same baseline."""

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from evaluate.strings_to_segment import STRINGS
from treetok import TreetokError
from treetok.corpus.counting import count_words
from treetok.evaluate.baselines.morfessor_baseline import DAMPENINGS, train_morfessor
from treetok.evaluate.baselines.subword import NAMES, train_baseline
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.load_tokenizer import load_tokenizer
from treetok.text import profile_named

SIZE = 1200


@pytest.fixture(scope="module")
def word_counts() -> dict[str, dict[str, int]]:
    return {name: count_words(SAMPLE_FILES, profile_named(name)).counts() for name in ("uncased", "lossless")}


@pytest.fixture(scope="module")
def baselines(word_counts) -> dict[str, EvalTokenizer]:
    """Everything that can be trained, with every profile."""
    trained = {
        f"{kind} {profile} {words}": train_baseline(kind, word_counts[profile], SIZE, profile, words)
        for kind in NAMES
        for profile, words in (("uncased", "equal"), ("uncased", "whitespace"), ("lossless", "equal"))
    }
    for profile in word_counts:
        trained[f"morfessor {profile}"] = train_morfessor(word_counts[profile], profile, max_types=1000)
    return trained


# ---- trained here


def test_baselines_have_the_interface(baselines, uncased):
    for baseline in [*baselines.values(), NamedTreeTokenizer(uncased)]:
        assert isinstance(baseline, EvalTokenizer)


def test_vocabularies_have_the_size_asked_for(baselines):
    for name, baseline in baselines.items():
        if not name.startswith("morfessor"):
            assert baseline.vocabulary_size == SIZE, name


def test_size_counts_what_treetok_counts(word_counts):
    """With as many entries as the characters and what is set aside for special tokens and bytes need, and no more,
    words are cut into characters by TreeTok and by its baselines."""
    words = {"abab": 10, "ba": 5}
    assert train_baseline("bpe", words, 5 + 2, "uncased").segment("abab") == list("abab")
    assert train_baseline("unigram", words, 5 + 2, "uncased").segment("abab") == list("abab")
    assert train_baseline("bpe", words, 3 + 256, "lossless").segment("abab") == list("abab")
    for kind in ("bpe", "unigram"):
        with pytest.raises(TreetokError, match="at least 7"):
            train_baseline(kind, words, 6, "uncased")
        with pytest.raises(TreetokError, match="at least 259"):
            train_baseline(kind, words, 258, "lossless")


def test_a_small_text_gives_a_small_vocabulary():
    baseline = train_baseline("bpe", {"aab": 3}, 500, "uncased")
    assert baseline.vocabulary_size == 5 + len({"a", "b", "aa", "aab"})


@pytest.mark.parametrize("string", STRINGS)
def test_pieces_join_to_the_word(baselines, string):
    for name, baseline in baselines.items():
        normal = "".join(baseline.profile.split(string))
        pieces = baseline.segment(string)
        assert "".join(pieces) == normal, name
        assert all(pieces), name


@given(st.text(max_size=20))
def test_pieces_join_to_any_string(baselines, string):
    for name, baseline in baselines.items():
        assert "".join(baseline.segment(string)) == "".join(baseline.profile.split(string)), name


def test_strings_of_several_words_are_cut_between_them(baselines):
    for kind in NAMES:
        assert baselines[f"{kind} uncased equal"].segment("Walked's")[-1] == "'s"
        assert baselines[f"{kind} uncased whitespace"].segment("Walked's")[-2:] == ["'", "s"]
        assert "-" in baselines[f"{kind} uncased equal"].segment("chain-gang")
    assert baselines["morfessor uncased"].segment("Walked's")[-1] == "'s"


def test_markers_do_not_show_in_pieces_but_tell_tokens_apart(baselines):
    baseline = baselines["wordpiece uncased equal"]
    assert not any("#" in piece for piece in baseline.segment("lighthouselighthouse"))
    assert any(token.startswith("##") for token in baseline.tokenize("lighthouselighthouse"))


def test_unmarked_wordpiece_takes_the_longest_entry_of_bpe(word_counts):
    bpe, greedy = (
        train_baseline(kind, word_counts["uncased"], SIZE, "uncased") for kind in ("bpe", "wordpiece-unmarked")
    )
    words = sorted(word_counts["uncased"])
    entries = set(greedy._segment_word.tokenizer.get_vocab())
    assert entries == set(bpe._segment_word.tokenizer.get_vocab())
    for word in words[::20]:
        first = greedy.segment(word)[0]
        assert not any(word[:end] in entries for end in range(len(first) + 1, len(word) + 1))


def test_words_are_cut_as_inside_a_sentence(baselines):
    """After a space in `lossless`, although the pieces do not show it."""
    for kind in ("bpe", "unigram"):
        baseline = baselines[f"{kind} lossless equal"]
        tokens = baseline.tokenize("see lighthouses")
        assert "".join(tokens) == "see lighthouses"
        assert [token.strip() for token in tokens[-len(baseline.segment("lighthouses")) :]] == baseline.segment(
            "lighthouses"
        )


def test_unseen_characters_are_unknown_or_bytes(baselines):
    assert baselines["bpe uncased equal"].tokenize("東京") == ["[UNK]", "[UNK]"]
    assert baselines["bpe lossless equal"].tokenize("東") == ["<0xE6>", "<0x9D>", "<0xB1>"]
    assert baselines["unigram lossless equal"].segment("東") == ["東"]
    # WordPiece gives a word up as a whole, which is not to know it as a whole.
    assert baselines["wordpiece uncased equal"].segment("walk東ed") == ["walk", "東", "ed"]
    assert baselines["wordpiece uncased equal"].segment("walkðed") == list("walkðed")
    assert baselines["wordpiece uncased equal"].tokenize("walkðed") == ["[UNK]"]


def test_text_is_cut_like_its_words(baselines, sample_text):
    text = sample_text[:3000]
    for name, baseline in baselines.items():
        tokens = baseline.tokenize(text)
        assert len(tokens) >= len(baseline.profile.split(text)), name
        if "lossless" in name and not name.startswith("wordpiece "):
            assert "".join(tokens) == text, name
        assert baseline.tokenize("") == []


def test_training_twice_gives_the_same_baseline(baselines, word_counts):
    """The WordPiece trainer of Hugging Face alone does not."""
    for kind in NAMES:
        backwards = dict(reversed(word_counts["uncased"].items()))
        again = train_baseline(kind, backwards, SIZE, "uncased")
        once = baselines[f"{kind} uncased equal"]
        assert [again.segment(word) for word in word_counts["uncased"]] == [
            once.segment(word) for word in word_counts["uncased"]
        ]


def test_what_baselines_refuse(word_counts):
    with pytest.raises(TreetokError, match="unknown baseline 'bqe'"):
        train_baseline("bqe", {"a": 1}, 10, "uncased")
    with pytest.raises(TreetokError, match="unknown profile"):
        train_baseline("bpe", {"a": 1}, 10, "cased")
    with pytest.raises(TreetokError, match="unknown pre-tokenization 'blank'"):
        train_baseline("bpe", {"a": 1}, 10, "uncased", "blank")
    with pytest.raises(TreetokError, match="needs the profile 'uncased'"):
        train_baseline("bpe", {"a": 1}, 500, "lossless", "whitespace")
    with pytest.raises(TreetokError, match="no words"):
        train_baseline("bpe", {}, 10, "uncased")
    with pytest.raises(TreetokError, match="whole number"):
        train_baseline("bpe", {"a": 1}, 10.5, "uncased")
    with pytest.raises(TreetokError, match="lone surrogate"):
        train_baseline("bpe", {"a": 1}, 10, "uncased").segment("\ud800")


def test_missing_packages_are_named(monkeypatch, tmp_path):
    for package in ("tokenizers", "morfessor", "sentencepiece", "tiktoken"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TreetokError, match="pip install tokenizers morfessor matplotlib"):
        train_baseline("bpe", {"a": 1}, 10, "uncased")
    with pytest.raises(TreetokError, match="pip install tokenizers morfessor matplotlib"):
        train_morfessor({"a": 1}, "uncased")
    for spec, package in ("x.json", "tokenizers"), ("x.model", "sentencepiece"), ("tiktoken:gpt2", "tiktoken"):
        with pytest.raises(TreetokError, match=f"pip install .*{package}"):
            load_tokenizer(spec)


# ---- Morfessor

STEMS = ("walk", "jump", "look", "help", "talk", "climb", "paint", "cook")
INFLECTED = {stem + ending: 3 for stem in STEMS for ending in ("", "s", "ed", "ing", "er", "ers")}


def test_morfessor_finds_morphs_and_says_how_many():
    baseline = train_morfessor(INFLECTED | {"'s": 50}, "uncased")
    assert baseline.segment("Walking") == ["walk", "ing"]
    # A word that it was not trained on.
    assert baseline.segment("walking's") == ["walk", "ing", "'s"]
    morphs = {piece for word in INFLECTED for piece in baseline.segment(word)}
    assert baseline.vocabulary_size == baseline.lexicon_size == baseline.model.types + 1
    assert len(morphs) <= baseline.model.types
    assert baseline.name == f"Morfessor Baseline ({baseline.lexicon_size} morphs)"


def test_morfessor_keeps_case_and_space_where_the_profile_does():
    baseline = train_morfessor(INFLECTED, "lossless")
    assert baseline.segment("Walking") == ["Walk", "ing"]
    assert baseline.tokenize("We Walking") == [*baseline.segment("We"), " Walk", "ing"]
    assert baseline.vocabulary_size is None


def test_morfessor_learns_from_the_most_frequent_types_alone():
    baseline = train_morfessor({**INFLECTED, "zyx": 1}, "uncased", max_types=len(INFLECTED))
    assert (baseline.trained_types, baseline.all_types) == (len(INFLECTED), len(INFLECTED) + 1)
    assert f"from the {len(INFLECTED)} most frequent types" in baseline.name
    assert baseline.segment("zyx") == ["z", "y", "x"]


def test_morfessor_dampens_counts_like_its_command_line():
    assert [DAMPENINGS["log"](count) for count in (1, 2, 3, 100)] == [1, 2, 2, 7]
    frequent = {**INFLECTED, "walking": 10**6}
    assert train_morfessor(frequent, "uncased").segment("walking") == ["walk", "ing"]
    assert train_morfessor(frequent, "uncased", dampening="none").segment("walking") == ["walking"]


def test_morfessor_is_the_same_again_and_leaves_random_numbers_alone(word_counts, baselines, capfd):
    random.seed(3)
    expected = random.random()
    random.seed(3)
    again = train_morfessor(word_counts["uncased"], "uncased", max_types=1000)
    assert random.random() == expected
    for word in word_counts["uncased"]:
        assert again.segment(word) == baselines["morfessor uncased"].segment(word)
    assert capfd.readouterr() == ("", "")


def test_what_morfessor_refuses():
    with pytest.raises(TreetokError, match="unknown dampening 'some'"):
        train_morfessor({"a": 1}, "uncased", dampening="some")
    with pytest.raises(TreetokError, match="no words"):
        train_morfessor({"'s": 1}, "uncased")
    with pytest.raises(TreetokError, match="max_types"):
        train_morfessor({"a": 1}, "uncased", max_types=0)


def test_absurd_sizes_are_refused(word_counts):
    for kind in NAMES:
        with pytest.raises(TreetokError, match="is too large: the limit is 5000000"):
            train_baseline(kind, word_counts["uncased"], 10**9, "uncased")

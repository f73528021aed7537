import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import Tree, TreetokError
from treetok.lexicon import Lexicon


def as_bytes(text):
    return np.frombuffer(text.encode(), np.uint8)


def test_words_in_a_lexicon_have_2_to_64_letters():
    for length in (1, 65):
        lengths, depths = np.array([length], np.uint8), np.zeros(length - 1, np.uint8)
        with pytest.raises(TreetokError, match="fewer than 2 or more than 64 characters"):
            Lexicon(as_bytes("a" * length), lengths, depths)
    assert len(Lexicon(as_bytes("a" * 64), np.array([64], np.uint8), np.zeros(63, np.uint8))) == 1


def test_the_trees_of_a_lexicon_are_those_it_was_given():
    """Each word has its own, wherever it stands; words between, before and after them are not there."""
    lexicon = Lexicon.from_scores({"walking": [0, 0, 0, 9, 1, 0], "bed": [1, 2], "zebra": [4, 3, 2, 1], "ox": [0]})
    assert lexicon.scores("walking") == Tree("walking", [0, 0, 0, 9, 1, 0]).scores()
    assert lexicon.scores("bed") == [-1, 0]
    assert lexicon.scores("zebra") == [0, -1, -2, -3]
    assert lexicon.scores("ox") == [0]
    for word in ("a", "bad", "walk", "zebras", "zz", ""):
        assert lexicon.scores(word) is None


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=2, max_size=20), st.integers()))
def test_lexicon_round_trip(words):
    scores = {word: [(seed >> i) % 7 for i in range(len(word) - 1)] for word, seed in words.items()}
    lexicon = Lexicon.from_scores(scores)
    assert lexicon.words() == sorted(words)
    for word in words:
        assert Lexicon.from_scores({word: scores[word]}).scores(word) == lexicon.scores(word)
    assert lexicon.scores("\x00 not there") is None

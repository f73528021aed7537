"""Pathological input: the work is linear in the length of the text, whatever the text contains."""

import random
import time

import pytest

from treetok.sources import CountTrees
from treetok.text import profile_named


@pytest.mark.parametrize("letters", ["abcdefghij", "-.,;!", "0123456789", "äöü", "東京", " \n", "a'"])
@pytest.mark.parametrize("profile", ["lossless", "uncased"])
def test_long_runs_of_letters_become_words_of_bounded_length(profile, letters, request, monkeypatch):
    """All later work is done word by word, so that it is linear in the length of the text."""
    tokenizer = request.getfixturevalue(profile)
    longest = 0

    def watched(words):
        nonlocal longest
        longest = max(longest, *map(len, words))
        return CountTrees.split_scores(tokenizer.state.source, words)

    monkeypatch.setattr(tokenizer.state.source, "split_scores", watched)
    text = "".join(random.Random(0).choices(letters, k=5000))
    ids = tokenizer.encode(text)
    assert longest <= 64
    assert tokenizer.encode_with_offsets(text).ids == ids
    if profile == "lossless":
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
@pytest.mark.parametrize(
    "letters", ["ab", "'s", " a", "-1", "1", "\r\n ", "’\u0301", "Aa\u0301", "A", "🇩", "👍🏽\u200d", "aA\u200c"]
)
def test_splitting_takes_linear_time(profile, letters):
    def seconds(length):
        text = "".join(random.Random(0).choices(letters, k=length))
        best = float("inf")
        for _ in range(3):
            # Of the processor: others may be busy, too.
            start = time.process_time()
            profile_named(profile).split(text)
            best = min(best, time.process_time() - start)
        return best

    # Linear time is 8 times as long, quadratic time 64 times; a pattern that backtracks would take far longer.
    assert seconds(160_000) < 24 * seconds(20_000) + 0.005


def test_a_word_of_ten_thousand_letters_has_a_tree(lossless):
    word = "".join(random.Random(0).choices("abcdefg", k=10_000))
    assert len(lossless.tree(word).spans()) == 19_999
    assert "".join(lossless.segment(word)) == word

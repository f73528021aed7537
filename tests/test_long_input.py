"""Pathological input: the work is linear in the length of the text, whatever the text contains."""

import random
import time

import pytest

from treetok.sources import CountTrees
from treetok.text import profile_named
from treetok.text.normalized import normalise


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
    def text(length):
        return "".join(random.Random(0).choices(letters, k=length))

    assert_linear(profile_named(profile).split, text(20_000), text(160_000))


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@pytest.mark.parametrize(
    "marks", ["\u0315\u0300", "\u0345\u0300\u0327", "\u0345\u0344", "\u0315\uff9e", "\u0301\u0f73", "\u0323\u0301"]
)
def test_normal_forms_of_runs_of_marks_take_linear_time(form, marks):
    assert_linear(lambda text: normalise(form, text), "e" + marks * 2_000, "e" + marks * 16_000)


def assert_linear(work, short, long):
    """`long` is 8 times as long as `short`. So much longer is linear time, too; quadratic time is 64 times."""
    assert seconds_of(work, long) < 24 * seconds_of(work, short) + 0.005


def seconds_of(work, text):
    best = float("inf")
    for _ in range(3):
        # Of the processor: others may be busy, too.
        start = time.process_time()
        work(text)
        best = min(best, time.process_time() - start)
    return best


def test_a_word_of_ten_thousand_letters_has_a_tree(lossless):
    word = "".join(random.Random(0).choices("abcdefg", k=10_000))
    assert len(lossless.tree(word).spans()) == 19_999
    assert "".join(lossless.segment(word)) == word

"""The time budget leaves what the lexicon and the vocabulary will take."""

import pytest

from treetok.pipeline import time_budget
from treetok.pipeline.time_budget import Budget


def budget(monkeypatch, minutes, words, spent=0.0):
    monkeypatch.setattr(time_budget.time, "monotonic", lambda: 1000.0 + spent)
    return Budget(minutes, began=1000.0, members=2, members_left=2, distinct_words=words)


def test_more_words_leave_less_time_for_models(monkeypatch):
    few, many = (budget(monkeypatch, 7, words) for words in (10_000, 1_200_000))
    # A text of Chinese has so many words, and its lexicon and vocabulary take minutes.
    assert many.tail() > 180
    assert few.tail() < 20
    assert many.for_member() < few.for_member() / 1.5
    for one in (few, many):
        parts = one.members_left + time_budget.DECODING_PER_MEMBER * one.members + time_budget.DISTILLATION
        assert one.for_member() * parts + one.tail() == pytest.approx(one.left())


def test_the_vocabulary_takes_longer_without_the_core(monkeypatch):
    one = budget(monkeypatch, 7, 100_000)
    monkeypatch.setenv("TREETOK_NATIVE", "1")
    with_core = one.tail()
    monkeypatch.setenv("TREETOK_NATIVE", "0")
    assert one.tail() >= with_core
    assert one.tail() == pytest.approx(2 + 100_000 * time_budget.SECONDS_PER_WORD_WITHOUT_CORE)


def test_distillation_gets_what_is_left(monkeypatch):
    one = budget(monkeypatch, 10, 500_000, spent=300.0)
    assert one.for_distillation() == pytest.approx(300 - one.tail())

"""The depths of many words at once are those of each word alone."""

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import batched_depths
from treetok.batched_depths import batch_split_depths
from treetok.tree import split_depths

SCORES = st.lists(st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6), st.just(-np.inf)), max_size=12)


@given(st.lists(SCORES, max_size=12))
def test_they_are_those_of_each_word(scores):
    assert batch_split_depths(scores).tolist() == [depth for of_word in scores for depth in split_depths(of_word)]


@pytest.mark.parametrize("at_once", [1, 3])
def test_in_batches(at_once, monkeypatch):
    monkeypatch.setattr(batched_depths, "WORDS_PER_BATCH", at_once)
    rng = random.Random(at_once)
    scores = [[rng.random() for _ in range(rng.randint(0, 5))] for _ in range(40)]
    assert batch_split_depths(scores).tolist() == [depth for of_word in scores for depth in split_depths(of_word)]


def test_words_of_the_greatest_length():
    falling = [list(range(63, 0, -1)), list(range(63))]
    assert batch_split_depths(falling).tolist() == [*range(63), *reversed(range(63))]


def test_many_words_are_done_in_less_time_than_one_by_one():
    rng = random.Random(0)
    scores = [[rng.random() for _ in range(8)] for _ in range(20_000)]
    began = time.process_time()
    batch_split_depths(scores)
    together = time.process_time() - began
    began = time.process_time()
    for of_word in scores:
        split_depths(of_word)
    assert together < time.process_time() - began

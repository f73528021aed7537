"""Pathological input: work is linear in the length of the text (`scripts/check_linear.py`: more kinds of it)."""

import importlib.util
import random
import time

import pytest

from conftest import ROOT
from treetok.sources import CountTrees
from treetok.text import profile_named
from treetok.text.normalized import normalise

spec = importlib.util.spec_from_file_location("check_linear", ROOT / "scripts" / "check_linear.py")
check_linear = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_linear)


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


@pytest.mark.parametrize(
    "kind",
    [
        "one letter",
        "null characters",
        "marks out of order",
        "Han",
        "flags",
    ],
)
def test_all_that_is_done_with_a_text_takes_linear_time(kind):
    for point, (prepare, turned) in check_linear.entry_points().items():
        if "transformers" not in point:
            text = check_linear.TEXTS[kind]
            ratio = check_linear.ratio_to_linear(
                prepare, lambda size, text=text, turned=turned: turned(text(size)), 2e-4, 3
            )
            # Quadratic time has 8.
            assert ratio < 3, point


@pytest.mark.parametrize(
    "kind",
    ["null characters as .zst", "many frames of .zst", "rows", "one row"],
)
def test_files_take_linear_time(kind, tmp_path):
    name, content, write = check_linear.FILES[kind]

    def file_of(size):
        path = tmp_path / str(size) / name
        path.parent.mkdir(exist_ok=True)
        write(path, check_linear.TEXTS[content](size))
        return path

    for work in check_linear.of_files(is_ids=False).values():
        assert check_linear.ratio_to_linear(lambda path, work=work: work, file_of, 2e-3, 3) < 3

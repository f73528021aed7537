"""Added tokens are found in time that grows with the text, whatever the tokens and the text are."""

import gc
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AddedToken

from treetok import TreetokError
from treetok.hf import TreeTokTokenizer
from treetok.hf.added_tokens import AddedTokens, is_inside_word
from treetok.string_search import StringSearch


@given(st.sets(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=6), st.text("abc", max_size=20))
def test_the_longest_string_at_each_start(strings, text):
    expected = [
        (start, max(lengths))
        for start in range(len(text))
        if (lengths := [len(string) for string in strings if text.startswith(string, start)])
    ]
    assert list(StringSearch(strings).longest_at_each_start(text)) == expected


@pytest.mark.parametrize(
    "contents, flags, text",
    [
        (["<x>"], {"single_word": True}, "a<x>"),
        (["<x>"], {"lstrip": True, "rstrip": True}, "  <x>  "),
        # All are beginnings of each other, and half of the text of another.
        (["<" * length for length in range(1, 300)], {}, "<"),
        (["a", "a" * 500 + "x"], {}, "a"),
        (["a" * length + "x" for length in range(1, 300)], {}, "a"),
        (["a", *("x" + "a" * length for length in range(1, 300))], {"single_word": True}, "a"),
        ([f"<extra{number}>" for number in range(3000)], {}, "<extra7><extra"),
    ],
)
def test_time_is_linear(contents, flags, text):
    """Four times the text takes about four times as long."""
    added = AddedTokens({number: AddedToken(content, **flags) for number, content in enumerate(contents)}, ())
    added.split("<a" + text)
    size = 64_000 // len(text)
    gc.disable()
    try:
        small, large = (min(seconds(added, text * times) for _ in range(3)) for times in (size // 8, size // 2))
    finally:
        gc.enable()
    assert large < 8 * small + 0.005


def seconds(added: AddedTokens, text: str) -> float:
    start = time.process_time()
    added.split(text)
    return time.process_time() - start


def test_many_tokens_cost_no_more_than_few():
    """Tokens of many lengths that could all begin anywhere."""
    few, many = (
        AddedTokens({length: AddedToken("a" * length + "x") for length in range(1, most)}, ()) for most in (3, 300)
    )
    text = "a" * 20_000
    for added in (few, many):
        added.split("ab")
    assert min(seconds(many, text) for _ in range(3)) < 4 * min(seconds(few, text) for _ in range(3)) + 0.005


class CountedText(str):
    """Counts the characters that are copied out of it."""

    copied = 0

    def __getitem__(self, place):
        part = super().__getitem__(place)
        self.copied += len(part)
        return part


def test_only_the_characters_around_a_token_are_looked_at():
    text = CountedText("a" * 1000 + "<x>" + "b" * 1000)
    assert is_inside_word(text, 1000, 1003) and text.copied == 2


def test_many_special_tokens_are_loaded_in_linear_time(lossless):
    """It was 16 times as long for four times as many."""

    def loading(most: int) -> float:
        tokenizer = lossless.with_special_tokens([f"<{number}|>" for number in range(most)])
        start = time.process_time()
        tok = TreeTokTokenizer(tokenizer)
        taken = time.process_time() - start
        assert tok.convert_tokens_to_ids("<7|>") == tokenizer.special_tokens["<7|>"]
        return taken

    few, many = (min(loading(most) for _ in range(2)) for most in (500, 4000))
    assert many < 24 * few + 0.05


def test_use_does_not_change_the_pickle():
    added = AddedTokens({5: AddedToken("<x>")}, ())
    before = pickle.dumps(added)
    assert added.split("a<x>") == pickle.loads(before).split("a<x>")
    assert pickle.dumps(added) == before


def test_empty_tokens(lossless):
    with pytest.raises(TreetokError, match="must be a token that is not empty"):
        TreeTokTokenizer(lossless, added_tokens_decoder={lossless.vocab_size: AddedToken("")})
    assert TreeTokTokenizer(lossless).add_tokens([""]) == 0

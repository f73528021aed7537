"""The many forms in which texts are passed to a tokenizer of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treetok.errors import TreetokError
from treetok.hf.text_encoder import Text


@dataclass(frozen=True)
class Samples:
    """The texts of a call: the first of each sample and, if samples are pairs, the second."""

    texts: Sequence[Sequence[Text]]
    is_batch: bool

    @classmethod
    def of(cls, text: Any, pair: Any, is_split_into_words: bool) -> Samples:
        """
        A text is a string or, if `is_split_into_words`, a list of strings. A batch is a list of texts or of pairs.

        >>> Samples.of("one", None, False).texts, Samples.of([("one", "two")], None, False).texts
        ([['one']], [['one'], ['two']])
        """
        is_batch = is_list(text) and (not is_split_into_words or bool(text and not isinstance(text[0], str)))
        if not is_batch:
            texts = [[text]] if pair is None else [[text], [pair]]
        elif pair is not None:
            if not is_list(pair) or len(pair) != len(text):
                length = len(pair) if is_list(pair) else "no list"
                raise TreetokError(f"text_pair must have a text for each of the {len(text)} texts, not {length}")
            texts = [text, pair]
        elif text and all(is_pair(sample, is_split_into_words) for sample in text):
            texts = [[first for first, _ in text], [second for _, second in text]]
        else:
            texts = [text]
        for of_all in texts:
            # The common case, checked without a loop in Python.
            if is_split_into_words or set(map(type, of_all)) != {str}:
                for number, one in enumerate(of_all):
                    check_text(one, is_split_into_words, number if is_batch else None)
        return cls(texts, is_batch)


def is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def is_pair(sample: Any, is_split_into_words: bool) -> bool:
    if not is_list(sample) or len(sample) != 2:
        return False
    if is_split_into_words:
        return isinstance(sample, tuple) and all(map(is_list, sample))
    return all(isinstance(text, str) for text in sample)


def check_text(text: Any, is_split_into_words: bool, number: int | None) -> None:
    name = "text" if number is None else f"text {number} of the batch"
    if not is_split_into_words:
        if not isinstance(text, str):
            raise TreetokError(f"{name} must be str, not {type(text).__name__}")
    elif not is_list(text) or not all(isinstance(word, str) for word in text):
        raise TreetokError(f"{name} must be a list of words, since is_split_into_words=True")

"""Texts to ids, offsets and word ids with a TreeTokenizer and added tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from treetok.hf.added_tokens import AddedTokens, Part
from treetok.text import check_encodable
from treetok.tokenizer import TreeTokenizer

# A text, or one that the user has split into words.
Text = str | Sequence[str]


class Sampling(NamedTuple):
    """Subword regularization: as for `TreeTokenizer.encode`."""

    dropout: float = 0.0
    seed: int | None = None


AS_USUAL = Sampling()


class Aligned(NamedTuple):
    """The tokens of a text: ids, where they are in the text, and to which of its words they belong. Of a text that
    the user has split, offsets count from the beginning of the word."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    words: list[int | None]


class TextEncoder:
    """Encodes texts in which added tokens are found. Immutable, so that threads can share it."""

    def __init__(self, treetok: TreeTokenizer, tokens: Mapping[int, Any]) -> None:
        self.treetok = treetok
        self.added = AddedTokens(tokens, treetok.special_tokens)
        self._profile = treetok.state.text_profile

    def without_added_tokens(self) -> TextEncoder:
        return TextEncoder(self.treetok, {})

    def encode(
        self, texts: Sequence[str], threads: int | None = None, sampling: Sampling = AS_USUAL
    ) -> list[list[int]]:
        def encoded(texts: Sequence[str], special: Sequence[str] = ()) -> list[list[int]]:
            return self.treetok.encode_batch(
                texts, threads=threads, allowed_special=special, dropout=sampling.dropout, seed=sampling.seed
            )

        if not self.added.may_be_in(texts):
            return encoded(texts)
        if self.added.native is not None:
            return encoded(texts, self.added.native)
        parts_of_texts, ordinary = self._split(texts)
        of_parts = iter(encoded(ordinary))
        return [
            list(chain.from_iterable(next(of_parts) if number is None else (number,) for _, _, number in parts))
            for parts in parts_of_texts
        ]

    def encode_words(
        self, texts: Sequence[Sequence[str]], threads: int | None = None, sampling: Sampling = AS_USUAL
    ) -> list[list[int]]:
        """Encode texts that are given as words, each as it appears inside a sentence."""
        words = [self._profile.in_running_text(word) for text in texts for word in text]
        encoded = iter(self.encode(words, threads, sampling))
        return [list(chain.from_iterable(next(encoded) for _ in text)) for text in texts]

    def align(self, texts: Sequence[Text], threads: int | None = None) -> list[Aligned]:
        """The tokens of texts of either kind."""
        if all(isinstance(text, str) for text in texts):
            return list(self._align(texts, threads))  # type: ignore[arg-type]
        words = [(word, self._profile.in_running_text(word)) for text in texts for word in text]
        of_words = self._align([in_text for _, in_text in words], threads)
        spaces = iter([len(in_text) - len(word) for word, in_text in words])
        aligned = []
        for text in texts:
            of_text = Aligned([], [], [])
            for number, space, (ids, offsets, _) in zip(range(len(text)), spaces, of_words, strict=False):
                of_text.ids.extend(ids)
                of_text.offsets.extend((max(start - space, 0), max(end - space, 0)) for start, end in offsets)
                of_text.words.extend([number] * len(ids))
            aligned.append(of_text)
        return aligned

    def _align(self, texts: Sequence[str], threads: int | None) -> Iterator[Aligned]:
        parts_of_texts, ordinary = self._split(texts)
        encoded = iter(self.treetok.encode_batch_with_offsets(ordinary, threads=threads))
        for parts in parts_of_texts:
            if len(parts) == 1 and parts[0].token_id is None:
                encoding = next(encoded)
                yield Aligned(encoding.ids, encoding.offsets, encoding.word_ids)
                continue
            aligned = Aligned([], [], [])
            words = 0
            for start, end, number in parts:
                if number is not None:
                    # As in the tokenizers library, an added token is a word.
                    aligned.ids.append(number)
                    aligned.offsets.append((start, end))
                    aligned.words.append(words)
                    words += 1
                    continue
                encoding = next(encoded)
                aligned.ids.extend(encoding.ids)
                aligned.offsets.extend((start + first, start + last) for first, last in encoding.offsets)
                # None is for special tokens, of which there are none here.
                of_part = [words + word for word in encoding.word_ids if word is not None]
                aligned.words.extend(of_part)
                words = of_part[-1] + 1 if of_part else words
            yield aligned

    def _split(self, texts: Sequence[str]) -> tuple[list[list[Part]], list[str]]:
        """The parts of each text, and those of all texts that are not added tokens."""
        for text in texts:
            check_encodable(text)
        parts_of_texts = list(map(self.added.split, texts))
        ordinary = [
            text[start:end]
            for text, parts in zip(texts, parts_of_texts, strict=True)
            for start, end, number in parts
            if number is None
        ]
        return parts_of_texts, ordinary

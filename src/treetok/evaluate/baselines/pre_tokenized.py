"""Tokenizers that split text into words first, then every word by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from treetok.errors import TreetokError
from treetok.text import Profile, check_encodable

# Words kept in the cache; when it is full it is emptied.
MAX_CACHED_WORDS = 1_000_000

PreTokenization = Literal["equal", "whitespace"]

# The pre-tokenizer of the paper's baselines: splits off every apostrophe and hyphen before the model sees a word.
WHITESPACE_WORD = re.compile(r"\w+|[^\w\s]+")
# The only words of a profile that start with an apostrophe and continue with letters. No other word contains them,
# so baselines that learn from substrings shared by different words cannot find them and must keep them whole.
CONTRACTION = re.compile(r"['’]\w+")


@dataclass(frozen=True, slots=True)
class SegmentedWord:
    """A word's pieces, which join to the word, and its tokens, which may carry markers or be unknown tokens."""

    pieces: tuple[str, ...]
    tokens: tuple[str, ...]


class PreTokenizedTokenizer:
    """A tokenizer defined by how it segments a single word.

    pre_tokenization: "equal" uses the words of the profile, the same that TreeTok segments; "whitespace" splits
        them further, as the paper did for its baselines only.
    """

    def __init__(
        self,
        name: str,
        vocabulary_size: int | None,
        profile: Profile,
        segment_word: Callable[[str], SegmentedWord],
        pre_tokenization: PreTokenization = "equal",
    ) -> None:
        check_pre_tokenization(pre_tokenization, profile)
        self.name = name
        self.vocabulary_size = vocabulary_size
        self.profile = profile
        self.pre_tokenization = pre_tokenization
        self._segment_word = segment_word
        self._cache: dict[str, SegmentedWord] = {}

    def __repr__(self) -> str:
        return f"<{self.name}: {self.vocabulary_size} entries>"

    def segment(self, word: str) -> list[str]:
        """The pieces of each word in the string; the first is segmented as it stands after a space."""
        check_encodable(word)
        words = pre_tokenize(word, self.profile, self.pre_tokenization)
        if not words:
            return []
        first = self.profile.in_running_text(words[0]) if self.pre_tokenization == "equal" else words[0]
        leading_space = len(first) - len(words[0])
        pieces = list(chain.from_iterable(self._cached(word).pieces for word in [first, *words[1:]]))
        pieces[0] = pieces[0][leading_space:]
        return pieces if pieces[0] else pieces[1:]

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        words = pre_tokenize(text, self.profile, self.pre_tokenization)
        return list(chain.from_iterable(self._cached(word).tokens for word in words))

    def _cached(self, word: str) -> SegmentedWord:
        known = self._cache.get(word)
        if known is None:
            known = self._segment_word(word)
            if len(self._cache) >= MAX_CACHED_WORDS:
                self._cache = {}
            self._cache[word] = known
        return known


def pre_tokenize(text: str, profile: Profile, pre_tokenization: PreTokenization) -> list[str]:
    """Split text into words.

    >>> from treetok.text import profile_named
    >>> pre_tokenize("The fielder's", profile_named("uncased"), "equal")
    ['the', 'fielder', "'s"]
    >>> pre_tokenize("The fielder's", profile_named("uncased"), "whitespace")
    ['the', 'fielder', "'", 's']
    """
    words = profile.split(text)
    if pre_tokenization == "equal":
        return words
    return list(chain.from_iterable(map(WHITESPACE_WORD.findall, words)))


def check_pre_tokenization(pre_tokenization: str, profile: Profile) -> None:
    if pre_tokenization not in ("equal", "whitespace"):
        raise TreetokError(f"unknown pre-tokenization {pre_tokenization!r}: choose 'equal' or 'whitespace'")
    if pre_tokenization == "whitespace" and profile.name != "uncased":
        # Other profiles split where the paper's pre-tokenizer does not, and such splits cannot be undone.
        raise TreetokError(
            f"whitespace pre-tokenization needs the profile 'uncased', not {profile.name!r}: choose both together"
        )

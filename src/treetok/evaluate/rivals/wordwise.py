"""What rivals trained here share: text becomes words as a profile says, and every word is cut by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from treetok.errors import TreetokError
from treetok.text import Profile, check_encodable

# Words remembered with their pieces; when there are more, remembering starts afresh.
MOST_REMEMBERED = 1_000_000

Cuts = Literal["equal", "whitespace"]

# The pre-tokenizer of the paper's baselines: every apostrophe and hyphen is cut off before the model sees a word.
WHITESPACE_WORD = re.compile(r"\w+|[^\w\s]+")
# Of the words of a profile, these alone begin with an apostrophe and go on with letters. They are in no other
# word, and so rivals that learn from what different words have in common cannot find them: such rivals leave
# them whole.
CONTRACTION = re.compile(r"['’]\w+")


@dataclass(frozen=True, slots=True)
class CutWord:
    """A word's pieces, which join to it, and its tokens, which may carry markers or stand for unknown letters."""

    pieces: tuple[str, ...]
    tokens: tuple[str, ...]


class WordwiseContestant:
    """A contestant that is a way to cut words.

    cuts: "equal" are the words of the profile, those that TreeTok cuts; "whitespace" cuts them further, as
        the paper did for its baselines alone.
    """

    def __init__(
        self,
        name: str,
        vocabulary_size: int | None,
        profile: Profile,
        cut: Callable[[str], CutWord],
        cuts: Cuts = "equal",
    ) -> None:
        check_cuts(cuts, profile)
        self.name = name
        self.vocabulary_size = vocabulary_size
        self.profile = profile
        self.cuts = cuts
        self._cut = cut
        self._remembered: dict[str, CutWord] = {}

    def __repr__(self) -> str:
        return f"<{self.name}: {self.vocabulary_size} entries>"

    def segment(self, word: str) -> list[str]:
        """The pieces of each word of the string in turn, the first as it stands behind a space."""
        check_encodable(word)
        words = words_of(word, self.profile, self.cuts)
        if not words:
            return []
        first = self.profile.in_running_text(words[0]) if self.cuts == "equal" else words[0]
        leading_space = len(first) - len(words[0])
        pieces = list(chain.from_iterable(self._cut_once(word).pieces for word in [first, *words[1:]]))
        pieces[0] = pieces[0][leading_space:]
        return pieces if pieces[0] else pieces[1:]

    def tokenize(self, text: str) -> list[str]:
        check_encodable(text)
        return list(
            chain.from_iterable(self._cut_once(word).tokens for word in words_of(text, self.profile, self.cuts))
        )

    def _cut_once(self, word: str) -> CutWord:
        known = self._remembered.get(word)
        if known is None:
            known = self._cut(word)
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered = {}
            self._remembered[word] = known
        return known


def words_of(text: str, profile: Profile, cuts: Cuts) -> list[str]:
    """
    >>> from treetok.text import profile_named
    >>> words_of("The fielder's", profile_named("uncased"), "equal")
    ['the', 'fielder', "'s"]
    >>> words_of("The fielder's", profile_named("uncased"), "whitespace")
    ['the', 'fielder', "'", 's']
    """
    words = profile.split(text)
    if cuts == "equal":
        return words
    return list(chain.from_iterable(map(WHITESPACE_WORD.findall, words)))


def check_cuts(cuts: str, profile: Profile) -> None:
    if cuts not in ("equal", "whitespace"):
        raise TreetokError(f"unknown cuts {cuts!r}: choose 'equal' or 'whitespace'")
    if cuts == "whitespace" and profile.name != "uncased":
        # Other profiles cut where the paper's pre-tokenizer does not, and such cuts cannot be taken back.
        raise TreetokError(
            f"cuts='whitespace' go with the profile 'uncased', not with {profile.name!r}: choose that profile, too"
        )

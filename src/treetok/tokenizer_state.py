"""The state of a tokenizer: plain data that can be trained, saved, loaded and sent to other processes."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from treetok.cached_property import cached_property
from treetok.lexicon import Lexicon
from treetok.markers import Marker, marked_strings
from treetok.segment import Segmenter
from treetok.sources import CountTrees, ParserTrees, TreeSource, scores_of_words
from treetok.text import Profile, profile_named
from treetok.token_table import Entry, TokenTable

MARKER_NUMBERS = frozenset(Marker)
# What is no plain data.
OBJECTS = ("lexicon", "source")
# What decides ids, beside the objects.
DECISIVE = ("profile", "profile_version", "entries", "special_tokens", "fewest_tokens", "roles", "normalizer")


@dataclass(frozen=True)
class TokenizerState:
    # The text profile, and the version of its rules for splitting.
    profile: str
    profile_version: int
    # Tokens and their counts in id order. Special tokens are kept separately, with their ids.
    entries: list[tuple[Entry, int]]
    special_tokens: Mapping[str, int]
    # Trees of known words, and the source of trees for all others.
    lexicon: Lexicon
    source: TreeSource
    # Whether post-merge minimises the number of tokens first, or only the sum of entropies, as in the paper.
    fewest_tokens: bool = False
    # How it was trained; informational only.
    settings: Mapping[str, Any] = field(default_factory=dict)
    card: str | None = None
    # What special tokens are for: "pad", "eos" and so on.
    roles: Mapping[str, str] = field(default_factory=dict)
    # "nfc" or "nfkc": the normal form of Unicode that texts are brought into first.
    normalizer: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """The bytes of a pickle depend on nothing but the content, so that they are the same in every process and
        after use: `datasets` finds its cache by them."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in OBJECTS}
        return unpickled, (type(self), json.dumps(plain), self.lexicon, self.source)

    @cached_property
    def sha256(self) -> str:
        """A digest of all that decides what it does, but for trees that come from a Python object."""
        plain = {name: getattr(self, name) for name in DECISIVE}
        digest = hashlib.sha256(json.dumps(plain).encode())
        digest.update(pickle.dumps(self.lexicon, protocol=5))
        if isinstance(self.source, CountTrees | ParserTrees):
            digest.update(pickle.dumps(self.source, protocol=5))
        return digest.hexdigest()

    @property
    def text_profile(self) -> Profile:
        return profile_named(self.profile, self.profile_version, self.normalizer)

    @cached_property
    def counts(self) -> dict[str, int]:
        """The counts of the tokens that are strings."""
        return {entry: count for entry, count in self.entries if isinstance(entry, str)}

    @cached_property
    def marked(self) -> Mapping[str, tuple[str, int]]:
        """The strings that can be made of a token with the vocabulary's markers."""
        return marked_strings(self.counts, [entry for entry, _ in self.entries if isinstance(entry, Marker)])

    def segmenter(self) -> Segmenter:
        return Segmenter(self.counts, self.fewest_tokens, self.marked)

    def scores_of_letters(self, letters: Iterable[str]) -> dict[str, Sequence[float]]:
        """Split scores of words, given as returned by `Profile.letters`: from the lexicon, or, for all words that
        are not in it, from one call to the source."""
        scores: dict[str, Sequence[float]] = {}
        unseen = []
        for word in letters:
            known = self.lexicon.scores(word) if len(word) > 1 else []
            if known is None:
                unseen.append(word)
            else:
                scores[word] = known
        # Sorted for reproducibility: the last digits of a score may depend on the rest of the batch.
        return scores | scores_of_words(self.source, sorted(unseen))

    def split_scores(self, words: Sequence[str]) -> list[Sequence[float]]:
        """Makes a tokenizer a source of trees. Words from another profile are normalised like this tokenizer's
        own, so that `Café` has the tree of `cafe` if this profile strips accents."""
        align = self.text_profile.align
        letters = [align(word) for word in words]
        scores = self.scores_of_letters(dict.fromkeys(letters))
        return [scores[word] for word in letters]

    @cached_property
    def table(self) -> TokenTable:
        """Tokens by id and ids by token; computed once."""
        entries = [entry for entry, _ in self.entries]
        return TokenTable(entries, self.special_tokens, self.text_profile.byte_fallback)


def unpickled(kind: type[TokenizerState], plain: str, lexicon: Lexicon, source: TreeSource) -> TokenizerState:
    """The inverse of `TokenizerState.__reduce__`."""
    content = json.loads(plain)
    # Markers are numbers in JSON.
    content["entries"] = [
        (Marker(entry) if isinstance(entry, int) and entry in MARKER_NUMBERS else entry, count)
        for entry, count in content["entries"]
    ]
    return kind(lexicon=lexicon, source=source, **content)

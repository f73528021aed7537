"""The last stage: choose the vocabulary from the trees; also helpers for the lexicon."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from treetok.batched_depths import batch_split_depths
from treetok.corpus.characters import covering_characters
from treetok.errors import TreetokError, TreetokWarning
from treetok.lexicon import Lexicon
from treetok.markers import MARKERS, Marker
from treetok.pipeline.options import TrainOptions
from treetok.progress import Progress
from treetok.sources import TreeSource, scores_of_words, split_scores
from treetok.special_tokens import changed_roles, check_roles, checked_names, checked_roles, default_roles
from treetok.text import Profile
from treetok.token_table import UNKNOWN, Entry, base_entries
from treetok.tree import with_leading_space
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.names import which_are_names
from treetok.vocabulary.shared_nodes import I64
from treetok.vocabulary.weights import WORDS_PER_NAME, rarity_limit

WORDS_PER_BATCH, WORDS_PER_THREAD = 20_000, 2_000
NO_NAMES = (
    f"the text has no names rarer than one in {WORDS_PER_NAME} words, or is in a language that capitalises other"
    " words too"
)

Scores = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Room:
    """What every vocabulary must contain: special tokens, bytes, perhaps markers, and the text's characters
    that get a token."""

    specials: dict[str, int]
    base: list[Entry]
    alphabet: frozenset[str]

    @property
    def outside(self) -> int:
        """The number of ids independent of the trees: special tokens, bytes, markers, ASCII characters not in the
        text."""
        return len(self.specials) + len([entry for entry in self.base if entry not in self.alphabet])


def check_size(options: TrainOptions) -> None:
    """Reject bad special tokens and a vocabulary size that is too small for any text, before text is read."""
    specials = special_token_ids(options)
    roles_of(options, specials)
    needed = len(base_of(options)) + len(specials)
    if options.vocab_size < needed:
        raise TreetokError(too_small(options.vocab_size, needed))


def base_of(options: TrainOptions) -> list[Entry]:
    """The entries that come first in every vocabulary."""
    return base_entries(options.text_profile.byte_fallback) + (list(Marker) if options.markers else [])


def make_room(options: TrainOptions, words: Mapping[str, int]) -> Room:
    room = Room(
        special_token_ids(options), base_of(options), covering_characters(words, options.character_coverage)
    )
    if options.vocab_size < room.outside + len(room.alphabet):
        raise TreetokError(too_small(options.vocab_size, room.outside, len(room.alphabet)))
    return room


def too_small(vocab_size: int, outside: int, characters: int | None = None) -> str:
    """`characters` is None before the text is read."""
    others = "entries (special tokens; in lossless also bytes, ASCII, markers) need at least"
    if characters is None:
        return (
            f"a vocabulary of {vocab_size} is too small: the first {others} {outside}, and the text may need more"
        )
    return (
        f"a vocabulary of {vocab_size} is too small: {characters} characters of the text and {outside} other"
        f" {others} {outside + characters}"
    )


def choose_vocabulary(
    options: TrainOptions,
    room: Room,
    words: Mapping[str, int],
    scores: Scores,
    progress: Progress,
    prior: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Tokens and their counts.

    words: the words of the text; scores: the split scores of their letters (and of the prior's).
    prior: strings with counts, treated like words of the text.
    """
    profile = options.text_profile
    counts = Counter({word: count for word, count in words.items() if room.alphabet.issuperset(word)})
    # A character still gets its token if all its words contain some other character outside the alphabet.
    lone_characters = room.alphabet.difference(*counts)
    for string, count in (prior or {}).items():
        if room.alphabet.issuperset(string):
            counts[string] += count
    nodes = SharedNodes(
        [(word, scores_of_word(word, profile, scores), count) for word, count in counts.items()]
        + [(character, [], 1) for character in sorted(lone_characters)]
    )
    names = names_among(options, counts, nodes.frequencies) if options.plain_names else None
    size = options.vocab_size - room.outside
    assert options.vocab is not None
    with progress.stage("choosing the vocabulary", None, "tokens") as shown:
        vocabulary = build_vocabulary(
            nodes,
            size,
            method=options.vocab,
            alignment=options.alignment,
            post_merge=True,
            joiner=bool(options.markers),
            names=names,
            pruning_rate=options.pruning_rate,
            report=shown.at,
        )
    if len(vocabulary) < size:
        warnings.warn(
            f"the text supports no more than {len(vocabulary) + room.outside} tokens;"
            f" {options.vocab_size} were asked for",
            TreetokWarning,
            stacklevel=5,
        )
    return vocabulary


def names_among(options: TrainOptions, counts: Mapping[str, int], frequencies: I64) -> npt.NDArray[np.bool_]:
    """Which words are names; `frequencies` has rows for lone characters after those of the words."""
    names = np.zeros(len(frequencies), dtype=bool)
    names[: len(counts)] = which_are_names(counts)
    if not options.alignment or not (names & (frequencies < rarity_limit(frequencies))).any():
        reason = NO_NAMES if options.alignment else "at alignment 0 all words weigh what they count"
        warnings.warn(f"plain_names has no effect: {reason}", TreetokWarning, stacklevel=6)
    return names


def special_token_ids(options: TrainOptions) -> dict[str, int]:
    """Special tokens get the first ids. Without byte fallback, an unknown token is required."""
    profile, special_tokens = options.text_profile, options.special_tokens
    if not isinstance(special_tokens, list | tuple | None):
        raise TreetokError(f"special_tokens is a list of strings, not {type(special_tokens).__name__}")
    roles = checked_roles(options.roles)
    if special_tokens is None:
        needed = changed_roles(profile.default_roles, roles).values()
        special_tokens = [name for name in profile.default_special_tokens if name in needed]
    names = checked_names(special_tokens)
    names += dict.fromkeys(token for token in roles.values() if token is not None and token not in names)
    for name in names:
        if options.markers and name in MARKERS:
            raise TreetokError(
                f"{name!r} cannot be a special token: it is the name of a marker (see --no-markers)"
            )
        if could_be_a_piece(name, profile):
            raise TreetokError(
                f"{name!r} cannot be a special token: it is ordinary text, and could become an ordinary token;"
                f" set it apart, as in {'<|' + name.strip() + '|>'!r}"
            )
    if not profile.byte_fallback and UNKNOWN not in names:
        names.append(UNKNOWN)
    return {name: number for number, name in enumerate(names)}


def roles_of(options: TrainOptions, special_tokens: Mapping[str, int]) -> dict[str, str]:
    """The roles of special tokens: those of the profile's own, and what was chosen."""
    roles = changed_roles(default_roles(options.text_profile, special_tokens), options.roles)
    check_roles(roles, special_tokens, options.text_profile.byte_fallback)
    return roles


def could_be_a_piece(name: str, profile: Profile) -> bool:
    """Whether a string can be a piece of some word: then it is a word by itself, or part of a run of spaces.

    >>> from treetok.text import profile_named
    >>> could_be_a_piece(" cat", profile_named("lossless")), could_be_a_piece("<|cat|>", profile_named("lossless"))
    (True, False)
    """
    return name.isspace() or profile.split(name) == [name]


def scores_of_word(word: str, profile: Profile, scores_of_letters: Scores) -> Sequence[float]:
    letters = profile.letters(word)
    scores = scores_of_letters[letters]
    return with_leading_space(scores) if len(word) > len(letters) else scores


def score_words(source: TreeSource, words: Sequence[str], progress: Progress) -> dict[str, Sequence[float]]:
    """The scores of all words, computed in batches."""
    scores: dict[str, Sequence[float]] = {}
    with progress.stage("building trees", len(words), "words") as shown:
        for start in range(0, len(words), WORDS_PER_BATCH):
            scores |= scores_of_words(source, words[start : start + WORDS_PER_BATCH])
            shown.at(len(scores))
    return scores


def in_order_of_ids(base: Iterable[Entry], vocabulary: Mapping[str, int]) -> list[tuple[Entry, int]]:
    """The base entries first, then the other tokens in their order, most frequent first."""
    counts: dict[Entry, int] = dict.fromkeys(base, 0)
    counts.update(vocabulary)
    return list(counts.items())


def most_frequent(letters: Mapping[str, int], size: int) -> list[str]:
    return sorted(letters, key=lambda word: (-letters[word], word))[:size]


def lexicon_of(scores: Scores, words: Iterable[str]) -> Lexicon:
    return Lexicon.from_scores({word: scores[word] for word in words if len(word) > 1})


def without_redundant_words(
    words: Sequence[str], scores: Scores, counts: Mapping[str, int], parser: TreeSource, threads: int = 1
) -> list[str]:
    """Drop words seen at most once whose tree the parser reproduces. This makes the lexicon a third smaller and
    changes no segmentation, and the parser has only a few more words to score."""
    rare = sorted(word for word in words if counts.get(word, 0) <= 1 and len(word) > 1)
    batches = [rare[start : start + WORDS_PER_THREAD] for start in range(0, len(rare), WORDS_PER_THREAD)]
    # The scores of a word depend on nothing but the word, so that threads change nothing but the time.
    with ThreadPoolExecutor(threads) as pool:
        of_batches = list(pool.map(partial(split_scores, parser), batches))
    of_parser = batch_split_depths([of_word for of_batch in of_batches for of_word in of_batch])
    of_words = batch_split_depths([scores[word] for word in rare])
    ends = accumulate((len(word) - 1 for word in rare), initial=0)
    is_same = (of_parser == of_words).tolist()
    redundant = {word for word, (start, end) in zip(rare, pairwise(ends), strict=True) if all(is_same[start:end])}
    return [word for word in words if word not in redundant]

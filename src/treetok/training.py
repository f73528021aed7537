"""From a corpus to a tokenizer: count words, get their trees, build the vocabulary."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from treetok.corpus import count_words
from treetok.errors import TreetokError, TreetokWarning
from treetok.lexicon import Lexicon
from treetok.parts import TokenizerParts
from treetok.progress import Progress
from treetok.sources import CountTrees, TreeSource, scores_of_words
from treetok.text import Profile, profile_named
from treetok.tokens import ASCII, HIGH_BYTES, UNKNOWN, Entry
from treetok.tree import with_leading_space
from treetok.vocabulary import SharedNodes, build_vocabulary

WORDS_AT_ONCE = 20_000


def train_parts(
    corpus: Any,
    vocab_size: int,
    trees: str | TreeSource,
    profile_name: str,
    seed: int,
    *,
    special_tokens: Sequence[str] | None,
    text_column: str,
    min_word_count: int,
    character_coverage: float,
    pruning_rate: float,
    lexicon_size: int,
    memory_limit: int,
    progress: bool | Callable[[str, int, int | None], object],
) -> TokenizerParts:
    """What `TreeTokenizer.train` does; the arguments are explained there."""
    profile = profile_named(profile_name)
    specials = special_token_ids(profile, special_tokens)
    check_settings(vocab_size, trees, seed, min_word_count, character_coverage, lexicon_size)
    shown = Progress(progress)

    counter = count_words(corpus, profile, text_column=text_column, memory_limit=memory_limit, progress=shown)
    words = {word: times for word, times in counter.counts().items() if times >= min_word_count}
    if counter.dropped:
        shown.note(f"{counter.dropped} rare words were dropped to stay within {memory_limit} bytes")
    if not words:
        raise TreetokError("the corpus has no words" + (" that are frequent enough" if min_word_count > 1 else ""))

    letters: Counter[str] = Counter()
    for word, times in words.items():
        letters[profile.letters(word)] += times
    source = CountTrees.from_words(letters) if isinstance(trees, str) else trees
    scores = trees_of(source, sorted(letters), shown)

    alphabet = frequent_characters(words, character_coverage)
    base = base_entries(profile)
    # Bytes and special tokens take their share of the size; so do ASCII characters that the text lacks.
    outside = len(specials) + len([entry for entry in base if entry not in alphabet])
    if vocab_size < outside + len(alphabet):
        raise TreetokError(
            f"a vocabulary of {vocab_size} is too small: {len(alphabet)} characters of the text and {outside}"
            f" bytes and special tokens need at least {outside + len(alphabet)}"
        )
    nodes = SharedNodes(
        (word, scores_of_word(word, profile, scores), times)
        for word, times in words.items()
        if alphabet.issuperset(word)
    )
    with shown.stage("building the vocabulary", None, "tokens") as stage:
        vocabulary = build_vocabulary(nodes, vocab_size - outside, pruning_rate=pruning_rate, report=stage.at)
    if len(vocabulary) < vocab_size - outside:
        warnings.warn(
            f"the text supports no more than {len(vocabulary) + outside} tokens; {vocab_size} were asked for",
            TreetokWarning,
            stacklevel=3,
        )

    is_counts = isinstance(trees, str)
    if is_counts:
        kept = sorted(letters, key=lambda word: (-letters[word], word))[:lexicon_size]
    else:
        # Nobody can work these trees out again when the tokenizer is loaded without the source.
        kept = list(letters)
    return TokenizerParts(
        profile=profile.name,
        entries=in_order_of_ids(base, vocabulary),
        special_tokens=specials,
        lexicon=Lexicon.from_scores({word: scores[word] for word in kept if len(word) > 1}),
        source=source,
        settings={
            "trees": "counts" if is_counts else f"custom ({type(trees).__name__})",
            "seed": seed,
            "min_word_count": min_word_count,
            "character_coverage": character_coverage,
            "pruning_rate": pruning_rate,
            "words_in_corpus": sum(words.values()),
            "distinct_words": len(words),
        },
    )


def check_settings(
    vocab_size: int,
    trees: str | TreeSource,
    seed: int,
    min_word_count: int,
    character_coverage: float,
    lexicon_size: int,
) -> None:
    """Refuse what cannot work before any text is read."""
    if isinstance(trees, str):
        if trees == "neural":
            raise TreetokError("trees='neural' is not part of this version yet: choose 'counts'")
        if trees != "counts":
            raise TreetokError(f"unknown trees {trees!r}: choose 'counts' or an object with split_scores(words)")
    elif not isinstance(trees, TreeSource):
        raise TreetokError(f"trees of type {type(trees).__name__} have no split_scores(words)")
    numbers = {"vocab_size": (vocab_size, 1), "min_word_count": (min_word_count, 1)}
    numbers |= {"lexicon_size": (lexicon_size, 0), "seed": (seed, 0)}
    for name, (value, least) in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise TreetokError(f"{name} must be a whole number of {least} or more, not {value!r}")
    if not 0 < character_coverage <= 1:
        raise TreetokError(f"character_coverage must be above 0 and at most 1, not {character_coverage!r}")


def special_token_ids(profile: Profile, special_tokens: Sequence[str] | None) -> dict[str, int]:
    """Special tokens have the first ids. Where nothing falls back to bytes, an unknown token is needed."""
    if isinstance(special_tokens, str):
        raise TreetokError("special_tokens is a list of strings, not one string")
    names = list(profile.default_special_tokens if special_tokens is None else special_tokens)
    for name in names:
        if not isinstance(name, str) or not name:
            raise TreetokError(f"a special token must be a string that is not empty, not {name!r}")
    if len(set(names)) < len(names):
        raise TreetokError("a special token is given twice")
    if not profile.byte_fallback and UNKNOWN not in names:
        names.append(UNKNOWN)
    return {name: number for number, name in enumerate(names)}


def trees_of(source: TreeSource, words: list[str], shown: Progress) -> dict[str, list[float]]:
    """The scores of all words, a batch at a time."""
    scores: dict[str, list[float]] = {}
    with shown.stage("building trees", len(words), "words") as stage:
        for start in range(0, len(words), WORDS_AT_ONCE):
            scores |= scores_of_words(source, words[start : start + WORDS_AT_ONCE])
            stage.at(len(scores))
    return scores


def scores_of_word(word: str, profile: Profile, scores_of_letters: dict[str, list[float]]) -> list[float]:
    letters = profile.letters(word)
    scores = scores_of_letters[letters]
    return with_leading_space(scores) if len(word) > len(letters) else scores


def frequent_characters(words: dict[str, int], coverage: float) -> frozenset[str]:
    """The most frequent characters that together make up the share `coverage` of the text.

    >>> sorted(frequent_characters({"abba": 10, "x": 1}, 0.9))
    ['a', 'b']
    """
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            counts[character] += times
    enough = coverage * sum(counts.values())
    kept: list[str] = []
    covered = 0
    for character, times in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= enough:
            break
        kept.append(character)
        covered += times
    return frozenset(kept)


def base_entries(profile: Profile) -> list[Entry]:
    """What every vocabulary of the profile has: ASCII characters and the other bytes, or nothing."""
    return [*map(chr, ASCII), *HIGH_BYTES] if profile.byte_fallback else []


def in_order_of_ids(base: list[Entry], vocabulary: dict[str, int]) -> list[tuple[Entry, int]]:
    """The base first, then the rest as it comes, the most frequent first."""
    counts: dict[Entry, int] = dict.fromkeys(base, 0)
    counts.update(vocabulary)
    return list(counts.items())

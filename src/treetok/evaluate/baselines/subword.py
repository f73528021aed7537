"""BPE, WordPiece and Unigram baselines, trained on the words that TreeTok is trained on.

Everything but the algorithm is equal: the words and their counts, the characters that get a token (the rarest are
left out together with the words that contain them), and the number of entries, special tokens and bytes included.

Two properties of the trainers in the `tokenizers` library matter here:

* WordPiece marks pieces inside words (`##house`), so the same letters at the start of a word (`house`) are another
  entry, which hurts compounds. `wordpiece-unmarked` has no markers: it takes the vocabulary of BPE and matches the
  longest entry from the left.
* Unigram starts from substrings that several different words share. Contractions (`'s`) are words of their own and
  occur in no other word, so Unigram could never learn them however frequent they are; they are added up front.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from treetok.corpus.characters import covering_characters
from treetok.corpus.subword_trainers import MAX_VOCAB_SIZE, train_subwords
from treetok.errors import TreetokError, whole_number
from treetok.evaluate.baselines.pre_tokenized import (
    CONTRACTION,
    PreTokenization,
    PreTokenizedTokenizer,
    SegmentedWord,
    check_pre_tokenization,
    pre_tokenize,
)
from treetok.text import Profile, profile_named
from treetok.token_table import UNKNOWN, base_entries, byte_name

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Kind = Literal["bpe", "wordpiece", "wordpiece-unmarked", "unigram"]
NAMES: dict[str, str] = {
    "bpe": "BPE",
    "wordpiece": "WordPiece",
    "wordpiece-unmarked": "WordPiece, unmarked",
    "unigram": "Unigram",
}
# WordPiece's marker of pieces that do not start a word.
CONTINUING_PREFIX = "##"
# Unigram scores are rounded to multiples of 1 / SCORE_STEPS.
SCORE_STEPS = 1 << 14


def train_baseline(
    kind: Kind,
    word_counts: Mapping[str, int],
    vocab_size: int,
    profile: str | Profile,
    pre_tokenization: PreTokenization = "equal",
    *,
    character_coverage: float = 0.9999,
) -> PreTokenizedTokenizer:
    """Train a baseline on words and their counts, as `count_words(corpus, profile).counts()` returns them.

    The result depends on the arguments only. Its `vocabulary_size` is `vocab_size`, or less where the text does
    not support that many entries.

    pre_tokenization: "equal" trains on the words of the profile, "whitespace" on those of the pre-tokenizer that
        the paper used for its baselines (`uncased` only).
    character_coverage: as in `TreeTokenizer.train`.

    >>> words = {stem + ending: 5 for stem in ("walk", "jump", "look") for ending in ("", "s", "ed", "ing")}
    >>> baseline = train_baseline("bpe", words, 40, "uncased")
    >>> baseline.name, baseline.segment("Looks")
    ('BPE', ['looks'])
    """
    if kind not in NAMES:
        raise TreetokError(f"unknown baseline {kind!r}: choose one of {', '.join(map(repr, NAMES))}")
    profile = profile_named(profile) if isinstance(profile, str) else profile
    check_pre_tokenization(pre_tokenization, profile)
    words = dict(word_counts)
    if pre_tokenization == "whitespace":
        words = Counter()
        for word, times in word_counts.items():
            for part in pre_tokenize(word, profile, pre_tokenization):
                words[part] += times
    if not words:
        raise TreetokError("there are no words to train a baseline on")
    alphabet = covering_characters(words, character_coverage)
    # What TreeTok reserves as well: special tokens, bytes, ASCII characters that the text lacks.
    reserved = len(profile.default_special_tokens)
    reserved += len([entry for entry in base_entries(profile.byte_fallback) if entry not in alphabet])
    vocab_size = whole_number("the vocabulary size of a baseline", vocab_size, least=1)
    if vocab_size > MAX_VOCAB_SIZE:
        raise TreetokError(f"a baseline of {vocab_size} entries is too large: the limit is {MAX_VOCAB_SIZE}")
    if vocab_size < reserved + len(alphabet):
        raise TreetokError(
            f"a baseline of {vocab_size} entries is too small: it needs at least {reserved + len(alphabet)}"
        )
    # The unknown token is among the reserved special tokens or, with byte fallback, is never produced.
    trained = train_tokenizer(kind, words, alphabet, vocab_size - reserved + 1)
    return PreTokenizedTokenizer(
        NAMES[kind] + (" (whitespace cuts)" if pre_tokenization == "whitespace" else ""),
        trained.get_vocab_size() - 1 + reserved,
        profile,
        WordSegmenter(trained, profile.byte_fallback),
        pre_tokenization,
    )


def train_tokenizer(kind: Kind, words: Mapping[str, int], alphabet: frozenset[str], vocab_size: int) -> Tokenizer:
    """A tokenizer of `vocab_size` entries, including the unknown token and all characters of the alphabet."""
    words = {word: words[word] for word in sorted(words) if words[word] > 0 and alphabet.issuperset(word)}
    # The alphabet is explicit: a character may occur only in words that have another character outside of it.
    options: dict[str, Any] = {"unknown": UNKNOWN, "initial_alphabet": sorted(alphabet)}
    if kind == "bpe":
        return train_subwords("bpe", words, vocab_size, **options)
    if kind == "wordpiece-unmarked":
        return train_subwords("wordpiece", words, vocab_size, continuing_subword_prefix="", **options)
    if kind == "wordpiece":
        # The trainer numbers characters inside words in hash order, which differs between runs, and breaks ties by
        # these numbers. Entries that exist from the start keep their numbers.
        inner = [CONTINUING_PREFIX + character for character in sorted({c for word in words for c in word[1:]})]
        return train_subwords("wordpiece", words, vocab_size, special_tokens=inner, **options)
    # Special tokens have probability 1 in Unigram: a contraction, which is a whole word, is never split.
    contractions = sorted(filter(CONTRACTION.fullmatch, words), key=lambda word: (-words[word], word))
    contractions = contractions[: vocab_size - 1 - len(alphabet)]
    entries = {UNKNOWN, *contractions}
    words = {word: times for word, times in words.items() if word not in entries}
    tokenizer = train_subwords("unigram", words, vocab_size, special_tokens=contractions, **options)
    return with_rounded_scores(tokenizer)


def with_rounded_scores(unigram: Tokenizer) -> Tokenizer:
    """A Unigram tokenizer whose scores are rounded, the unknown token first.

    The last digits of the scores come from sums whose order differs between runs, and would decide between
    segmentations such as a|bc|a and bc|a|a. With few digits, sums of scores are exact.
    """
    from tokenizers import models

    scores: list[tuple[str, float]] = json.loads(unigram.to_str())["model"]["vocab"]
    rounded = [(entry, round(score * SCORE_STEPS) / SCORE_STEPS) for entry, score in scores]
    rounded.sort(key=lambda item: (item[0] != UNKNOWN, -item[1], item[0]))
    unigram.model = models.Unigram(rounded, unk_id=0)
    return unigram


class WordSegmenter:
    """Segments a word with the model of a `tokenizers` tokenizer, without its normaliser and pre-tokenizer."""

    def __init__(self, tokenizer: Tokenizer, byte_fallback: bool) -> None:
        self.tokenizer = tokenizer
        self._model = tokenizer.model
        self._unknown = tokenizer.token_to_id(UNKNOWN)
        self._byte_fallback = byte_fallback

    def __call__(self, word: str) -> SegmentedWord:
        encoded = word.encode()
        pieces: list[str] = []
        tokens: list[str] = []
        for token in self._model.tokenize(word):
            # Offsets are in bytes and span the text behind unknown and marked tokens.
            start, end = token.offsets
            piece = encoded[start:end].decode()
            if token.id != self._unknown:
                pieces.append(piece)
                tokens.append(token.value)
                continue
            # WordPiece makes a whole word unknown for one unknown letter. That is not keeping the word whole.
            pieces += piece
            tokens += byte_tokens(piece) if self._byte_fallback else [UNKNOWN]
        return SegmentedWord(tuple(pieces), tuple(tokens))


def byte_tokens(piece: str) -> Iterator[str]:
    """The byte tokens of a string outside the vocabulary.

    >>> list(byte_tokens("aé"))
    ['a', '<0xC3>', '<0xA9>']
    """
    for character in piece:
        if character.isascii():
            yield character
        else:
            yield from map(byte_name, character.encode())

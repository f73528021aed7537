"""BPE, WordPiece and Unigram of Hugging Face `tokenizers`, trained on the words that TreeTok is trained on.

Everything but the algorithm is equal: the words and their counts, the characters that get a token (the rarest are
left out with the words they stand in), and the number of entries, of which special tokens and bytes take their
share.

Two things about these trainers are worth knowing:

* WordPiece marks pieces inside words (`##house`), so that they are entries apart from the same letters at the
  beginning of a word (`house`), and compounds suffer. `wordpiece-unmarked` has no such marks: it has the
  vocabulary of BPE and takes the longest entry from the left.
* Unigram begins with substrings that several different words have in common. Contractions that were cut off (`'s`)
  are in no other word, so it could never learn them however frequent they are; they are entries from the outset.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from treetok.corpus.characters import covering_characters
from treetok.corpus.counts_as_text import counts_as_text
from treetok.errors import TreetokError, whole_number
from treetok.evaluate.rivals.wordwise import CONTRACTION, Cuts, CutWord, WordwiseContestant, check_cuts, words_of
from treetok.text import Profile, profile_named
from treetok.tokens import UNKNOWN, base_entries, byte_name

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Kind = Literal["bpe", "wordpiece", "wordpiece-unmarked", "unigram"]
NAMES: dict[str, str] = {
    "bpe": "BPE",
    "wordpiece": "WordPiece",
    "wordpiece-unmarked": "WordPiece, unmarked",
    "unigram": "Unigram",
}
# How WordPiece marks pieces that do not begin a word.
INSIDE = "##"
LARGEST_SIZE = 5_000_000
# Scores of Unigram are whole multiples of one such part of 1.
SCORE_STEPS = 1 << 14


def train_rival(
    kind: Kind,
    word_counts: Mapping[str, int],
    size: int,
    profile: str | Profile,
    cuts: Cuts = "equal",
    *,
    character_coverage: float = 0.9999,
) -> WordwiseContestant:
    """Train a rival on words and their counts, as `count_words(corpus, profile).counts()` gives them.

    The result depends on nothing but the arguments. Its `vocabulary_size` is `size`, or less where the text does
    not support so many entries.

    cuts: "equal" trains and cuts on the words of the profile, "whitespace" on what the pre-tokenizer of the
        paper's baselines makes of them (`uncased` alone).
    character_coverage: as in `TreeTokenizer.train`.

    >>> words = {stem + ending: 5 for stem in ("walk", "jump", "look") for ending in ("", "s", "ed", "ing")}
    >>> rival = train_rival("bpe", words, 40, "uncased")
    >>> rival.name, rival.segment("Looks")
    ('BPE', ['looks'])
    """
    if kind not in NAMES:
        raise TreetokError(f"unknown kind of rival {kind!r}: choose one of {', '.join(map(repr, NAMES))}")
    profile = profile_named(profile) if isinstance(profile, str) else profile
    check_cuts(cuts, profile)
    words = dict(word_counts)
    if cuts == "whitespace":
        words = Counter()
        for word, times in word_counts.items():
            for part in words_of(word, profile, cuts):
                words[part] += times
    if not words:
        raise TreetokError("there are no words to train a rival on")
    alphabet = covering_characters(words, character_coverage)
    # What TreeTok sets aside: special tokens, bytes, ASCII characters that the text lacks.
    reserved = len(profile.default_special_tokens)
    reserved += len([entry for entry in base_entries(profile.byte_fallback) if entry not in alphabet])
    size = whole_number("the size of a rival", size, least=1)
    if size > LARGEST_SIZE:
        # The trainers take memory for as many entries as they are asked for.
        raise TreetokError(f"a rival of {size} entries is too large: at most {LARGEST_SIZE} can be trained")
    if size < reserved + len(alphabet):
        raise TreetokError(f"a rival of {size} entries is too small: it needs at least {reserved + len(alphabet)}")
    # The unknown token is one of the special tokens already counted, or (where bytes stand in) never comes out.
    trained = train_tokenizer(kind, words, alphabet, size - reserved + 1)
    name = NAMES[kind] + (" (whitespace cuts)" if cuts == "whitespace" else "")
    return WordwiseContestant(
        name, trained.get_vocab_size() - 1 + reserved, profile, ModelCuts(trained, profile.byte_fallback), cuts
    )


def train_tokenizer(kind: Kind, words: Mapping[str, int], alphabet: frozenset[str], size: int) -> Tokenizer:
    """A tokenizer of `size` entries, the unknown token included, that has all characters of the alphabet."""
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        raise TreetokError("training rivals needs tokenizers: pip install 'treetok[eval]'") from None
    words = {word: words[word] for word in sorted(words) if words[word] > 0 and alphabet.issuperset(word)}
    # A character all of whose words have some other character outside the alphabet still gets its token.
    options: dict[str, Any] = {"vocab_size": size, "initial_alphabet": sorted(alphabet), "show_progress": False}
    special_tokens = [UNKNOWN]
    tokenizer: Tokenizer
    trainer: Any
    if kind == "bpe":
        tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
        trainer = trainers.BpeTrainer(special_tokens=special_tokens, **options)
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
        # The trainer numbers inner characters in the order of a hash table that is another in every run, and
        # breaks ties by these numbers. Characters that are there beforehand keep their numbers.
        special_tokens += [INSIDE + character for character in sorted({c for word in words for c in word[1:]})]
        trainer = trainers.WordPieceTrainer(special_tokens=special_tokens, **options)
    elif kind == "wordpiece-unmarked":
        tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
        trainer = trainers.WordPieceTrainer(special_tokens=special_tokens, continuing_subword_prefix="", **options)
    else:
        tokenizer = Tokenizer(models.Unigram())
        contractions = sorted(filter(CONTRACTION.fullmatch, words), key=lambda word: (-words[word], word))
        # Special tokens have probability 1 in this model: a contraction, which is a whole word, is never cut.
        special_tokens += contractions[: size - 1 - len(alphabet)]
        words = {word: times for word, times in words.items() if word not in special_tokens}
        trainer = trainers.UnigramTrainer(special_tokens=special_tokens, unk_token=UNKNOWN, **options)
    separator = next(character for character in map(chr, range(len(alphabet) + 1)) if character not in alphabet)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(separator, "removed")
    tokenizer.train_from_iterator(counts_as_text(words, separator), trainer)
    if kind == "unigram":
        tokenizer.model = models.Unigram(rounded_scores(tokenizer), unk_id=0)
    return tokenizer


def rounded_scores(unigram: Tokenizer) -> list[tuple[str, float]]:
    """The entries of a Unigram model, the unknown token first, and their scores without the last digits.

    These come from sums whose order is another in every run, and would decide between cuts such as a|bc|a and
    bc|a|a. With so few digits the scores of cuts are sums without error.
    """
    scores: list[tuple[str, float]] = json.loads(unigram.to_str())["model"]["vocab"]
    rounded = [(entry, round(score * SCORE_STEPS) / SCORE_STEPS) for entry, score in scores]
    return sorted(rounded, key=lambda item: (item[0] != UNKNOWN, -item[1], item[0]))


class ModelCuts:
    """Cuts a word by the model of a tokenizer alone, without what surrounds it."""

    def __init__(self, tokenizer: Tokenizer, byte_fallback: bool) -> None:
        self._tokenizer = tokenizer
        self._model = tokenizer.model
        self._unknown = tokenizer.token_to_id(UNKNOWN)
        self._byte_fallback = byte_fallback

    def __call__(self, word: str) -> CutWord:
        encoded = word.encode()
        pieces: list[str] = []
        tokens: list[str] = []
        for token in self._model.tokenize(word):
            # Offsets count bytes, and cover what an unknown token or a marked one stands for.
            start, end = token.offsets
            piece = encoded[start:end].decode()
            if token.id != self._unknown:
                pieces.append(piece)
                tokens.append(token.value)
                continue
            # One token may stand for a whole word that has an unknown letter: that is not to leave it whole.
            pieces += piece
            tokens += bytes_of(piece) if self._byte_fallback else [UNKNOWN]
        return CutWord(tuple(pieces), tuple(tokens))


def bytes_of(piece: str) -> Iterator[str]:
    """The names of the bytes that stand for what a vocabulary does not know.

    >>> list(bytes_of("aé"))
    ['a', '<0xC3>', '<0xA9>']
    """
    for character in piece:
        if character.isascii():
            yield character
        else:
            yield from map(byte_name, character.encode())

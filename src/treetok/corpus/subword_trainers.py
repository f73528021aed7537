"""Train BPE, WordPiece and Unigram on word counts with the `tokenizers` library.

Words are not normalised, and no piece crosses a word boundary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from treetok.corpus.text_from_counts import counts_as_text
from treetok.errors import TreetokError
from treetok.install_hint import install_hint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SubwordModel = Literal["bpe", "wordpiece", "unigram"]
# The trainers take memory for as many entries as they are asked for, and end the process if there is not enough.
MAX_VOCAB_SIZE = 5_000_000


def train_subwords(
    model: SubwordModel,
    word_counts: Mapping[str, int],
    vocab_size: int,
    *,
    unknown: str | None = None,
    special_tokens: Sequence[str] = (),
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on words and their counts.

    unknown: the unknown token; also the first special token.
    special_tokens: other entries added to the vocabulary before training.
    options: passed to the trainer (`initial_alphabet`, `limit_alphabet`, `continuing_subword_prefix`).

    >>> sorted(train_subwords("bpe", {"low": 5, "lower": 2}, 8).get_vocab())
    ['e', 'er', 'l', 'lo', 'low', 'o', 'r', 'w']
    """
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        raise TreetokError(
            f"training BPE, WordPiece or Unigram needs tokenizers: {install_hint('eval')}"
        ) from None
    options = {
        "vocab_size": vocab_size,
        "special_tokens": [*([unknown] if unknown else []), *special_tokens],
        "show_progress": False,
        **options,
    }
    tokenizer: Tokenizer
    trainer: Any
    if model == "bpe":
        tokenizer = Tokenizer(models.BPE(unk_token=unknown))
        trainer = trainers.BpeTrainer(**options)
    elif model == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown) if unknown else models.WordPiece())
        trainer = trainers.WordPieceTrainer(**options)
    elif model == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(unk_token=unknown, **options)
    else:
        raise TreetokError(f"unknown subword model {model!r}: choose 'bpe', 'wordpiece' or 'unigram'")
    # The trainers take text, not counts: repeat the words, separated by a character that occurs in none of them.
    characters = set[str]().union(*word_counts)
    separator = next(chr(code) for code in range(len(characters) + 1) if chr(code) not in characters)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(separator, "removed")
    tokenizer.train_from_iterator(counts_as_text(word_counts, separator), trainer)
    return tokenizer

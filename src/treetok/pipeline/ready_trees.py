"""Trees that need no training: from counts, from another tokenizer, or from a user's own object."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treetok.errors import TreetokError
from treetok.lexicon import Lexicon
from treetok.pipeline.artefacts import lexicon_scores
from treetok.pipeline.options import TrainOptions
from treetok.pipeline.vocabulary import Scores, lexicon_of, most_frequent, score_words
from treetok.progress import Progress
from treetok.sources import CountTrees, TreeSource
from treetok.storage import load_state
from treetok.tokenizer_state import TokenizerState

# Running words. With 10 MB of another kind of text (chats, code) it costs 0.4 % more tokens (docs/lab-notes.md).
# It never outweighs the text itself.
MAX_DEFAULT_PRIOR = 2_000_000


@dataclass(frozen=True)
class TreesOfText:
    """
    scores: the split scores of the letters of all words.
    source: where the trees of other words come from.
    lexicon: the words whose trees are stored with the tokenizer.
    facts: how the trees were made, for the tokenizer's settings.
    unseen_words: words that the parser was not trained on.
    prior: the vocabulary of the tokenizer that the trees come from.
    """

    scores: Scores
    source: TreeSource
    lexicon: Lexicon
    facts: dict[str, Any]
    unseen_words: tuple[str, ...] = ()
    prior: Mapping[str, int] = dataclasses.field(default_factory=dict)


def ready_trees(
    source: TreeSource | None, letters: Mapping[str, int], options: TrainOptions, progress: Progress
) -> TreesOfText:
    """The trees of words, which are given as their letters with counts; `source` is what `checked_source` gave."""
    if source is None:
        return trees_from_counts(letters, options, progress)
    if isinstance(source, TokenizerState):
        return trees_from_tokenizer(source, letters, options, progress)
    scores = score_words(source, sorted(letters), progress)
    # These trees cannot be recomputed when the tokenizer is loaded without the source.
    lexicon = lexicon_of(scores, letters)
    return TreesOfText(scores, source, lexicon, {"trees": f"custom ({type(source).__name__})"})


def checked_source(options: TrainOptions) -> TreeSource | None:
    """The source of the trees. A tokenizer that does not exist, or a prior it cannot provide, is rejected before
    any text is read."""
    source = source_of(options)
    if isinstance(source, TokenizerState):
        scaled_prior(source, options, 0)
    return source


def source_of(options: TrainOptions) -> TreeSource | None:
    """The tokenizer or object that the trees come from; None for trees from counts."""
    trees = options.trees
    if isinstance(trees, str):
        if options.is_from_counts:
            return None
        try:
            return load_state(trees)
        except TreetokError as error:
            if Path(trees).exists():
                raise
            raise TreetokError(
                f"unknown trees {trees!r}: choose 'neural', 'counts' or a tokenizer ({error})"
            ) from None
    return trees


def trees_from_counts(letters: Mapping[str, int], options: TrainOptions, progress: Progress) -> TreesOfText:
    source = CountTrees.from_words(letters)
    scores = score_words(source, sorted(letters), progress)
    assert options.lexicon_size is not None
    lexicon = lexicon_of(scores, most_frequent(letters, options.lexicon_size))
    return TreesOfText(scores, source, lexicon, {"trees": "counts"})


def trees_from_tokenizer(
    state: TokenizerState, letters: Mapping[str, int], options: TrainOptions, progress: Progress
) -> TreesOfText:
    """The trees of another tokenizer; the new tokenizer inherits its lexicon."""
    profile = options.text_profile
    prior = scaled_prior(state, options, sum(letters.values()))
    everything = sorted({*letters, *(profile.letters(string) for string in prior)})
    scores = score_words(state, everything, progress)
    # A word seen once gets the same tree from the inherited lexicon or source, unless it is spelled differently
    # there (an accent that the other profile strips).
    align = state.text_profile.align
    assert options.lexicon_size is not None
    frequent = most_frequent(letters, options.lexicon_size)
    kept = [word for word in frequent if len(word) > 1 and (letters[word] > 1 or align(word) != word)]
    inherited = lexicon_scores(state.lexicon)
    room = max(options.lexicon_size - len(kept), 0)
    is_kept = set(kept)
    further = [word for word in inherited if word not in is_kept][:room]
    lexicon = Lexicon.from_scores(
        {word: inherited[word] for word in further} | {word: scores[word] for word in kept}
    )
    name = options.trees if isinstance(options.trees, str) else "a tokenizer"
    facts = {
        "trees": "tokenizer",
        "trees_from": Path(name).name,
        "prior_words": sum(prior.values()),
        "trees_from_settings": {
            key: state.settings[key] for key in ("trees", "preset", "text_sha256") if key in state.settings
        },
    }
    return TreesOfText(scores, state.source, lexicon, facts, prior=prior)


def scaled_prior(state: TokenizerState, options: TrainOptions, words_in_text: int) -> dict[str, int]:
    """The tokens of a tokenizer with counts that add up to about `options.prior`."""
    is_alike = state.profile == options.profile
    size = options.prior
    if size is None:
        size = min(MAX_DEFAULT_PRIOR, words_in_text) if is_alike else 0
    if size and not is_alike:
        raise TreetokError(
            f"a prior needs a tokenizer of the same profile: {state.profile!r} there, {options.profile!r} here"
        )
    counts = state.counts
    scale = size / max(sum(counts.values()), 1)
    scaled = {token: round(scale * count) for token, count in counts.items()}
    return {token: count for token, count in scaled.items() if count}

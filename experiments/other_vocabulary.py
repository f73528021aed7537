"""A tokenizer with the trees and the options of another, and another vocabulary."""

from __future__ import annotations

from typing import Any

from treetok import TreeTokenizer
from treetok.corpus.counted_words import CountedWords

# The options that vocabularies depend on, beside their size.
OPTIONS = ("vocab", "alignment", "plain_names", "markers", "min_word_count", "character_coverage")
# Those that the vocabulary of the paper has, too.
OF_ALL_VOCABULARIES = ("vocab", "min_word_count", "character_coverage")


def options_of(model: TreeTokenizer) -> dict[str, Any]:
    return {name: model.settings[name] for name in OPTIONS if name in model.settings}


def with_other_vocabulary(
    model: TreeTokenizer, word_counts: dict[str, int], size: int, **changes: Any
) -> TreeTokenizer:
    """A vocabulary of `size` ids for these words, with the options of the model unless changed."""
    options = options_of(model) | changes
    if options.get("vocab") == "paper":
        options = {name: value for name, value in options.items() if name in OF_ALL_VOCABULARIES}
    return TreeTokenizer.train(
        CountedWords(word_counts),
        size,
        model,
        model.profile,
        profile_version=model.state.profile_version,
        progress=False,
        prior=0,
        **options,
    )

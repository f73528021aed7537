"""From trees to a vocabulary: build a large heuristic one, then reduce it to the requested size.

`paper` prunes as in the paper (Algorithm 3); `compact` minimises the number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError, share
from treetok.text.word_limit import LONGEST_WORD
from treetok.vocabulary.fewest_tokens import choose_strings
from treetok.vocabulary.heuristic import heuristic_vocabulary
from treetok.vocabulary.pruning import prune
from treetok.vocabulary.shared_nodes import SharedNodes
from treetok.vocabulary.top_down_cuts import COST_PER_TOKEN, TopDownCuts, token_costs
from treetok.vocabulary.weights import word_weights

__all__ = ["SharedNodes", "build_vocabulary", "check_choice"]

METHODS = ("compact", "paper")
DEFAULT_METHOD = "compact"
# With this value English text has about as many tokens as with BPE (docs/results.md).
DEFAULT_ALIGNMENT = 0.31
# What it costs when post-merge erases the end of a word: two tokens at the default alignment, nothing at 0, where
# fewer tokens are all that counts (chosen on development words: docs/lab-notes.md).
ERASED_END_COST = 2 * COST_PER_TOKEN / DEFAULT_ALIGNMENT
DEFAULT_THRESHOLD = 5
# Of the weights of all words: a word has at most LONGEST_WORD tokens, each costs at most 2 * COST_PER_TOKEN and an
# erased end, and sums must fit in 63 bits.
LARGEST_SUM = float(1 << 61) / LONGEST_WORD / (2 * COST_PER_TOKEN + ERASED_END_COST)
DEFAULT_PRUNING_RATE = 0.2


def build_vocabulary(
    trees: Iterable[tuple[str, Sequence[float], int]] | SharedNodes,
    size: int,
    *,
    method: str = DEFAULT_METHOD,
    alignment: float | None = None,
    post_merge: bool = False,
    joiner: bool = False,
    names: npt.NDArray[np.bool_] | None = None,
    threshold: int = DEFAULT_THRESHOLD,
    pruning_rate: float = DEFAULT_PRUNING_RATE,
    report: Callable[[int], object] = lambda vocabulary_size: None,
) -> dict[str, int]:
    """Tokens and their counts, `size` of them, from (word, scores, frequency) triples.

    method: `compact` or `paper`.
    alignment: from 0 to 1, for `compact`: words are weighted by their count to the power of 1 - alignment. At 0
        the text has as few tokens as possible, and frequent words take up most of the vocabulary; higher values
        give more of it to parts of rarer words, so that more words are segmented into morphs, and make single
        letters cost more than other tokens.
    post_merge: for `compact`: choose knowing that pieces will be merged for the fewest tokens; the higher the
        alignment, the more it costs to erase the end of a word.
    joiner: for `compact`: choose knowing that words may serve inside other words, behind a joiner.
    names: for `compact`: which of the words are names. Rare ones are weighted in proportion to their count.

    Every character is a token. `threshold` is the minimum count of a string in the heuristic vocabulary; it is
    lowered, to 1 if necessary, until there are `size` tokens. The result has fewer than `size` tokens only if the
    trees do not have enough distinct nodes.

    >>> trees = [("low", [1, 0], 9), ("lower", [1, 0, 2, 0], 8), ("newer", [0, 1, 2, 0], 7)]
    >>> build_vocabulary(trees, 8, method="paper")
    {'low': 17, 'e': 8, 'r': 8, 'newer': 7, 'l': 0, 'n': 0, 'o': 0, 'w': 0}
    >>> build_vocabulary(trees, 9)
    {'low': 9, 'lower': 8, 'newer': 7, 'e': 0, 'l': 0, 'n': 0, 'o': 0, 'r': 0, 'w': 0}
    """
    nodes = trees if isinstance(trees, SharedNodes) else SharedNodes(trees)
    if size < len(nodes.leaves):
        raise TreetokError(
            f"a vocabulary of {size} is too small: the text has {len(nodes.leaves)} distinct characters"
        )
    method, alignment = check_choice(method, alignment)
    if threshold < 1:
        raise TreetokError(f"the threshold must be at least 1, not {threshold}")
    if not 0 < pruning_rate < 1:
        raise TreetokError(f"the pruning rate must be between 0 and 1, not {pruning_rate}")
    counts = heuristic_vocabulary(nodes, threshold)
    while np.count_nonzero(counts) < size and threshold > 1:
        threshold //= 2
        counts = heuristic_vocabulary(nodes, threshold)
    if alignment is None:
        counts, present = prune(nodes, counts, size, pruning_rate, report)
    else:
        weights = word_weights(nodes.frequencies, alignment, LARGEST_SUM, names)
        costs = token_costs(nodes.tokens, alignment)
        erased_end_cost = round(ERASED_END_COST * alignment) if post_merge else None
        present = choose_strings(
            nodes, counts > 0, size, weights, costs, pruning_rate, report, erased_end_cost, joiner
        )
        counts = TopDownCuts(nodes, present, nodes.frequencies, costs, joiner).counts
    vocabulary = {nodes.tokens[k]: int(counts[k]) for k in np.flatnonzero(present).tolist()}
    return dict(sorted(vocabulary.items(), key=lambda entry: (-entry[1], entry[0])))


def check_choice(method: object, alignment: object) -> tuple[str, float | None]:
    """Check the method and alignment; an alignment of None becomes the default of `compact`."""
    if not isinstance(method, str) or method not in METHODS:
        raise TreetokError(f"unknown vocab {method!r}: choose {' or '.join(map(repr, METHODS))}")
    if alignment is None:
        return method, None if method == "paper" else DEFAULT_ALIGNMENT
    if method == "paper":
        raise TreetokError("alignment is for vocab='compact' alone: the paper's method has no such parameter")
    return method, share("alignment", alignment, may_be_one=True, may_be_zero=True)

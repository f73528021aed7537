"""How far vocabularies are from the optimum: a linear programme gives a lower bound on the number of tokens.

Words are segmented top-down along the trees of a model. A variable x in [0, 1] for each string says how far it is
in the vocabulary; a variable d in [0, 1] for each inner node of each word says how far that node is split:
d(node) >= d(parent) - x(string of the node), where d above the root is 1. A word has 1 + sum of d tokens. Needs
SciPy, which brings the HiGHS solver.

python experiments/optimal_vocabulary.py --model my-tokenizer --train-text corpus.txt.xz --out results/optimal.json
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from lineup_options import lineup_of, lineup_parser, only_tree_tokenizer, parsed_lineup
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.sources import scores_of_words
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.top_down_cuts import TopDownCuts


@dataclass(frozen=True)
class InnerNodes:
    """All inner nodes of all words, parents before their children: which word each is in, which shared node it is,
    and the number of its parent in these arrays (-1 for roots)."""

    word: np.ndarray
    node: np.ndarray
    parent: np.ndarray


def inner_nodes(nodes: SharedNodes) -> InnerNodes:
    word, node = np.arange(len(nodes.roots)), nodes.roots
    parent = np.full(len(node), -1)
    words, found, parents, done = [], [], [], 0
    while True:
        inner = nodes.left[node] >= 0
        word, node, parent = word[inner], node[inner], parent[inner]
        if not len(node):
            break
        words.append(word)
        found.append(node)
        parents.append(parent)
        here = done + np.arange(len(node))
        done += len(node)
        word, parent = np.tile(word, 2), np.tile(here, 2)
        node = np.concatenate([nodes.left[node], nodes.right[node]])
    return InnerNodes(np.concatenate(words), np.concatenate(found), np.concatenate(parents))


def lower_bound(nodes: SharedNodes, vocab_size: int) -> tuple[float, int]:
    """The optimum of the linear programme, and how many strings are only partly in its vocabulary."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    is_character = np.zeros(len(nodes.tokens), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    inner = inner_nodes(nodes)
    count = len(inner.node)
    strings, string = np.unique(nodes.token[inner.node], return_inverse=True)
    rows = np.arange(count)
    has_parent = inner.parent >= 0
    # -d - x + d(parent) <= 0, or <= -1 at the root.
    splits = coo_array(
        (
            np.concatenate([-np.ones(count), -np.ones(count), np.ones(int(has_parent.sum()))]),
            (
                np.concatenate([rows, rows, rows[has_parent]]),
                np.concatenate([rows, count + string, inner.parent[has_parent]]),
            ),
        ),
        shape=(count, count + len(strings)),
    )
    sizes = coo_array(
        (np.ones(len(strings)), (np.zeros(len(strings), dtype=np.int64), count + np.arange(len(strings)))),
        shape=(1, count + len(strings)),
    )
    solved = linprog(
        np.concatenate([nodes.frequencies[inner.word], np.zeros(len(strings))]),
        A_ub=vstack([splits, sizes]).tocsr(),
        b_ub=np.concatenate([np.where(has_parent, 0.0, -1.0), [vocab_size - int(is_character.sum())]]),
        bounds=(0, 1),
        method="highs-ipm",
    )
    if solved.status != 0:
        raise TreetokError(f"the linear programme was not solved: {solved.message}")
    chosen = solved.x[count:]
    fractional = int(((chosen > 1e-6) & (chosen < 1 - 1e-6)).sum())
    return float(solved.fun + nodes.frequencies.sum()), fractional


def main() -> None:
    parser = lineup_parser(__doc__, baselines="")
    parser.add_argument("--words", type=int, default=5000, metavar="N", help="use the N most frequent words only")
    options = parsed_lineup(parser, words=300)
    lineup = lineup_of(options)
    model = only_tree_tokenizer(lineup)
    counts = lineup.word_counts
    words = sorted(counts, key=lambda word: (-counts[word], word))[: options.words]
    scores = scores_of_words(model.state, words)
    nodes = SharedNodes([(word, scores[word], counts[word]) for word in words])

    def tokens(**choice: object) -> int:
        vocabulary = build_vocabulary(nodes, options.vocab_size, threshold=1, **choice)  # type: ignore[arg-type]
        present = np.array([token in vocabulary for token in nodes.tokens])
        return TopDownCuts(nodes, present, nodes.frequencies, np.ones(len(present), dtype=np.int64)).total

    started = time.monotonic()
    bound, fractional = lower_bound(nodes, options.vocab_size)
    seconds = time.monotonic() - started
    running_words = int(nodes.frequencies.sum())
    rows = {
        "lower bound": bound,
        "compact, alignment 0": tokens(method="compact", alignment=0),
        "paper": tokens(method="paper"),
    }
    grid = [["vocabulary", "tokens per word", "above the bound"]]
    grid += [[name, f"{n / running_words:.5f}", f"{n / bound - 1:.3%}"] for name, n in rows.items()]
    notes = {
        "words": f"the {len(words)} most frequent, {running_words} running",
        "entries": options.vocab_size,
        "strings only partly in the vocabulary of the linear programme": fractional,
    }
    report_grid(options.out, "The optimal vocabulary", grid, notes)
    print(f"solved in {seconds:.0f} s")


if __name__ == "__main__":
    run(main)

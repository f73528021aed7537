"""How far vocabularies are from the best one: a linear programme gives a number of tokens that none can go below.

The words of a text, cut top-down along the trees of a model. One variable x between 0 and 1 for each string says
how far it is in the vocabulary, one, d, for each inner node of each word how far it is cut: d(node) >= d(parent) -
x(string of the node), d above the root being 1. A word has 1 + sum of d tokens. Needs SciPy, which brings HiGHS.

python experiments/optimal_vocabulary.py --model my-tokenizer --train-text corpus.txt.xz --out results/optimal.json
"""

from __future__ import annotations

import time

import numpy as np
from record import entrants_of, parser_of, save

from treetok.cli.script import run
from treetok.errors import TreetokError
from treetok.evaluate.report import aligned
from treetok.evaluate.rivals.treetok_tokenizer import TreeTokContestant
from treetok.evaluate.trees import TokenizerTrees
from treetok.sources import scores_of_words
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.compact import TopDownCuts


def least_tokens(nodes: SharedNodes, size: int) -> tuple[float, int]:
    """The optimum of the linear programme, and how many strings are in it neither wholly nor not at all."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    is_character = np.zeros(len(nodes.tokens), dtype=bool)
    is_character[nodes.token[nodes.leaves]] = True
    # All places of inner nodes in words, parents before their children.
    word, node = np.arange(len(nodes.roots)), nodes.roots
    parent = np.full(len(node), -1)
    words, places, parents, done = [], [], [], 0
    while True:
        inner = nodes.left[node] >= 0
        word, node, parent = word[inner], node[inner], parent[inner]
        if not len(node):
            break
        words.append(word)
        places.append(node)
        parents.append(parent)
        here = done + np.arange(len(node))
        done += len(node)
        word, parent = np.tile(word, 2), np.tile(here, 2)
        node = np.concatenate([nodes.left[node], nodes.right[node]])
    place, above = np.concatenate(places), np.concatenate(parents)
    count = len(place)
    strings, string = np.unique(nodes.token[place], return_inverse=True)
    rows = np.arange(count)
    below = above >= 0
    # -d - x + d(parent) <= 0, or <= -1 where there is no parent.
    matrix = coo_array(
        (
            np.concatenate([-np.ones(count), -np.ones(count), np.ones(int(below.sum()))]),
            (
                np.concatenate([rows, rows, rows[below]]),
                np.concatenate([rows, count + string, above[below]]),
            ),
        ),
        shape=(count, count + len(strings)),
    )
    sizes = coo_array(
        (np.ones(len(strings)), (np.zeros(len(strings), dtype=np.int64), count + np.arange(len(strings)))),
        shape=(1, count + len(strings)),
    )
    frequency = nodes.frequencies[np.concatenate(words)]
    solved = linprog(
        np.concatenate([frequency, np.zeros(len(strings))]),
        A_ub=vstack([matrix, sizes]).tocsr(),
        b_ub=np.concatenate([np.where(below, 0.0, -1.0), [size - int(is_character.sum())]]),
        bounds=(0, 1),
        method="highs-ipm",
    )
    if solved.status != 0:
        raise TreetokError(f"the linear programme was not solved: {solved.message}")
    chosen = solved.x[count:]
    fractional = int(((chosen > 1e-6) & (chosen < 1 - 1e-6)).sum())
    return float(solved.fun + nodes.frequencies.sum()), fractional


def main() -> None:
    parser = parser_of(__doc__, rivals="")
    parser.add_argument("--words", type=int, default=5000, help="the most frequent words of the text alone")
    options = parser.parse_args()
    entrants = entrants_of(options)
    models = [model.tokenizer for model in entrants.models if isinstance(model, TreeTokContestant)]
    if len(models) != 1 or not options.train_text:
        raise TreetokError("one TreeTok model (--model) and a text (--train-text) are needed")
    counts = entrants.word_counts
    words = sorted(counts, key=lambda word: (-counts[word], word))[: options.words]
    scores = scores_of_words(TokenizerTrees(models[0]), words)
    nodes = SharedNodes([(word, scores[word], counts[word]) for word in words])

    def tokens(**choice: object) -> int:
        vocabulary = build_vocabulary(nodes, options.vocab_size, threshold=1, **choice)  # type: ignore[arg-type]
        present = np.array([token in vocabulary for token in nodes.tokens])
        return TopDownCuts(nodes, present, nodes.frequencies, np.ones(len(present), dtype=np.int64)).total

    begun = time.monotonic()
    bound, fractional = least_tokens(nodes, options.vocab_size)
    seconds = time.monotonic() - begun
    running = int(nodes.frequencies.sum())
    rows = {
        "no vocabulary can have fewer": bound,
        "compact, alignment 0": tokens(method="compact", alignment=0),
        "paper": tokens(method="paper"),
    }
    grid = [["vocabulary", "tokens a word", "above the bound"]]
    grid += [[name, f"{n / running:.5f}", f"{n / bound - 1:.3%}"] for name, n in rows.items()]
    notes = {
        "words": f"the {len(words)} most frequent, {running} running",
        "entries": options.vocab_size,
        "strings that are in the vocabulary of the linear programme in part": fractional,
    }
    save(options.out, "The best vocabulary", grid=grid, notes=notes)
    print(aligned(grid), *(f"{name}: {value}" for name, value in notes.items()), sep="\n")
    print(f"solved in {seconds:.0f} s")


if __name__ == "__main__":
    run(main)

"""The paper's six algorithms, line by line: the specification that the fast paths are tested against.

Deliberately slow and recursive. Where the pseudo-code is ambiguous, a comment says how we read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treetok.token_entropy import INFINITE, entropies_by_token

TreeFrequencies = Sequence[tuple["Node", int]]


@dataclass(frozen=True)
class Node:
    token: str
    left: Node | None = None
    right: Node | None = None


def parse(word: str, scores: Sequence[float]) -> Node:
    """Split every span at its highest score; ties go left."""
    if len(word) == 1:
        return Node(word)
    k = max(range(len(scores)), key=lambda p: (scores[p], -p))
    return Node(word, parse(word[: k + 1], scores[:k]), parse(word[k + 1 :], scores[k + 1 :]))


def tokenize(root: Node, entropy: dict[str, int], unknown: int) -> list[str]:
    """Algorithm 1. A character outside the vocabulary is kept, at the cost `unknown`."""
    tokens = []
    stack = [root]
    while stack:
        c = stack.pop()
        if c.token in entropy or c.left is None or c.right is None:
            tokens.append(c.token)
        else:
            stack.append(c.right)
            stack.append(c.left)
    return post_merge(tokens, entropy, unknown)


def post_merge(t: list[str], entropy: dict[str, int], unknown: int) -> list[str]:
    """Algorithm 2."""
    n = len(t)
    if n <= 1:
        return t
    H = [[INFINITE] * n for _ in range(n)]
    s: list[list[list[str]]] = [[[] for _ in range(n)] for _ in range(n)]
    for i in range(n):
        H[i][i] = entropy.get(t[i], unknown)
        s[i][i] = [t[i]]
    for h in range(1, n):
        for i in range(n - h):
            j = i + h
            k_best = -1
            m = "".join(t[i : j + 1])
            H_best = entropy.get(m, INFINITE)
            for k in range(i, j):
                if H[i][k] + H[k + 1][j] <= H_best:
                    k_best = k
                    H_best = H[i][k] + H[k + 1][j]
            s[i][j] = s[i][k_best] + s[k_best + 1][j] if k_best != -1 else [m]
            H[i][j] = H_best
    return s[0][n - 1]


def tree_viterbi(r: Node, entropy: dict[str, int], delta: dict[str, int] | None) -> tuple[int, list[str]]:
    """Algorithm 4. `delta` is filled only in the M-step."""
    w = r.token
    if r.left is None or r.right is None:
        return entropy.get(w, INFINITE), [w]
    s_left, w_left = tree_viterbi(r.left, entropy, delta)
    s_right, w_right = tree_viterbi(r.right, entropy, delta)
    s = entropy.get(w, INFINITE)
    if delta is not None:
        delta[w] = delta.get(w, 0) + max(s_left + s_right - s, 0)
    if s_left + s_right > s:
        return s, [w]
    return s_left + s_right, w_left + w_right


def e_step(trees: TreeFrequencies, entropy: dict[str, int]) -> dict[str, int]:
    """Algorithm 3, E-step: how often each token is used."""
    counts: dict[str, int] = {}
    for root, freq in trees:
        _, seg = tree_viterbi(root, entropy, None)
        for token in seg:
            counts[token] = counts.get(token, 0) + freq
    return counts


def m_step(trees: TreeFrequencies, entropy: dict[str, int]) -> dict[str, int]:
    """Algorithm 3, M-step: how much removing each token would cost. (Characters cost 0 and are never removed.)"""
    loss: dict[str, int] = {}
    for root, freq in trees:
        delta: dict[str, int] = {}
        _, seg = tree_viterbi(root, entropy, delta)
        for token in seg:
            loss[token] = loss.get(token, 0) + delta.get(token, 0) * freq
    return loss


def count_bigrams(trees: TreeFrequencies, vocabulary: dict[str, int]) -> dict[str, int]:
    """Algorithm 6. Counts accumulate."""
    found: dict[str, int] = {}

    def recur_count(r: Node, f: int) -> bool:
        if r.left is None or r.right is None:
            return True
        hit_left = recur_count(r.left, f)
        hit_right = recur_count(r.right, f)
        if hit_left and hit_right:
            if r.token in vocabulary:
                return True
            found[r.token] = found.get(r.token, 0) + f
        return False

    for root, freq in trees:
        recur_count(root, freq)
    return found


def init_vocabulary(trees: TreeFrequencies, threshold: int) -> dict[str, int]:
    """Algorithm 5."""
    vocabulary: dict[str, int] = {}
    for root, freq in trees:
        for character in root.token:
            vocabulary[character] = vocabulary.get(character, 0) + freq
    while True:
        n = len(vocabulary)
        for token, count in count_bigrams(trees, vocabulary).items():
            if count >= threshold:
                vocabulary[token] = count
        if len(vocabulary) == n:
            return vocabulary


def build_vocabulary(trees: TreeFrequencies, size: int, threshold: int, pruning_rate: float) -> dict[str, int]:
    """Algorithm 3, to the exact size. The pseudo-code leaves the following open:

    * Characters are never removed; an unused one costs as much as if it were used once.
    * `V <- E-step` drops unused tokens, but never below the target size: then only the excess is dropped.
    * Ties are broken by the token string.
    * A final E-step counts the tokens under the chosen vocabulary.
    """
    vocabulary = init_vocabulary(trees, threshold)
    while len(vocabulary) > size:
        used = e_step(trees, entropies_by_token(vocabulary))
        for token in vocabulary:
            vocabulary[token] = used.get(token, 0)
        kept = {t: c for t, c in vocabulary.items() if c > 0 or len(t) == 1}
        loss = m_step(trees, entropies_by_token(kept))
        to_remove = min(len(kept) - size, max(1, int(pruning_rate * len(kept))))
        to_remove = max(to_remove, 0) + len(vocabulary) - len(kept)
        to_remove = min(to_remove, len(vocabulary) - size)
        removable = sorted((c > 0, loss.get(t, 0), t) for t, c in vocabulary.items() if len(t) > 1)
        for _, _, token in removable[:to_remove]:
            del vocabulary[token]
    used = e_step(trees, entropies_by_token(vocabulary))
    return {token: used.get(token, 0) for token in vocabulary}

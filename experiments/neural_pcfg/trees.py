"""Decoding trees from a grammar.

The most probable tree with labels (Viterbi) cannot be found in rank space: a maximum over symbols does not pass
through the sum over ranks. The authors of the grammar therefore decode by minimum Bayes risk (MBR) only: the tree
whose spans have the highest sum of probabilities. So do we; Viterbi decoding, with all binary rules written out,
is for small grammars.

Shapes: as in `grammar.py` and `inside.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from neural_pcfg.grammar import NeuralGrammar, RankSpace, Rules
from neural_pcfg.inside import log_probabilities
from neural_pcfg.training import VALUES_PER_CHART
from neural_pcfg.words import CharacterTable, charts
from treetok.model.decoding import mbr_splits
from treetok.span_table import walk_trees

# Binary rules of the largest grammar that Viterbi decoding is offered for.
MOST_RULES = 100_000

Scores = npt.NDArray[np.float32]


def span_probabilities(space: RankSpace, ids_BN: Tensor, lengths_B: Tensor) -> Tensor:
    """[B, N, N + 1]: for each start and width from 2, how probable it is that the tree has this span, given the
    string."""
    strings, longest = ids_BN.shape
    scores_BNX = torch.zeros(strings, longest, longest + 1, device=ids_BN.device, requires_grad=True)
    fixed = RankSpace(*(tensor.detach() for tensor in space.tensors()))
    with torch.enable_grad():
        log_probability_B = log_probabilities(fixed, ids_BN, lengths_B, scores_BNX.to(fixed.root_R.dtype))
        (probabilities,) = torch.autograd.grad(log_probability_B.sum(), scores_BNX)
    return probabilities


class MbrTrees:
    """A grammar as a source of trees."""

    def __init__(self, grammar: NeuralGrammar, characters: CharacterTable, device: str = "cpu") -> None:
        with torch.no_grad():
            self.space = grammar.to(device).rules().in_rank_space()
        self.characters, self.device = characters, device

    def split_scores(self, words: Sequence[str]) -> list[Scores]:
        """The negative depth of every split in the best tree of each word."""
        scores: list[Scores] = [np.zeros(0, dtype=np.float32)] * len(words)
        order = sorted((n for n, word in enumerate(words) if len(word) > 1), key=lambda n: -len(words[n]))
        lengths = np.array([len(words[n]) for n in order], dtype=np.int64)
        most_values = VALUES_PER_CHART[torch.device(self.device).type]
        for chart in charts(lengths, len(self.space.root_R), most_values):
            ids_BN = torch.from_numpy(self.characters.ids([words[n] for n in order[chart]])).to(self.device)
            lengths_B = torch.from_numpy(lengths[chart]).to(self.device)
            best = mbr_splits(span_probabilities(self.space, ids_BN, lengths_B))
            for n, depths in zip(order[chart], depths_of(best, lengths[chart]), strict=True):
                scores[n] = depths
        return scores


class ViterbiTrees:
    """A small grammar as a source of trees."""

    def __init__(self, grammar: NeuralGrammar, characters: CharacterTable) -> None:
        with torch.no_grad():
            self.rules = grammar.cpu().rules()
        self.characters = characters

    def split_scores(self, words: Sequence[str]) -> list[Scores]:
        """The negative depth of every split in the best tree of each word."""
        scores: list[Scores] = []
        for word in words:
            if len(word) < 2:
                scores.append(np.zeros(0, dtype=np.float32))
                continue
            _, best = viterbi_splits(self.rules, torch.from_numpy(self.characters.ids([word])[0]))
            scores += depths_of(best[None], np.array([len(word)]))
        return scores


def is_small(grammar: NeuralGrammar) -> bool:
    symbols = grammar.config.nonterminals + grammar.config.preterminals
    return grammar.config.nonterminals * symbols * symbols <= MOST_RULES


def depths_of(best: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> list[Scores]:
    """best: [word, start, width]: the width of the left half of the best split."""
    return walk_trees(lengths, lambda word, start, end: start + best[word, start, end - start])


def viterbi_splits(rules: Rules, ids_N: Tensor) -> tuple[float, npt.NDArray[np.int64]]:
    """The log-probability of the most probable tree with labels of one string, and its splits: [start, width] ->
    the width of the left half, 0 where the tree has no such span."""
    nonterminals = len(rules.root_A)
    log_rule_ASS = torch.einsum("ar,br,cr->abc", rules.parent_AR, rules.left_SR, rules.right_SR).log()
    log_emission_NT = rules.emission_TV.log()[:, ids_N].T
    n = len(ids_N)
    score = {(start, 1): log_emission_NT[start] for start in range(n)}
    # Of each nonterminal over a span: the width of the left half, and the two children.
    choice: dict[tuple[int, int], Tensor] = {}
    symbols = {True: slice(nonterminals, None), False: slice(0, nonterminals)}
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            of_splits, choices = [], []
            for k in range(1, width):
                of_rules_ASS = (
                    log_rule_ASS[:, symbols[k == 1], symbols[width - k == 1]]
                    + score[start, k][:, None]
                    + score[start + k, width - k]
                )
                highest_A, at_A = of_rules_ASS.flatten(1).max(1)
                rights = of_rules_ASS.shape[2]
                of_splits.append(highest_A)
                choices.append(torch.stack([torch.full_like(at_A, k), at_A // rights, at_A % rights], -1))
            score[start, width], split_A = torch.stack(of_splits).max(0)
            choice[start, width] = torch.stack(choices)[split_A, torch.arange(nonterminals)]
    of_root_A = rules.root_A.log() + score[0, n]
    best = np.zeros((n, n + 1), dtype=np.int64)
    spans = [(0, n, int(of_root_A.argmax()))]
    while spans:
        start, width, label = spans.pop()
        if width > 1:
            k, left, right = choice[start, width][label].tolist()
            best[start, width] = k
            spans += [(start, k, left), (start + k, width - k, right)]
    return float(of_root_A.max()), best

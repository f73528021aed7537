"""The grammar: probabilities of its rules, computed by a network from embeddings of its symbols.

The rules are S -> A, A -> B C and T -> character, for nonterminals A, preterminals T and children B, C of either
kind. A binary rule first chooses one of R ranks, then its two children independently of each other:

    P(A -> B C) = sum_r parent[A, r] left[B, r] right[C, r]

Shapes: A nonterminals, T preterminals, S = A + T symbols (nonterminals first), R ranks, Q = 2R, V characters,
D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from treetok.errors import TreetokError

# How embeddings of symbols begin: as published in 2021, and in 2022.
NORMAL, XAVIER = "normal", "xavier"
INITIALISATIONS = (NORMAL, XAVIER)
LARGEST = {"nonterminals": 20_000, "preterminals": 20_000, "rank": 4096, "dimension": 4096}


@dataclass(frozen=True)
class GrammarConfig:
    """The sizes of a grammar. The cost of an inside pass depends on the rank alone.

    initialisation: of the embeddings. The Xavier initialisation of 2022 leaves symbols so alike that the grammar
        of a small language ended in far worse optima: about 15 instead of 10 nats per word.
    """

    nonterminals: int = 250
    preterminals: int = 500
    rank: int = 500
    dimension: int = 256
    initialisation: str = NORMAL

    def __post_init__(self) -> None:
        for name, largest in LARGEST.items():
            if not 1 <= (size := getattr(self, name)) <= largest:
                raise TreetokError(f"--{name} must be from 1 to {largest}, not {size}")
        if self.initialisation not in INITIALISATIONS:
            raise TreetokError(
                f"--initialisation must be {' or '.join(INITIALISATIONS)}, not {self.initialisation!r}"
            )


@dataclass(frozen=True)
class Rules:
    """Probabilities. Rows of `root_A`, `parent_AR` and `emission_TV` sum to 1, as do columns of `left_SR` and
    `right_SR`."""

    root_A: Tensor
    parent_AR: Tensor
    left_SR: Tensor
    right_SR: Tensor
    emission_TV: Tensor

    def in_rank_space(self) -> RankSpace:
        nonterminals = len(self.root_A)
        children_SQ = torch.cat([self.left_SR, self.right_SR], -1)
        return RankSpace(
            root_R=self.root_A @ self.parent_AR,
            inner_RQ=self.parent_AR.T @ children_SQ[:nonterminals],
            leaf_VQ=self.emission_TV.T @ children_SQ[nonterminals:],
        )


@dataclass(frozen=True)
class RankSpace:
    """The grammar with ranks as its states, and symbols summed out: all that the inside pass needs.

    root_R: the probability that the whole string is split by rank r.
    inner_RQ: that a child of rank r, as the left child (first half of Q) and as the right one, is split by a rank.
    leaf_VQ: that it is a character.
    """

    root_R: Tensor
    inner_RQ: Tensor
    leaf_VQ: Tensor

    def tensors(self) -> list[Tensor]:
        return [self.root_R, self.inner_RQ, self.leaf_VQ]

    def detached(self) -> RankSpace:
        """The same values, with gradients of their own."""
        return RankSpace(*(tensor.detach().requires_grad_() for tensor in self.tensors()))


class ResidualLayer(nn.Module):
    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(dimension, dimension), nn.ReLU(), nn.Linear(dimension, dimension), nn.ReLU()
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


def residual_network(dimension: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(dimension, dimension),
        ResidualLayer(dimension),
        ResidualLayer(dimension),
        nn.Linear(dimension, outputs),
    )


class NeuralGrammar(nn.Module):
    """The network, as published: residual layers for the root and for characters, and one embedding of ranks for
    parents and both children."""

    def __init__(self, config: GrammarConfig, characters: int) -> None:
        super().__init__()
        self.config = config
        D = config.dimension
        self.root_embedding = nn.Parameter(torch.randn(1, D))
        self.symbol_embedding = nn.Parameter(torch.randn(config.nonterminals + config.preterminals, D))
        self.root = residual_network(D, config.nonterminals)
        self.emission = residual_network(D, characters)
        self.parent, self.left, self.right = (nn.Sequential(nn.Linear(D, D), nn.ReLU()) for _ in range(3))
        self.rank_embedding = nn.Parameter(torch.empty(D, config.rank))
        for name, parameter in self.named_parameters():
            is_matrix = name.endswith("weight") or name == "rank_embedding"
            if is_matrix or (config.initialisation == XAVIER and parameter.dim() > 1):
                nn.init.xavier_normal_(parameter)

    def rules(self) -> Rules:
        symbols_SD = self.symbol_embedding
        nonterminals_AD, preterminals_TD = symbols_SD.split([self.config.nonterminals, self.config.preterminals])
        return Rules(
            root_A=self.root(self.root_embedding)[0].softmax(-1),
            parent_AR=(self.parent(nonterminals_AD) @ self.rank_embedding).softmax(-1),
            left_SR=(self.left(symbols_SD) @ self.rank_embedding).softmax(0),
            right_SR=(self.right(symbols_SD) @ self.rank_embedding).softmax(0),
            emission_TV=self.emission(preterminals_TD).softmax(-1),
        )

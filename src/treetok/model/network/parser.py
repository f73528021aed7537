"""The light parser: letters of a word to a score for each of its splits (appendix of the paper).

Shapes: W words, L letters, S = L - 1 splits, K lengths of morphemes, H heads, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.errors import TreetokError
from treetok.model.data.morphemes import MorphemeVocabulary
from treetok.model.network.composition import linear
from treetok.model.network.language_model import layer_norm
from treetok.sources.letter_features import LetterFeatures


@dataclass(frozen=True)
class ParserConfig:
    """The transformer over the letters of a word; the defaults are those of the paper's appendix but for one:

    max_morpheme_length: each letter is also told which morphemes of 2 to so many letters begin there, end there
        and reach across it, since the teacher decides by them; 0 is the paper's parser, which sees bare letters.
    max_position: places are told apart up to this distance from either end of the word.
    """

    dimension: int = 64
    heads: int = 4
    hidden: int = 128
    layers: int = 4
    max_morpheme_length: int = 8
    max_position: int = 24

    def __post_init__(self) -> None:
        if min(self.dimension, self.heads, self.hidden, self.layers, self.max_position) < 1:
            raise TreetokError("every size of the parser is at least 1")
        if self.dimension % self.heads:
            raise TreetokError(f"{self.heads} heads do not divide {self.dimension} dimensions")


@dataclass(frozen=True)
class ParserInput:
    """Letters by number (0 behind the end of a word) and, of every letter, the morphemes that begin there: one
    row number for each length from 2 on, 0 where there is none."""

    letters_WL: Tensor
    begin_WLK: Tensor
    lengths_W: Tensor


class ParserTable:
    """Letters and morphemes of all words on a device: batches are taken without the words themselves."""

    def __init__(
        self,
        words: Sequence[str],
        morphemes: MorphemeVocabulary,
        sizes: ParserConfig,
        device: torch.device | str = "cpu",
    ) -> None:
        features = features_of(morphemes, sizes)
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        self.widest = max(int(lengths.max(initial=0)), 1)
        at = np.arange(int(lengths.sum())) + np.repeat(
            np.arange(len(words)) * self.widest - (np.cumsum(lengths) - lengths), lengths
        )
        letters = np.zeros(len(words) * self.widest, dtype=np.int32)
        letters[at] = features.characters_in(words)
        begin = np.zeros((len(letters), max(features.longest - 1, 0)), dtype=np.int32)
        for width, first, row in features.morphemes_in(words):
            begin[at[first], width - 2] = row
        self.letters_NL = torch.from_numpy(letters).view(-1, self.widest).to(device)
        self.begin_NLK = torch.from_numpy(begin).view(len(words), self.widest, begin.shape[1]).to(device)
        self.lengths_N = torch.from_numpy(lengths).to(device)

    def take(self, word_numbers: Tensor, widest: int | None = None) -> ParserInput:
        """Some words, by number. They are padded to `widest` letters (to those of the longest word of the table
        where it is not given); none may be longer."""
        columns = self.widest if widest is None else widest
        return ParserInput(
            self.letters_NL[:, :columns].index_select(0, word_numbers),
            self.begin_NLK[:, :columns].index_select(0, word_numbers),
            self.lengths_N.index_select(0, word_numbers),
        )


def features_of(morphemes: MorphemeVocabulary, sizes: ParserConfig) -> LetterFeatures:
    return LetterFeatures(morphemes.characters, morphemes.longer, sizes.max_morpheme_length)


def ends_of_morphemes(begin_WLK: Tensor) -> Tensor:
    """The morphemes that end at each letter, from those that begin there."""
    return torch.stack([moved(begin_WLK[..., k], k + 1) for k in range(begin_WLK.shape[2])], -1)


def insides_of_morphemes(begin_WLK: Tensor) -> Tensor:
    """The morphemes that reach across each letter, from those that begin there."""
    inner = [moved(begin_WLK[..., k], by) for k in range(begin_WLK.shape[2]) for by in range(1, k + 1)]
    return torch.stack(inner, -1) if inner else torch.zeros_like(begin_WLK[..., :1])


def moved(rows_WL: Tensor, by: int) -> Tensor:
    """Everything so many letters to the right."""
    length = rows_WL.shape[1]
    return F.pad(rows_WL[:, : max(length - by, 0)], (min(by, length), 0))


class ParserLayer(nn.Module):
    """One Transformer layer, layer norms first, every letter seeing all letters of its word."""

    def __init__(self, sizes: ParserConfig, dropout: float) -> None:
        super().__init__()
        d = sizes.dimension
        self.heads, self.dropout = sizes.heads, dropout
        self.norm_before_attention = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.attended = nn.Linear(d, d)
        self.norm_before_hidden = nn.LayerNorm(d)
        self.hidden = nn.Linear(d, sizes.hidden)
        self.output = nn.Linear(sizes.hidden, d)

    def forward(self, x_WLD: Tensor, bias_W11L: Tensor) -> Tensor:
        w, length, d = x_WLD.shape
        qkv = linear(self.qkv, layer_norm(self.norm_before_attention, x_WLD))
        q_WHLd, k_WHLd, v_WHLd = qkv.view(w, length, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mixed_WHLd = F.scaled_dot_product_attention(q_WHLd, k_WHLd, v_WHLd, bias_W11L)
        attended = linear(self.attended, mixed_WHLd.transpose(1, 2).reshape(w, length, d))
        x_WLD = x_WLD + F.dropout(attended, self.dropout, self.training)
        hidden = F.gelu(linear(self.hidden, layer_norm(self.norm_before_hidden, x_WLD)), approximate="tanh")
        return x_WLD + F.dropout(linear(self.output, hidden), self.dropout, self.training)


class Parser(nn.Module):
    """Scores of all splits: s_p = MLP([h_p ; h_p+1]) over the states of a small transformer.

    What it works out for a word does not depend on the words beside it nor on padding. What stands behind the
    last split of a word means nothing.
    """

    def __init__(self, sizes: ParserConfig, morphemes: MorphemeVocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.sizes, self.dropout = sizes, dropout
        d = sizes.dimension
        features = features_of(morphemes, sizes)
        self.letter = nn.Parameter(torch.randn(len(features.characters) + 2, d) * 0.1)
        self.place_from_start = nn.Parameter(torch.randn(sizes.max_position, d) * 0.1)
        self.place_from_end = nn.Parameter(torch.randn(sizes.max_position, d) * 0.1)
        # Row 0 of each is no morpheme and never used.
        rows = len(features.morphemes) + 1 if features.morphemes else 0
        self.begin = nn.Parameter(torch.randn(rows, d) * 0.1)
        self.end = nn.Parameter(torch.randn(rows, d) * 0.1)
        self.inside = nn.Parameter(torch.randn(rows, d) * 0.1)
        self.layers = nn.ModuleList(ParserLayer(sizes, dropout) for _ in range(sizes.layers))
        self.last_norm = nn.LayerNorm(d)
        self.pair_hidden = nn.Linear(2 * d, sizes.hidden)
        self.pair_score = nn.Linear(sizes.hidden, 1)

    def forward(self, words: ParserInput) -> Tensor:
        letters_WL, lengths_W = words.letters_WL, words.lengths_W
        w, length = letters_WL.shape
        at_L = torch.arange(length, device=letters_WL.device)
        from_end_WL = lengths_W.unsqueeze(1) - 1 - at_L
        max_position = self.sizes.max_position - 1
        x_WLD = (
            F.embedding(letters_WL, self.letter)
            + self.place_from_start.index_select(0, at_L.clamp(max=max_position))
            + F.embedding(from_end_WL.clamp(0, max_position), self.place_from_end)
        )
        if len(self.begin):
            begin_WLK = words.begin_WLK
            x_WLD = x_WLD + bag(begin_WLK, self.begin) + bag(ends_of_morphemes(begin_WLK), self.end)
            x_WLD = x_WLD + bag(insides_of_morphemes(begin_WLK), self.inside)
        x_WLD = F.dropout(x_WLD, self.dropout, self.training)
        # Of padding, letters see themselves and the word: that is of no use and does no harm.
        bias_W11L = torch.zeros_like(from_end_WL, dtype=x_WLD.dtype).masked_fill(from_end_WL < 0, -torch.inf)
        bias_W11L = bias_W11L.view(w, 1, 1, length)
        for layer in self.layers:
            x_WLD = layer(x_WLD, bias_W11L)
        x_WLD = layer_norm(self.last_norm, x_WLD)
        pair_WSD = torch.cat((x_WLD[:, :-1], x_WLD[:, 1:]), -1)
        hidden_WSD = F.gelu(linear(self.pair_hidden, pair_WSD), approximate="tanh")
        return linear(self.pair_score, hidden_WSD).squeeze(-1)


def bag(rows_WLK: Tensor, table: Tensor) -> Tensor:
    """Of every letter the sum of some rows of a table; row 0 is none."""
    w, length, lengths = rows_WLK.shape
    return F.embedding_bag(rows_WLK.reshape(w * length, lengths), table, mode="sum", padding_idx=0).view(
        w, length, -1
    )

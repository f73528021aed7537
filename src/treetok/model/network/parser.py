"""The lightweight parser: letters of a word to a score for each of its splits (appendix of the paper).

Shapes: N words of a table, W words of a batch, L letters, S = L - 1 splits, M letters of all words, K lengths of
morphemes, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treetok.errors import TreetokError
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary
from treetok.model.network.functional import gelu, layer_norm, linear
from treetok.model.network.transformer import TransformerBlock
from treetok.sources.parser import ParserTrees, with_rounded_tables
from treetok.sources.parser_features import LetterFeatures


@dataclass(frozen=True)
class ParserConfig:
    """The Transformer over letters. The defaults are those of the paper's appendix, with one addition:

    max_morpheme_length: the input of each letter includes the morphemes of 2 to this many letters that start at
        it, end at it or span it, since the teacher's splits depend on them; 0 is the paper's parser.
    max_position: positions are distinguished up to this distance from either end of the word.
    """

    dimension: int = 64
    heads: int = 4
    hidden: int = 128
    layers: int = 4
    max_morpheme_length: int = 8
    max_position: int = 24

    def __post_init__(self) -> None:
        if min(self.dimension, self.heads, self.hidden, self.layers, self.max_position) < 1:
            raise TreetokError("all sizes of the parser must be at least 1")
        if self.dimension % self.heads:
            raise TreetokError(f"{self.heads} heads do not divide {self.dimension} dimensions")


@dataclass(frozen=True)
class ParserInput:
    """The ids of letters (0 is padding), and for every letter the morphemes that start there: one embedding row
    for each length from 2 on, 0 where there is none. `letters` is the number of all letters, if it is known."""

    letters_WL: Tensor
    begin_WLK: Tensor
    lengths_W: Tensor
    letters: int | None = None


@dataclass(frozen=True)
class LetterRows:
    """The letters of words, one word after the other, without padding."""

    first_W: Tensor
    lengths_W: Tensor
    longest: int
    word_M: Tensor
    place_M: Tensor

    @classmethod
    def of(cls, words: ParserInput) -> LetterRows:
        lengths_W = words.lengths_W
        # A GPU that is asked for the number has to finish its work first.
        letters = int(lengths_W.sum()) if words.letters is None else words.letters
        first_W = torch.cumsum(lengths_W, 0) - lengths_W
        words_W, at_M = (torch.arange(n, device=lengths_W.device) for n in (len(lengths_W), letters))
        word_M = torch.repeat_interleave(words_W, lengths_W, output_size=letters)
        return cls(first_W, lengths_W, words.letters_WL.shape[1], word_M, at_M - first_W[word_M])


class ParserTable:
    """The parser's input for all words, on a device; batches are taken from it by word id."""

    def __init__(
        self,
        words: Sequence[str],
        morphemes: MorphemeVocabulary,
        config: ParserConfig,
        device: torch.device | str = "cpu",
    ) -> None:
        features = features_of(morphemes, config)
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

    def take(self, word_ids: Tensor, widest: int | None = None, letters: int | None = None) -> ParserInput:
        """The input of some words, padded to `widest` letters (default: the longest word of the table), which none
        of them may exceed; they have `letters` in all, if that is known."""
        columns = self.widest if widest is None else widest
        return ParserInput(
            self.letters_NL[:, :columns].index_select(0, word_ids),
            self.begin_NLK[:, :columns].index_select(0, word_ids),
            self.lengths_N.index_select(0, word_ids),
            letters,
        )


def features_of(morphemes: MorphemeVocabulary, config: ParserConfig) -> LetterFeatures:
    return LetterFeatures(morphemes.characters, morphemes.longer, config.max_morpheme_length)


def ends_of_morphemes(begin_WLK: Tensor) -> Tensor:
    """The morphemes that end at each letter, from those that start there."""
    return torch.stack([shift_right(begin_WLK[..., k], k + 1) for k in range(begin_WLK.shape[2])], -1)


def insides_of_morphemes(begin_WLK: Tensor) -> Tensor:
    """The morphemes that have each letter in their interior, from those that start there."""
    inner = [shift_right(begin_WLK[..., k], by) for k in range(begin_WLK.shape[2]) for by in range(1, k + 1)]
    return torch.stack(inner, -1) if inner else torch.zeros_like(begin_WLK[..., :1])


def shift_right(rows_WL: Tensor, by: int) -> Tensor:
    """Shift by some letters, with zeros coming in on the left."""
    length = rows_WL.shape[1]
    return F.pad(rows_WL[:, : max(length - by, 0)], (min(by, length), 0))


def sums_of_morphemes(begin_WLK: Tensor, begin: Tensor, end: Tensor, inside: Tensor) -> Tensor:
    """The sum of the embeddings of the morphemes that start at, end at or span each letter, [W, L, D]."""
    return (
        sum_embeddings(begin_WLK, begin)
        + sum_embeddings(ends_of_morphemes(begin_WLK), end)
        + sum_embeddings(insides_of_morphemes(begin_WLK), inside)
    )


@dataclass(frozen=True)
class ParserOperations:
    """The expensive operations of the parser: plain PyTorch for any device, or fused GPU kernels.

    attention: takes the projections of the letters of all words, which letters these are, and the number of heads;
        None is PyTorch's, with padding.
    precision: that of activations; None is that of the parameters.
    """

    sums_of_morphemes: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = sums_of_morphemes
    attention: Callable[[Tensor, LetterRows, int], Tensor] | None = None
    precision: torch.dtype | None = None


PLAIN = ParserOperations()


class Parser(nn.Module):
    """Scores of all splits: s_p = MLP([h_p ; h_p+1]) over the states of a small bidirectional Transformer.

    The scores of a word depend neither on the other words of the batch nor on padding. Scores past the last split
    of a word are undefined. Training uses `operations`, evaluation the plain ones.
    """

    def __init__(self, config: ParserConfig, morphemes: MorphemeVocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.config, self.dropout = config, dropout
        self.operations = PLAIN
        d = config.dimension
        features = features_of(morphemes, config)
        self.letter = nn.Parameter(torch.randn(len(features.characters) + 2, d) * 0.1)
        self.place_from_start = nn.Parameter(torch.randn(config.max_position, d) * 0.1)
        self.place_from_end = nn.Parameter(torch.randn(config.max_position, d) * 0.1)
        # Row 0 of each stands for no morpheme and is never used.
        rows = len(features.morphemes) + 1 if features.morphemes else 0
        self.begin = nn.Parameter(torch.randn(rows, d) * 0.1)
        self.end = nn.Parameter(torch.randn(rows, d) * 0.1)
        self.inside = nn.Parameter(torch.randn(rows, d) * 0.1)
        self.layers = nn.ModuleList(
            TransformerBlock(d, config.heads, config.hidden, dropout) for _ in range(config.layers)
        )
        self.last_norm = nn.LayerNorm(d)
        self.pair_hidden = nn.Linear(2 * d, config.hidden)
        self.pair_score = nn.Linear(config.hidden, 1)

    def forward(self, words: ParserInput) -> Tensor:
        operations = self.operations if self.training else PLAIN
        if operations.attention is not None:
            return self._without_padding(words, operations, operations.attention)
        letters_WL, lengths_W = words.letters_WL, words.lengths_W
        w, length = letters_WL.shape
        at_L = torch.arange(length, device=letters_WL.device)
        from_end_WL = lengths_W.unsqueeze(1) - 1 - at_L
        max_position = self.config.max_position - 1
        x_WLD = (
            F.embedding(letters_WL, self.letter)
            + self.place_from_start.index_select(0, at_L.clamp(max=max_position))
            + F.embedding(from_end_WL.clamp(0, max_position), self.place_from_end)
        )
        if len(self.begin):
            x_WLD = x_WLD + operations.sums_of_morphemes(words.begin_WLK, self.begin, self.end, self.inside)
        if operations.precision is not None:
            x_WLD = x_WLD.to(operations.precision)
        x_WLD = F.dropout(x_WLD, self.dropout, self.training)
        # Masks padding as keys only: the states of padding are computed and never used.
        bias_W11L = torch.zeros_like(from_end_WL, dtype=x_WLD.dtype).masked_fill(from_end_WL < 0, -torch.inf)
        bias_W11L = bias_W11L.view(w, 1, 1, length)
        for layer in self.layers:
            x_WLD = layer(x_WLD, bias_W11L)
        x_WLD = layer_norm(self.last_norm, x_WLD)
        return self._scores_of_pairs(x_WLD[:, :-1], x_WLD[:, 1:])

    def _without_padding(
        self,
        words: ParserInput,
        operations: ParserOperations,
        attention: Callable[[Tensor, LetterRows, int], Tensor],
    ) -> Tensor:
        """The same scores. Most words are far shorter than the longest: two thirds of the letters are padding."""
        rows = LetterRows.of(words)
        max_position = self.config.max_position - 1
        from_end_M = rows.lengths_W[rows.word_M] - 1 - rows.place_M
        x_MD = (
            F.embedding(words.letters_WL[rows.word_M, rows.place_M], self.letter)
            + F.embedding(rows.place_M.clamp(max=max_position), self.place_from_start)
            + F.embedding(from_end_M.clamp(max=max_position), self.place_from_end)
        )
        if len(self.begin):
            sums_WLD = operations.sums_of_morphemes(words.begin_WLK, self.begin, self.end, self.inside)
            x_MD = x_MD + sums_WLD[rows.word_M, rows.place_M]
        if operations.precision is not None:
            x_MD = x_MD.to(operations.precision)
        x_MD = F.dropout(x_MD, self.dropout, self.training)
        for layer in self.layers:
            x_MD = layer(x_MD, attention=lambda qkv_MF, heads: attention(qkv_MF, rows, heads))
        x_MD = layer_norm(self.last_norm, x_MD)
        # The pairs of a word lie where its letters do; that of its last letter and the next word's is not used.
        score_M = F.pad(self._scores_of_pairs(x_MD[:-1], x_MD[1:]), (0, 1))
        at_WS = rows.first_W[:, None] + torch.arange(rows.longest - 1, device=score_M.device)
        return score_M.index_select(0, at_WS.clamp(max=len(score_M) - 1).view(-1)).view(at_WS.shape)

    def _scores_of_pairs(self, left: Tensor, right: Tensor) -> Tensor:
        hidden = gelu(linear(self.pair_hidden, torch.cat((left, right), -1)))
        return linear(self.pair_score, hidden).squeeze(-1)


def sum_embeddings(rows_WLK: Tensor, table: Tensor) -> Tensor:
    """The sum of K rows of a table for every letter; row 0 is padding."""
    w, length, lengths = rows_WLK.shape
    return F.embedding_bag(rows_WLK.reshape(w * length, lengths), table, mode="sum", padding_idx=0).view(
        w, length, -1
    )


def stored_parser(parser: Parser, morphemes: MorphemeVocabulary) -> ParserTrees:
    """The parser as it is stored: at low precision and without PyTorch."""
    features = features_of(morphemes, parser.config)
    weights = {name: w.detach().cpu().half().numpy() for name, w in parser.state_dict().items()}
    return ParserTrees(with_rounded_tables(weights), parser.config.heads, features.characters, features.morphemes)

"""Trees from the light parser, in pure numpy: a small transformer over the letters of a word.

Tested to give nearly the same scores as `treetok.model.network.parser`. Weights are stored in 16 bits; morpheme
embeddings, which are most of the weights, may be stored as small integers with one scale per morpheme.

Its arithmetic is that of integers (`parser_layers.py`), so that the scores of a word depend neither on the machine
nor on the other words of a call. `native/parser.h` is the same parser in C++, tested to give the same bits.

Shapes: W words of equal length, L letters, N = W * L, D dimensions, M morphemes found.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treetok.cached_property import cached_property
from treetok.errors import TreetokError
from treetok.native import core, why_not_native
from treetok.sources.parser_features import FIRST_CHARACTER, LetterFeatures
from treetok.sources.parser_layers import F32, Linear, Norm, attention, gelu
from treetok.text.word_limit import LONGEST_WORD

if TYPE_CHECKING:
    from treetok import _core

# Keeps a batch in cache.
LETTERS_PER_BATCH = 512
# Far above any sensible parser; a damaged file must not allocate gigabytes.
MAX_LAYERS, MAX_WIDTH, MAX_POSITIONS = 64, 4096, 4096
# Each of those of Unicode once, in UTF-8.
MAX_CHARACTER_BYTES = 4 * 0x110000
MORPHEME_TABLES = ("begin", "inside", "end")
FACTOR = "{}.factor"
# Six bits: agreement with the teacher on unseen words is the same as with sixteen (docs/lab-notes.md).
LARGEST_INTEGER = 31


@dataclass(frozen=True)
class Layer:
    norm_before_attention: Norm
    qkv: Linear
    attended: Linear
    norm_before_hidden: Norm
    hidden: Linear
    output: Linear


def parser_from_bytes(arrays: list[tuple[str, str, tuple[int, ...], bytes]]) -> ParserTrees:
    return ParserTrees.from_arrays(
        {name: np.frombuffer(content, dtype=kind).reshape(shape) for name, kind, shape, content in arrays}
    )


class ParserTrees:
    """The light parser as a source of trees for unseen words.

    `weights` are named as in the model; `characters` and `morphemes` label the rows of its embeddings.
    """

    def __init__(
        self,
        weights: Mapping[str, npt.NDArray[Any]],
        heads: int,
        characters: Sequence[str],
        morphemes: Sequence[str],
    ) -> None:
        check_strings(characters, morphemes)
        expected = expected_shapes(weights, heads, len(characters), len(morphemes))
        if {name: array.shape for name, array in weights.items()} != expected:
            raise TreetokError("the weights of the parser do not have the expected shapes")
        for name, array in weights.items():
            wanted = np.int8 if FACTOR.format(name) in weights else np.float16
            if array.dtype != wanted:
                raise TreetokError(f"the weights {name} of the parser are {array.dtype}, not {np.dtype(wanted)}")
            if array.dtype == np.float16 and not np.isfinite(array).all():
                raise TreetokError(f"the weights {name} of the parser are not all finite")
        self.weights, self.heads = dict(weights), heads
        self.characters, self.morphemes = characters, morphemes

    def __reduce__(self) -> tuple[Any, ...]:
        # Bytes, since pickled arrays differ by which of them have the same dtype object.
        plain = [(name, array.dtype.str, array.shape, array.tobytes()) for name, array in self.arrays().items()]
        return parser_from_bytes, (sorted(plain),)

    # Computed at the first unseen word, to keep loading fast.

    @cached_property
    def features(self) -> LetterFeatures:
        return LetterFeatures(self.characters, self.morphemes, max(map(len, self.morphemes), default=0))

    @cached_property
    def _layers(self) -> list[Layer]:
        return [
            Layer(
                norm_before_attention=self._norm(f"layers.{n}.norm_before_attention"),
                qkv=self._linear(f"layers.{n}.qkv"),
                attended=self._linear(f"layers.{n}.attended"),
                norm_before_hidden=self._norm(f"layers.{n}.norm_before_hidden"),
                hidden=self._linear(f"layers.{n}.hidden"),
                output=self._linear(f"layers.{n}.output"),
            )
            for n in range(number_of_layers(self.weights))
        ]

    @cached_property
    def _last_norm(self) -> Norm:
        return self._norm("last_norm")

    @cached_property
    def _pair_hidden(self) -> Linear:
        """The matrix that is applied to [h_p ; h_p+1], as one that is applied to every letter: D is what a letter
        adds as the left one of a pair, then what it adds as the right one."""
        left, right = np.split(self._float32("pair_hidden.weight"), 2, axis=1)
        bias = self._float32("pair_hidden.bias")
        return Linear.of(np.concatenate([left, right]), np.concatenate([bias, np.zeros_like(bias)]))

    @cached_property
    def _pair_score(self) -> Linear:
        return self._linear("pair_score")

    def _linear(self, name: str) -> Linear:
        return Linear.of(self._float32(f"{name}.weight"), self._float32(f"{name}.bias"))

    def _norm(self, name: str) -> Norm:
        return Norm(self._float32(f"{name}.weight"), self._float32(f"{name}.bias"))

    def _float32(self, name: str) -> F32:
        return self.weights[name].astype(np.float32)

    def _embeddings(self, name: str, rows: npt.NDArray[Any]) -> F32:
        embeddings: F32 = self.weights[name][rows].astype(np.float32)
        if (factor := FACTOR.format(name)) in self.weights:
            embeddings *= self.weights[factor][rows]
        return embeddings

    @cached_property
    def native(self) -> _core.Parser:
        """The same parser in the native core, for words of up to LONGEST_WORD letters."""
        characters = "".join(self.characters)
        parser: _core.Parser = core().Parser(self.weights, self.heads, characters, self.morphemes)
        return parser

    # ---- serialization

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The parser as plain arrays, for saving."""
        characters, morphemes = self.characters, self.morphemes
        return {
            **self.weights,
            "heads": np.array([self.heads], dtype=np.int32),
            "characters": np.frombuffer("".join(characters).encode(), dtype=np.uint8),
            "morphemes": np.frombuffer("".join(morphemes).encode(), dtype=np.uint8),
            "morpheme_lengths": np.array([len(morpheme) for morpheme in morphemes], dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> ParserTrees:
        """The inverse of `arrays`; raises TreetokError if the arrays do not form a valid parser."""
        weights = dict(arrays)
        try:
            heads, characters = weights.pop("heads"), weights.pop("characters")
            morphemes, lengths = weights.pop("morphemes"), weights.pop("morpheme_lengths")
        except KeyError as error:
            raise TreetokError(f"the parser has no {error}") from None
        if heads.dtype != np.int32 or heads.shape != (1,):
            raise TreetokError("the parser's number of heads is not a single integer")
        for array in (characters, morphemes, lengths):
            if array.dtype != np.uint8 or array.ndim != 1:
                raise TreetokError(
                    "the characters and morphemes of the parser are not one-dimensional arrays of bytes"
                )
        # Before strings are made of them, which take many times as much memory.
        if lengths.min(initial=2) < 2:
            raise TreetokError("a morpheme has fewer than two characters")
        if len(characters) > MAX_CHARACTER_BYTES:
            raise TreetokError("the parser has more characters than there are")
        try:
            strings = strings_of(morphemes, lengths)
            if strings is None:
                raise TreetokError("the morphemes of the parser do not match their lengths")
            return cls(weights, int(heads[0]), list(characters.tobytes().decode()), strings)
        except UnicodeDecodeError:
            raise TreetokError("the characters and morphemes of the parser are not UTF-8") from None

    # ---- scores

    def split_scores(self, words: Sequence[str]) -> list[F32]:
        """Split scores of every word; each span is split at its highest score."""
        scores: list[F32] = [np.zeros(0, dtype=np.float32)] * len(words)
        numbers_by_length: dict[int, list[int]] = {}
        for number, word in enumerate(words):
            if len(word) > LONGEST_WORD:
                scores[number] = self._scores_of_long_word(word)
            elif len(word) > 1:
                numbers_by_length.setdefault(len(word), []).append(number)
        for length, numbers in numbers_by_length.items():
            for batch in batches(numbers, max(LETTERS_PER_BATCH // length, 1)):
                found = self._scores_of_equal_length([words[number] for number in batch], length)
                for number, of_word in zip(batch, found, strict=True):
                    scores[number] = of_word
        return scores

    def _scores_of_long_word(self, word: str) -> F32:
        """Words in text are never this long. Split at fixed positions, to keep time and memory linear."""
        pieces = [word[start : start + LONGEST_WORD] for start in range(0, len(word), LONGEST_WORD)]
        scores = self.split_scores(pieces)
        above_all = np.array([max(float(s.max(initial=0)) for s in scores) + 1], dtype=np.float32)
        return np.concatenate([part for piece in scores for part in (above_all, piece)][1:])

    def _scores_of_equal_length(self, words: list[str], length: int) -> F32:
        x_ND = self._letter_embeddings(words, length)
        # Weights from an untrusted file may overflow; the caller checks the scores.
        with np.errstate(over="ignore", invalid="ignore"):
            for layer in self._layers:
                qkv_ND = layer.qkv(layer.norm_before_attention(x_ND))
                mixed_WLD = attention(qkv_ND.reshape(len(words), length, -1), self.heads)
                x_ND += layer.attended(mixed_WLD.reshape(x_ND.shape))
                x_ND += layer.output(gelu(layer.hidden(layer.norm_before_hidden(x_ND))))
            x_ND = self._last_norm(x_ND)
            left_WLD, right_WLD = np.split(self._pair_hidden(x_ND).reshape(len(words), length, -1), 2, axis=2)
            hidden_WSD = left_WLD[:, :-1] + right_WLD[:, 1:]
            score_S1 = self._pair_score(gelu(hidden_WSD.reshape(len(words) * (length - 1), -1)))
            return score_S1.reshape(len(words), length - 1)

    def _letter_embeddings(self, words: list[str], length: int) -> F32:
        """The sums of all embeddings that belong to a letter, always added in the same order."""
        x_ND = self._embeddings("letter", self.features.characters_in(words))
        from_start = np.minimum(np.arange(length), len(self.weights["place_from_start"]) - 1)
        place_LD = self._embeddings("place_from_start", from_start)
        place_LD += self._embeddings("place_from_end", from_start[::-1])
        x_ND.reshape(len(words), length, -1)[...] += place_LD
        for width, first, row in self.features.morphemes_in(words):
            # At most one morpheme of a given width begins at each letter, so the indices in `first` are distinct.
            x_ND[first] += self._embeddings("begin", row)
            if width > 2:
                inside_MD = self._embeddings("inside", row)
                for inner in range(1, width - 1):
                    x_ND[first + inner] += inside_MD
            x_ND[first + width - 1] += self._embeddings("end", row)
        return x_ND


def with_rounded_tables(weights: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The same weights with the morpheme embeddings quantized to small integers."""
    rounded = dict(weights)
    for name in MORPHEME_TABLES:
        table = weights[name].astype(np.float32)
        factor = (np.abs(table).max(1, keepdims=True, initial=0) / LARGEST_INTEGER).astype(np.float16)
        # All-zero vectors.
        factor[factor == 0] = 1
        quantized = np.rint(table / factor.astype(np.float32))
        rounded[name] = quantized.clip(-LARGEST_INTEGER, LARGEST_INTEGER).astype(np.int8)
        rounded[FACTOR.format(name)] = factor
    return rounded


def strings_of(utf8: npt.NDArray[np.uint8], lengths: npt.NDArray[np.uint8]) -> list[str] | None:
    """Strings that follow each other, given how many characters each has; None if there are more or fewer.

    >>> strings_of(np.frombuffer("añb".encode(), np.uint8), np.array([2, 1], np.uint8))
    ['añ', 'b']
    """
    if why_not_native() is None:
        strings: list[str] | None = core().strings_of(utf8, lengths)
        return strings
    text = utf8.tobytes().decode()
    ends = list(accumulate(lengths.tolist(), initial=0))
    return [text[start:end] for start, end in pairwise(ends)] if ends[-1] == len(text) else None


def batches(numbers: list[int], size: int) -> Iterator[list[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def check_strings(characters: Sequence[str], morphemes: Sequence[str]) -> None:
    if set(map(len, characters)) - {1} or min(map(len, morphemes), default=2) < 2:
        raise TreetokError("a character of the parser is not a single character, or a morpheme has fewer than two")
    for strings, name in ((characters, "characters"), (morphemes, "morphemes")):
        if any(map(operator.ge, strings, strings[1:])):
            raise TreetokError(f"the {name} of the parser are not sorted")


def number_of_layers(weights: Mapping[str, Any]) -> int:
    return len([name for name in weights if name.startswith("layers.") and name.endswith(".qkv.weight")])


def expected_shapes(
    weights: Mapping[str, npt.NDArray[Any]], heads: int, characters: int, morphemes: int
) -> dict[str, tuple[int, ...]]:
    """The expected shape of every array of a parser, with its sizes inferred from a few of them."""
    try:
        d = weights["last_norm.weight"].shape[0]
        hidden = weights["pair_hidden.bias"].shape[0]
        max_position = weights["place_from_start"].shape[0]
    except (KeyError, IndexError):
        raise TreetokError("the parser is missing weights") from None
    layers = number_of_layers(weights)
    if not (
        0 < d <= MAX_WIDTH
        and 0 < hidden <= MAX_WIDTH
        and 0 < max_position <= MAX_POSITIONS
        and layers <= MAX_LAYERS
    ):
        raise TreetokError(
            f"the sizes of the parser are out of range: {layers} layers, {d} and {hidden} dimensions,"
            f" {max_position} positions"
        )
    if heads < 1 or d % heads:
        raise TreetokError(f"{heads} heads do not divide the {d} dimensions of the parser")
    rows = morphemes + 1 if morphemes else 0
    shapes: dict[str, tuple[int, ...]] = {
        "letter": (characters + FIRST_CHARACTER, d),
        "place_from_start": (max_position, d),
        "place_from_end": (max_position, d),
    }
    for table in MORPHEME_TABLES:
        shapes[table] = (rows, d)
        if (factor := FACTOR.format(table)) in weights:
            shapes[factor] = (rows, 1)
    linears = {"pair_hidden": (hidden, 2 * d), "pair_score": (1, hidden)}
    norms = ["last_norm"]
    for n in range(layers):
        layer = f"layers.{n}"
        norms += [f"{layer}.norm_before_attention", f"{layer}.norm_before_hidden"]
        linears |= {f"{layer}.qkv": (3 * d, d), f"{layer}.attended": (d, d)}
        linears |= {f"{layer}.hidden": (hidden, d), f"{layer}.output": (d, hidden)}
    for name in norms:
        shapes |= {f"{name}.weight": (d,), f"{name}.bias": (d,)}
    for name, shape in linears.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes

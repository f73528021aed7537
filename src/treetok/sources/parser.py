"""Trees from the light parser, in pure numpy: a small transformer over the letters of a word.

Tested to give the same scores as `treetok.model.network.parser`. Weights are stored in 16 bits and used in 32; the
morpheme embeddings, which are most of the weights, may be stored as small integers with one scale per morpheme.

Products are computed in tiles of a fixed shape (`parser_layers.py`), so that the scores of a word depend neither
on the other words of a call nor on the number of threads.

Shapes: W words of equal length, L letters, N = W * L rounded up to whole tiles, H heads, D dimensions, M morphemes
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError
from treetok.sources.parser_features import FIRST_CHARACTER, LetterFeatures
from treetok.sources.parser_layers import F32, gelu, linear, norm, product, rows_in_tiles
from treetok.text.word_limit import LONGEST_WORD

# Bounds the memory of a batch and keeps it in cache.
LETTERS_PER_BATCH = 4096
# Far above any sensible parser; a damaged file must not allocate gigabytes.
MAX_LAYERS, MAX_WIDTH, MAX_POSITIONS = 64, 4096, 4096
MORPHEME_TABLES = ("begin", "inside", "end")
FACTOR = "{}.factor"
# Six bits: agreement with the teacher on unseen words is the same as with sixteen (docs/lab-notes.md).
LARGEST_INTEGER = 31


@dataclass(frozen=True)
class Layer:
    norm_before_attention: tuple[F32, F32]
    qkv: tuple[F32, F32]
    attended: tuple[F32, F32]
    norm_before_hidden: tuple[F32, F32]
    hidden: tuple[F32, F32]
    output: tuple[F32, F32]


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
            if not np.isfinite(array).all():
                raise TreetokError(f"the weights {name} of the parser are not all finite")
        self.weights, self.heads = dict(weights), heads
        self.characters, self.morphemes = characters, morphemes

    def __reduce__(self) -> tuple[Any, ...]:
        return ParserTrees, (self.weights, self.heads, self.characters, self.morphemes)

    # Computed at the first unseen word, to keep loading fast.

    @cached_property
    def features(self) -> LetterFeatures:
        return LetterFeatures(self.characters, self.morphemes, max(map(len, self.morphemes), default=0))

    @cached_property
    def _float32(self) -> dict[str, F32]:
        arrays = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in self.weights.items()}
        for table in MORPHEME_TABLES:
            if (factor := FACTOR.format(table)) in arrays:
                arrays[table] *= arrays[factor]
        return arrays

    @cached_property
    def _layers(self) -> list[Layer]:
        return [
            Layer(**{part: self._pair_of(f"layers.{n}.{part}") for part in Layer.__dataclass_fields__})
            for n in range(number_of_layers(self.weights))
        ]

    def _pair_of(self, name: str) -> tuple[F32, F32]:
        return weight_and_bias(self._float32, name)

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
        try:
            text = morphemes.tobytes().decode()
            ends = list(accumulate(lengths.tolist(), initial=0))
            if ends[-1] != len(text):
                raise TreetokError("the morphemes of the parser do not match their lengths")
            return cls(
                weights,
                int(heads[0]),
                list(characters.tobytes().decode()),
                [text[start:end] for start, end in pairwise(ends)],
            )
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
        letters = len(words) * length
        # Rows beyond the letters are padding.
        x_ND = np.zeros((rows_in_tiles(letters), self._float32["letter"].shape[1]), dtype=np.float32)
        x_ND[:letters] = self._float32["letter"][self.features.characters_in(words)]
        from_start, from_end = self._float32["place_from_start"], self._float32["place_from_end"]
        at = np.arange(length)
        place_LD = (
            from_start[np.minimum(at, len(from_start) - 1)] + from_end[np.minimum(at[::-1], len(from_end) - 1)]
        )
        x_ND[:letters].reshape(len(words), length, -1)[...] += place_LD
        for width, first, row in self.features.morphemes_in(words):
            # At most one morpheme of a given width begins at each letter, so the indices in `first` are distinct.
            x_ND[first] += self._float32["begin"][row]
            if width > 2:
                inside_MD = self._float32["inside"][row]
                for inner in range(1, width - 1):
                    x_ND[first + inner] += inside_MD
            x_ND[first + width - 1] += self._float32["end"][row]
        # Weights from an untrusted file may overflow; the caller checks the scores.
        with np.errstate(over="ignore", invalid="ignore"):
            for layer in self._layers:
                x_ND += self._attend(layer, norm(x_ND, layer.norm_before_attention), len(words), length)
                hidden = gelu(linear(norm(x_ND, layer.norm_before_hidden), layer.hidden))
                x_ND += linear(hidden, layer.output)
            x_ND = norm(x_ND, self._pair_of("last_norm"))
            weight, bias = self._pair_of("pair_hidden")
            d = x_ND.shape[-1]
            # The matrix applied to [h_p ; h_p+1] is applied to h_p and h_p+1 separately.
            hidden_ND = product(x_ND, weight[:d])
            hidden_ND[:-1] += product(x_ND, weight[d:])[1:]
            hidden_ND += bias
            score_N = linear(gelu(hidden_ND), self._pair_of("pair_score"))[:letters, 0]
            # The last letter of a word was paired with whatever follows it.
            return score_N.reshape(len(words), length)[:, :-1]

    def _attend(self, layer: Layer, x_ND: F32, words: int, length: int) -> F32:
        """Full self-attention over the letters of each word."""
        letters = words * length
        qkv = linear(x_ND, layer.qkv)[:letters].reshape(words, length, 3, self.heads, -1)
        q_WHLd, k_WHLd, v_WHLd = qkv.transpose(2, 0, 3, 1, 4)
        weight_WHLL = (q_WHLd * np.float32(q_WHLd.shape[-1] ** -0.5)) @ k_WHLd.transpose(0, 1, 3, 2)
        weight_WHLL -= weight_WHLL.max(-1, keepdims=True)
        np.exp(weight_WHLL, out=weight_WHLL)
        weight_WHLL /= weight_WHLL.sum(-1, keepdims=True)
        mixed_ND = np.zeros_like(x_ND)
        mixed_ND[:letters] = (weight_WHLL @ v_WHLd).transpose(0, 2, 1, 3).reshape(letters, -1)
        return linear(mixed_ND, layer.attended)


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


def batches(numbers: list[int], size: int) -> Iterator[list[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def weight_and_bias(weights: Mapping[str, F32], name: str) -> tuple[F32, F32]:
    """The transposed weight matrix (for `x @ weight`) and the bias."""
    return np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"]


def check_strings(characters: Sequence[str], morphemes: Sequence[str]) -> None:
    if any(len(character) != 1 for character in characters) or any(len(morpheme) < 2 for morpheme in morphemes):
        raise TreetokError("a character of the parser is not a single character, or a morpheme has fewer than two")
    for strings, name in ((characters, "characters"), (morphemes, "morphemes")):
        if any(one >= other for one, other in pairwise(strings)):
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

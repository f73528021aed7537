"""File formats of the artefacts of stages: words as readable text, arrays as safetensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from treetok.corpus.word_ids import WordSequence
from treetok.lexicon import Lexicon
from treetok.sources.parser import ParserTrees
from treetok.storage.load import lexicon_of_arrays
from treetok.storage.save import lexicon_as_bytes
from treetok.storage.vocab_tsv import escape_token, unescape_token

Value = TypeVar("Value")


@dataclass(frozen=True)
class Format(Generic[Value]):
    """How an artefact is converted to bytes and back."""

    dump: Callable[[Value], bytes]
    load: Callable[[bytes], Value]


def dump_counts(counts: Mapping[str, int]) -> bytes:
    r"""
    >>> dump_counts({"tree": 3, "a\n": 1}).decode()
    'tree\t3\na\\u000a\t1\n'
    """
    plain = str.isprintable
    return "".join(
        f"{word if plain(word) and chr(92) not in word else escape_token(word)}\t{count}\n"
        for word, count in counts.items()
    ).encode()


def load_counts(content: bytes) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in content.decode().split("\n")[:-1]:
        word, _, count = line.rpartition("\t")
        counts[str(unescape_token(word)) if "\\" in word else word] = int(count)
    return counts


def strings_as_arrays(strings: Sequence[str], name: str) -> dict[str, npt.NDArray[Any]]:
    return {
        f"{name}_text": np.frombuffer("".join(strings).encode(), dtype=np.uint8),
        f"{name}_lengths": np.array([len(string) for string in strings], dtype=np.int32),
    }


def strings_of_arrays(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> list[str]:
    text = arrays[f"{name}_text"].tobytes().decode()
    ends = accumulate(arrays[f"{name}_lengths"].tolist(), initial=0)
    return [text[start:end] for start, end in pairwise(ends)]


def dump_sequence(sequence: WordSequence) -> bytes:
    return safetensors.numpy.save({"ids": sequence.numbers, **strings_as_arrays(sequence.words, "words")})


def load_sequence(content: bytes) -> WordSequence:
    arrays = safetensors.numpy.load(content)
    return WordSequence(strings_of_arrays(arrays, "words"), arrays["ids"])


def dump_trees(scores: Mapping[str, Sequence[float]]) -> bytes:
    return lexicon_as_bytes(Lexicon.from_scores({word: s for word, s in scores.items() if len(word) > 1}))


def load_trees(content: bytes) -> dict[str, list[int]]:
    """The split scores of every word, as negative depths."""
    lexicon = lexicon_of_arrays(safetensors.numpy.load(content))
    return lexicon_scores(lexicon)


def lexicon_scores(lexicon: Lexicon) -> dict[str, list[int]]:
    """All words of a lexicon and their split scores."""
    depths = (-lexicon.depths.astype(np.int64)).tolist()
    ends = accumulate((lexicon.lengths.astype(np.int64) - 1).tolist(), initial=0)
    spans = pairwise(ends)
    return {word: depths[start:end] for word, (start, end) in zip(lexicon.words(), spans, strict=True)}


WORD_COUNTS: Format[Mapping[str, int]] = Format(dump_counts, load_counts)
WORD_IDS = Format(dump_sequence, load_sequence)
TREES: Format[Mapping[str, Sequence[float]]] = Format(dump_trees, load_trees)
PARSER: Format[ParserTrees] = Format(
    lambda parser: safetensors.numpy.save(parser.arrays()),
    lambda content: ParserTrees.from_arrays(safetensors.numpy.load(content)),
)
JSON: Format[Any] = Format(
    lambda value: (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode(),
    lambda content: json.loads(content.decode()),
)
STRINGS: Format[list[str]] = Format(
    lambda strings: "".join(f"{escape_token(string)}\n" for string in strings).encode(),
    lambda content: [str(unescape_token(line)) for line in content.decode().split("\n")[:-1]],
)
BYTES: Format[bytes] = Format(lambda content: content, lambda content: content)

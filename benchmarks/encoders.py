"""The libraries whose encoding is measured: how each is loaded, and the fastest calls it has for each task.

Only the library that is used is imported, and numpy only where its arrays are asked for: a fresh process measures
what a user of that library waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from rival_vocabularies import BPE, SENTENCEPIECE, TIKTOKEN, UNIGRAM, WORDPIECE

# What is measured. Lists are Python lists of ids, arrays are numpy arrays (or buffers that numpy reads).
TASKS = {
    "line": "lists, line by line",
    "batch": "lists, batch",
    "flat": "array, from a list of lines",
    "text": "array, from one string",
    "file": "array, from a file",
}

# One of the tasks: a line, a list of lines, a text or a path in, ids out.
Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Library:
    """`load` gets the folder of vocabularies, and returns the call for each task that the library can do."""

    title: str
    package: str
    module: str
    load: Callable[[Path], dict[str, Call]]
    # What a user writes, for the documentation; `tok` is the tokenizer.
    calls: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    # Whether it has the BPE that all libraries of BPE are given, so that ids must be equal.
    shared_bpe: bool = False
    # The task that takes a fresh process less time, of `line` and `batch`.
    first_touch: str = "batch"


def load_treetok(folder: Path) -> dict[str, Call]:
    from treetok import TreeTokenizer

    tokenizer = TreeTokenizer.load("en")

    return {
        "line": tokenizer.encode,
        "batch": lambda lines: tokenizer.encode_batch(lines, threads=1),
        "flat": lambda lines: tokenizer.encode_flat(lines, threads=1)[0],
        "two threads": lambda lines: tokenizer.encode_flat(lines, threads=2)[0],
        "text": lambda text: tokenizer.encode_flat([text], threads=1)[0],
        "file": lambda path: tokenizer.encode_file(path, threads=1),
    }


def load_hugging_face(name: str) -> Callable[[Path], dict[str, Call]]:
    def load(folder: Path) -> dict[str, Call]:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / name))

        def batch(lines: list[str]) -> list[list[int]]:
            return [encoding.ids for encoding in tokenizer.encode_batch_fast(lines)]

        return {
            "line": lambda line: tokenizer.encode(line).ids,
            "batch": batch,
            "flat": lambda lines: array_of(batch(lines)),
            "text": lambda text: array_of(batch([text])),
        }

    return load


def load_sentencepiece(folder: Path) -> dict[str, Call]:
    from sentencepiece import SentencePieceProcessor

    encode = SentencePieceProcessor(model_file=str(folder / SENTENCEPIECE)).encode

    def flat(lines: list[str]) -> Any:
        import numpy as np

        return np.concatenate(encode(lines, num_threads=1, return_type="numpy"))

    return {
        "line": encode,
        "batch": lambda lines: encode(lines, num_threads=1),
        "flat": flat,
        "text": lambda text: encode(text, return_type="numpy"),
    }


def load_tiktoken(folder: Path) -> dict[str, Call]:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext.openai_public import r50k_pat_str

    ranks = load_tiktoken_bpe(str(folder / TIKTOKEN))
    encoding = tiktoken.Encoding("bpe", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={})

    encode = encoding.encode_ordinary
    return {
        "line": encode,
        "batch": lambda lines: encoding.encode_ordinary_batch(lines, num_threads=1),
        # `encode_to_numpy` looks for special tokens, which takes longer than going through lists.
        "flat": lambda lines: array_of(list(map(encode, lines))),
        "text": lambda text: array_of([encode(text)]),
    }


def load_fastokens(folder: Path) -> dict[str, Call]:
    from fastokens import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / BPE))

    def flat(lines: list[str]) -> Any:
        import numpy as np

        return np.frombuffer(tokenizer.encode_batch_flat(lines)[0], np.uint32)

    return {
        "line": lambda line: tokenizer.encode(line).ids,
        "batch": lambda lines: [encoding.ids for encoding in tokenizer.encode_batch(lines)],
        "flat": flat,
        "text": lambda text: flat([text]),
    }


def load_tokie(folder: Path) -> dict[str, Call]:
    from tokie import Tokenizer

    tokenizer = Tokenizer.from_json(str(folder / BPE))
    return {
        "line": lambda line: tokenizer.encode(line).ids,
        "batch": lambda lines: [encoding.ids for encoding in tokenizer.encode_batch(lines)],
        "flat": lambda lines: tokenizer.encode_batch_flat(lines)[0],
        "text": lambda text: tokenizer.encode_batch_flat([text])[0],
        "file": lambda path: tokenizer.encode_files([str(path)])[0],
    }


def load_splintr(folder: Path) -> dict[str, Call]:
    from splintr import from_json

    tokenizer = from_json(str(folder / BPE))

    def flat(lines: list[str]) -> Any:
        import numpy as np

        return np.frombuffer(tokenizer.encode_batch_flat(lines)[0], np.uint32)

    def text(text: str) -> Any:
        import numpy as np

        return np.frombuffer(tokenizer.encode_flat(text), np.uint32)

    return {"line": tokenizer.encode, "batch": tokenizer.encode_batch, "flat": flat, "text": text}


def load_gigatoken(folder: Path) -> dict[str, Call]:
    import gigatoken

    tokenizer = gigatoken.Tokenizer(folder / BPE)
    encode = tokenizer.encode

    def ids_of(ragged: Any) -> Any:
        # Without a copy: an awkward array is one array of ids, and offsets.
        return ragged.layout.content.data

    def from_file(path: Path) -> Any:
        # With lines as documents it is slower.
        return ids_of(tokenizer.encode_files(gigatoken.TextFileSource([path]), parallel=False))

    return {
        # `encode_batch_list` of one line is slower.
        "line": lambda line: encode(line).tolist(),
        "batch": lambda lines: tokenizer.encode_batch_list(lines, parallel=False),
        "flat": lambda lines: ids_of(tokenizer.encode_batch(lines, parallel=False)),
        "text": encode,
        "file": from_file,
    }


def array_of(lists: list[list[int]]) -> Any:
    """One array of all ids, for libraries that make lists alone."""
    import numpy as np

    return np.fromiter(chain.from_iterable(lists), np.uint32, count=sum(map(len, lists)))


TREETOK_CALLS = {
    "line": "tok.encode(line)",
    "batch": "tok.encode_batch(lines, threads=1)",
    "flat": "tok.encode_flat(lines, threads=1)",
    "text": "tok.encode_flat([text], threads=1)",
    "file": "tok.encode_file(path, threads=1)",
}
# Of the faster of `line` and `batch`.
THROUGH_LISTS = "np.fromiter(chain.from_iterable(lists), np.uint32)"
HUGGING_FACE_CALLS = {
    "line": "tok.encode(line).ids",
    "batch": "[e.ids for e in tok.encode_batch_fast(lines)]",
    "flat": THROUGH_LISTS,
    "text": THROUGH_LISTS,
}
LIBRARIES = {
    "treetok": Library("treetok `en`", "treetok", "treetok", load_treetok, TREETOK_CALLS),
    "reference": Library(
        "treetok `en`, plain Python", "treetok", "treetok", load_treetok, TREETOK_CALLS, {"TREETOK_NATIVE": "0"}
    ),
    "hf-bpe": Library(
        "HF tokenizers, BPE",
        "tokenizers",
        "tokenizers",
        load_hugging_face(BPE),
        HUGGING_FACE_CALLS,
        shared_bpe=True,
    ),
    "hf-wordpiece": Library(
        "HF tokenizers, WordPiece", "tokenizers", "tokenizers", load_hugging_face(WORDPIECE), HUGGING_FACE_CALLS
    ),
    "hf-unigram": Library(
        "HF tokenizers, Unigram", "tokenizers", "tokenizers", load_hugging_face(UNIGRAM), HUGGING_FACE_CALLS
    ),
    "sentencepiece": Library(
        "SentencePiece, unigram",
        "sentencepiece",
        "sentencepiece",
        load_sentencepiece,
        {
            "line": "tok.encode(line)",
            "batch": "tok.encode(lines, num_threads=1)",
            "flat": 'np.concatenate(tok.encode(lines, num_threads=1, return_type="numpy"))',
            "text": 'tok.encode(text, return_type="numpy")',
        },
    ),
    "tiktoken": Library(
        "tiktoken, BPE",
        "tiktoken",
        "tiktoken",
        load_tiktoken,
        {
            "line": "tok.encode_ordinary(line)",
            "batch": "tok.encode_ordinary_batch(lines, num_threads=1)",
            "flat": THROUGH_LISTS,
            "text": THROUGH_LISTS,
        },
        # Its cache would answer with an older vocabulary of the same path.
        {"TIKTOKEN_CACHE_DIR": ""},
        shared_bpe=True,
        first_touch="line",
    ),
    "fastokens": Library(
        "fastokens, BPE",
        "fastokens",
        "fastokens",
        load_fastokens,
        {
            "line": "tok.encode(line).ids",
            "batch": "[e.ids for e in tok.encode_batch(lines)]",
            "flat": "np.frombuffer(tok.encode_batch_flat(lines)[0], np.uint32)",
            "text": "np.frombuffer(tok.encode_batch_flat([text])[0], np.uint32)",
        },
        shared_bpe=True,
    ),
    "tokie": Library(
        "tokie, BPE",
        "tokie",
        "tokie",
        load_tokie,
        {
            "line": "tok.encode(line).ids",
            "batch": "[e.ids for e in tok.encode_batch(lines)]",
            "flat": "tok.encode_batch_flat(lines)",
            "text": "tok.encode_batch_flat([text])",
            "file": "tok.encode_files([path])",
        },
        shared_bpe=True,
    ),
    "splintr": Library(
        "splintr, BPE",
        "splintr-rs",
        "splintr",
        load_splintr,
        {
            "line": "tok.encode(line)",
            "batch": "tok.encode_batch(lines)",
            "flat": "np.frombuffer(tok.encode_batch_flat(lines)[0], np.uint32)",
            "text": "np.frombuffer(tok.encode_flat(text), np.uint32)",
        },
        shared_bpe=True,
    ),
    "gigatoken": Library(
        "gigatoken, BPE",
        "gigatoken",
        "gigatoken",
        load_gigatoken,
        {
            "line": "tok.encode(line).tolist()",
            "batch": "tok.encode_batch_list(lines, parallel=False)",
            "flat": "tok.encode_batch(lines, parallel=False).layout.content.data",
            "text": "tok.encode(text)",
            "file": "tok.encode_files(TextFileSource([path]), parallel=False)",
        },
        shared_bpe=True,
        # Batches import another large library, even for lists.
        first_touch="line",
    ),
}

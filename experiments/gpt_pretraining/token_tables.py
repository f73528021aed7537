"""The ids of every word of a text by several tokenizers, for machines on which these cannot be run.

All tokenizers split text into the same words, and the ids of a word do not depend on its neighbours.
"""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treetok.errors import TreetokError
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer

Ids = npt.NDArray[np.uint32]

# Between documents.
END = 0
WORDS, TABLES = "words.json.xz", ".table.xz"


@dataclass(frozen=True)
class TokenTable:
    """The ids of word w are `flat[first[w] : first[w + 1]]`; ids count from 1, and 0 ends a document.

    entries: the size of the vocabulary, without the end of a document.
    settings: what is known of the tokenizer.
    """

    name: str
    entries: int
    flat: Ids
    first: npt.NDArray[np.int64]
    settings: dict[str, Any]

    def encode(self, words: npt.NDArray[np.int32]) -> Ids:
        """The ids of a text given as numbers of words, of which -1 is the end of a document.

        >>> table = TokenTable("", 9, np.array([7, 8, 9], np.uint32), np.array([0, 2, 3]), {})
        >>> table.encode(np.array([1, 0, -1], np.int32)).tolist()
        [9, 7, 8, 0]
        """
        # The end of a document is a word of its own behind the others.
        flat = np.append(self.flat, np.uint32(END))
        first = np.append(self.first, len(flat))
        lengths = np.diff(first)[words]
        starts = np.cumsum(lengths) - lengths
        within = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
        ids: Ids = flat[np.repeat(first[:-1][words], lengths) + within]
        return ids

    def save(self, path: Path) -> None:
        head = {"name": self.name, "entries": self.entries, "settings": self.settings}
        content = io.BytesIO()
        lengths = np.diff(self.first).astype(np.uint16)
        np.savez(content, head=np.array(json.dumps(head)), flat=self.flat, lengths=lengths)
        path.write_bytes(lzma.compress(content.getvalue()))

    @classmethod
    def load(cls, path: Path) -> TokenTable:
        with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as content:
            head = json.loads(str(content["head"]))
            first = np.concatenate([[0], np.cumsum(content["lengths"], dtype=np.int64)])
            return cls(head["name"], head["entries"], content["flat"], first, head["settings"])


def table_of(tokenizer: EvalTokenizer, words: Sequence[str], settings: dict[str, Any]) -> TokenTable:
    """Segment all words with a tokenizer."""
    if isinstance(tokenizer, NamedTreeTokenizer):
        flat, first = tokenizer.tokenizer.encode_flat(list(words))
        entries = tokenizer.tokenizer.vocab_size
        return TokenTable(tokenizer.name, entries, flat + np.uint32(1), first.astype(np.int64), settings)
    numbers: dict[str, int] = {}
    ids: list[int] = []
    lengths = []
    for word in words:
        tokens = tokenizer.tokenize(word)
        ids += [numbers.setdefault(token, len(numbers) + 1) for token in tokens]
        lengths.append(len(tokens))
    entries = max(len(numbers), tokenizer.vocabulary_size or 0)
    first_of_words = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return TokenTable(tokenizer.name, entries, np.array(ids, np.uint32), first_of_words, settings)


def save_words(words: Sequence[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WORDS).write_bytes(lzma.compress(json.dumps(list(words), ensure_ascii=False).encode()))


def load_words(folder: Path) -> list[str]:
    path = folder / WORDS
    if not path.exists():
        raise TreetokError(f"{path} is missing: --prepare makes it")
    words: list[str] = json.loads(lzma.decompress(path.read_bytes()))
    return words


def load_tables(folder: Path) -> list[TokenTable]:
    return [TokenTable.load(path) for path in sorted(folder.glob(f"*{TABLES}"))]


def distinct_words(texts: Iterable[list[str]]) -> list[str]:
    return sorted({word for words in texts for word in words})

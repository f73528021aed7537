"""The ids of every word of a text by several tokenizers, for machines on which these cannot be run.

All tokenizers split text into the same words, and the ids of a word do not depend on its neighbours.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpt_pretraining.documents import hash_of
from treetok.errors import TreetokError
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from whole_file import write_whole

Ids = npt.NDArray[np.uint32]

# Between documents.
END = 0
WORDS, TABLES = "words.json.xz", ".table.xz"


@dataclass(frozen=True)
class TokenTable:
    """The ids of word w are `flat[first[w] : first[w + 1]]`; ids count from 1, and 0 ends a document.

    entries: the size of the vocabulary, without the end of a document.
    tokenizer: what identifies the tokenizer.
    words: what identifies the words (`hash_of`).
    """

    name: str
    entries: int
    flat: Ids
    first: npt.NDArray[np.int64]
    tokenizer: str = ""
    words: str = ""

    @cached_property
    def sha256(self) -> str:
        """What identifies the ids."""
        return hashlib.sha256(self.flat.tobytes() + self.first.tobytes()).hexdigest()[:16]

    def encode(self, words: npt.NDArray[np.int32]) -> Ids:
        """The ids of a text given as numbers of words, of which -1 is the end of a document.

        >>> table = TokenTable("", 9, np.array([7, 8, 9], np.uint32), np.array([0, 2, 3]))
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
        head = {name: getattr(self, name) for name in ("name", "entries", "tokenizer", "words")}
        content = io.BytesIO()
        lengths = np.diff(self.first).astype(np.uint16)
        np.savez(content, head=np.array(json.dumps(head)), flat=self.flat, lengths=lengths)
        write_whole(path, lzma.compress(content.getvalue()))

    @classmethod
    def load(cls, path: Path) -> TokenTable:
        try:
            with np.load(io.BytesIO(lzma.decompress(path.read_bytes())), allow_pickle=False) as content:
                head = json.loads(str(content["head"]))
                first = np.concatenate([[0], np.cumsum(content["lengths"], dtype=np.int64)])
                table = cls(flat=content["flat"], first=first, **head)
            if first[-1] != len(table.flat) or not table.flat.size or table.flat.max() > table.entries:
                raise ValueError("its parts do not fit")
        except (lzma.LZMAError, zipfile.BadZipFile, EOFError, ValueError, KeyError, TypeError) as error:
            raise TreetokError(f"{path} is damaged ({error}): remove it, and --prepare makes it again") from None
        return table


def table_of(tokenizer: EvalTokenizer, words: Sequence[str], identity: str = "") -> TokenTable:
    """Segment all words with a tokenizer."""
    of_words = hash_of(words)
    if isinstance(tokenizer, NamedTreeTokenizer):
        flat, first = tokenizer.tokenizer.encode_flat(list(words))
        entries = tokenizer.tokenizer.vocab_size
        return TokenTable(tokenizer.name, entries, flat + np.uint32(1), first.astype(np.int64), identity, of_words)
    numbers: dict[str, int] = {}
    ids: list[int] = []
    lengths = []
    for word in words:
        tokens = tokenizer.tokenize(word)
        ids += [numbers.setdefault(token, len(numbers) + 1) for token in tokens]
        lengths.append(len(tokens))
    entries = max(len(numbers), tokenizer.vocabulary_size or 0)
    first_of_words = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return TokenTable(tokenizer.name, entries, np.array(ids, np.uint32), first_of_words, identity, of_words)


def save_words(words: Sequence[str], folder: Path) -> None:
    write_whole(folder / WORDS, lzma.compress(json.dumps(list(words), ensure_ascii=False).encode()))


def load_words(folder: Path) -> list[str]:
    path = folder / WORDS
    if not path.exists():
        raise TreetokError(f"{path} is missing: --prepare makes it")
    try:
        words: list[str] = json.loads(lzma.decompress(path.read_bytes()))
    except (lzma.LZMAError, ValueError) as error:
        raise TreetokError(f"{path} is damaged ({error}): remove {folder}, and --prepare makes it again") from None
    return words


def load_tables(folder: Path, words: Sequence[str]) -> list[TokenTable]:
    """All tables in a folder; an error if one is of other words."""
    paths = sorted(folder.glob(f"*{TABLES}"))
    if not paths:
        raise TreetokError(f"{folder} has no tables of tokenizers: --prepare makes them of --model and --baseline")
    of_words = hash_of(words)
    return [checked_table(path, of_words) for path in paths]


def checked_table(path: Path, of_words: str) -> TokenTable:
    table = TokenTable.load(path)
    if table.words != of_words:
        raise TreetokError(f"{path} is of other words than {WORDS}: choose another --folder, or remove this one")
    return table


def distinct_words(texts: Iterable[list[str]]) -> list[str]:
    return sorted({word for words in texts for word in words})

"""Small tokenizers of every kind, as the files that they are on disk, and what holds for whatever is in these
files: loading raises TreetokError, or the tokenizer works, natively as in plain Python."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from treetok import TreeTokenizer, TreetokError
from treetok.native import SWITCH
from treetok.sources.parser import ParserTrees, expected_shapes

HEAD = "treetok.json"
SAMPLE = "The unwalked walkers walked, JUMPING über 1234567 東京 👩‍💻s.\n\tLooks like jumpers' x" + "y" * 70
WORDS = {stem + ending: 5 for stem in (" walk", " jump", "look") for ending in ("", "s", "ed", "ing", "er")}
MORPHEMES = ["ed", "er", "ing", "jump", "look", "walk"]
LETTERS = sorted(set("".join(MORPHEMES) + "s ü"))


def random_parser(heads: int = 2, width: int = 4, hidden: int = 3) -> ParserTrees:
    rng = np.random.default_rng(0)
    sizes = {
        "last_norm.weight": width,
        "pair_hidden.bias": hidden,
        "place_from_start": 3,
        "layers.0.qkv.weight": 0,
    }
    some: dict[str, Any] = {name: np.zeros((size, width)) for name, size in sizes.items()}
    some["last_norm.weight"] = np.zeros(width)
    shapes = expected_shapes(some, heads, len(LETTERS), len(MORPHEMES))
    weights = {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    return ParserTrees(weights, heads, LETTERS, MORPHEMES)


def trained() -> dict[str, TreeTokenizer]:
    train = TreeTokenizer.train
    return {
        "counts": train(WORDS, 285, "counts", "lossless", progress=False),
        "uncased": train(WORDS, 45, "counts", "uncased", progress=False),
        "neural": train(WORDS, 285, random_parser(), "lossless", progress=False),
    }


class Folders:
    """A folder for each of the small tokenizers, in which files are replaced."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.names: list[str] = []
        for name, tokenizer in trained().items():
            tokenizer.save(self.original(name))
            shutil.copytree(self.original(name), self.changed(name))
            self.names.append(name)

    def original(self, name: str) -> Path:
        return Path(self._folder.name, "original", name)

    def changed(self, name: str) -> Path:
        return Path(self._folder.name, "changed", name)

    @contextmanager
    def with_file(self, name: str, file: str, content: bytes) -> Iterator[Path]:
        """The folder with another content of a file, of which the head has the checksum."""
        head = json.loads((self.original(name) / HEAD).read_text(encoding="utf-8"))
        if file in head["files"]:
            head["files"][file] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            with (
                self._replaced(name, HEAD, json.dumps(head).encode()),
                self._replaced(name, file, content) as folder,
            ):
                yield folder
        else:
            with self._replaced(name, file, content) as folder:
                yield folder

    @contextmanager
    def _replaced(self, name: str, file: str, content: bytes) -> Iterator[Path]:
        path = self.changed(name) / file
        # Not written over: the file may be mapped into memory.
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        try:
            yield path.parent
        finally:
            path.unlink()
            if (self.original(name) / file).exists():
                shutil.copyfile(self.original(name) / file, path)


@contextmanager
def plain_python() -> Iterator[None]:
    """Without this, unseen words would be parsed by the native parser in both."""
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        del os.environ[SWITCH]


def load_and_use(folder: Path) -> None:
    native = loaded(folder)
    with plain_python():
        reference = loaded(folder)
        expected = reference and ids_of(reference)
    if native is None or reference is None:
        assert native is reference, f"it loads {'in plain Python' if native is None else 'natively'} only"
        return
    assert native.state.entries == reference.state.entries, "the vocabularies differ"
    ids = ids_of(native)
    assert ids == expected, f"native {ids}, in plain Python {expected}"


def loaded(folder: Path) -> TreeTokenizer | None:
    try:
        return TreeTokenizer.load(folder)
    except TreetokError:
        return None


def ids_of(tokenizer: TreeTokenizer) -> list[int] | None:
    """The ids of a text, None if it cannot be encoded."""
    try:
        ids = tokenizer.encode(SAMPLE)
        with_specials = tokenizer.encode(SAMPLE + "".join(tokenizer.special_tokens), allowed_special="all")
        places = tokenizer.encode_with_offsets(SAMPLE)
        tokenizer.tree("unwalkable")
        tokenizer.tokenize("unwalkable")
    except TreetokError:
        return None
    assert places.ids == ids and all(0 <= start <= end <= len(SAMPLE) for start, end in places.offsets)
    tokenizer.decode(with_specials)
    # What was lossless stays so.
    assert tokenizer.profile != "lossless" or tokenizer.state.normalizer or tokenizer.decode(ids) == SAMPLE
    return [*ids, -1, *with_specials]

"""The names of the files, and where each is found while a save is being put in place."""

from __future__ import annotations

from pathlib import Path

FORMAT = 1
HEAD = "treetok.json"
VOCABULARY = "vocab.tsv"
NGRAMS = "ngrams.safetensors"
LEXICON = "lexicon.safetensors"
CARD = "MODEL_CARD.md"
# All but the head, which is put in place last.
FILES = (VOCABULARY, NGRAMS, LEXICON, CARD)

# The files of a finished save that have not all been moved into the directory yet. They count as if they had:
# from the moment this folder has its name, the directory holds the new tokenizer.
ARRIVING = ".treetok-arriving"


def find_file(directory: Path, name: str) -> Path:
    arriving = directory / ARRIVING / name
    return arriving if arriving.exists() else directory / name


def finish_save(directory: Path) -> None:
    """Move the files of a finished save into the directory; also one that was interrupted here earlier."""
    arriving = directory / ARRIVING
    if not arriving.is_dir():
        return
    for name in (*FILES, HEAD):
        if (arriving / name).exists():
            (arriving / name).replace(directory / name)
    arriving.rmdir()

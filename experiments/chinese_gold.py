"""The sentences that Chinese models are scored on, by what they are for, and what files of scores say of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from han_text import SentenceFile
from model_scores import check_gold, file_name, load_scores, sha256_of
from treetok.errors import TreetokError
from treetok.evaluate.texts import name_of

# Choices are made on the development sentences; the table is that of the test sentences.
TEST = "test"
ROLES = (TEST, "dev")

# By role.
Gold = Mapping[str, SentenceFile]


def facts_of(role: str, file: SentenceFile) -> dict[str, Any]:
    return {
        "sha256": sha256_of(file),
        "role": role,
        "sentences": len(file.sentences),
        "characters": sum(len(sentence.text) for sentence in file.sentences),
        "words": sum(len(sentence.words) for sentence in file.sentences),
    }


def check_scores(folder: Path, gold: Gold) -> None:
    """Raise an error, before any work, if scores on these sentences could not stand beside those in the folder."""
    check_gold(folder, list(gold.values()))
    for of_one in load_scores(folder):
        for role, file in gold.items():
            entry = of_one.gold.get(name_of(file.path))
            if entry is not None and entry.get("role") != role:
                path = folder / file_name(of_one.name, of_one.seed)
                raise TreetokError(
                    f"{path} has {file.path} as {entry.get('role')}, not as {role}: choose other --scores"
                )

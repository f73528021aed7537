"""The members of a committee that a run left, and the trees they give words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from treetok import TreetokError
from treetok.model.decoding import CompositionTrees
from treetok.model.device import chosen_device
from treetok.model.ensemble import EnsembleMember
from treetok.progress import Progress
from treetok.training import trees_of


def member_file(number: int) -> str:
    """What the file of a member is called; numbers begin at 0, names at 1."""
    return f"member-{number + 1}.safetensors"


def files_like_members(folder: Path) -> list[Path]:
    return sorted(folder.glob("member-*.safetensors"), key=lambda path: (len(path.name), path.name))


def member_files(run: Path) -> list[Path]:
    files = files_like_members(run)
    if not files:
        raise TreetokError(f"{run} has no members of a committee ({member_file(0)} and so on)")
    return files


def trees_of_words(files: Sequence[Path], words: Iterable[str]) -> dict[str, list[float]]:
    """Minus the depth of every split of every word."""
    device = chosen_device("auto")
    teacher = CompositionTrees([EnsembleMember.load(path, device) for path in files], device)
    # Words of like length share substrings and batches.
    return trees_of(teacher, sorted(words, key=lambda word: (len(word), word)), Progress(True))

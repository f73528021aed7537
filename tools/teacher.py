"""The trees that the members of a committee give words, in several processes where there are many words.

Half of the work is done by the CPU: one process alone leaves a GPU idle most of the time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from treetok import TreetokError
from treetok.model.device import chosen_device
from treetok.model.induction import CompositionTrees
from treetok.model.member import Member
from treetok.progress import Progress

WORDS_A_SHARE = 20_000


def member_files(run: Path) -> list[Path]:
    files = sorted(run.glob("member-*.safetensors"), key=lambda path: (len(path.name), path.name))
    if not files:
        raise TreetokError(f"{run} has no members of a committee (member-1.safetensors and so on)")
    return files


def trees_of_words(
    files: Sequence[Path], words: Sequence[str], processes: int = 1
) -> list[npt.NDArray[np.float32]]:
    """Minus the depth of every split of every word."""
    # Words of like length share substrings and batches.
    order = sorted(range(len(words)), key=lambda number: (len(words[number]), words[number]))
    shares = [order[start : start + WORDS_A_SHARE] for start in range(0, len(order), WORDS_A_SHARE)]
    # The longest words take longest: they come first.
    shares.reverse()
    in_shares = [[words[number] for number in share] for share in shares]
    answers: list[npt.NDArray[np.float32]] = []
    with ExitStack() as stack:
        stage = stack.enter_context(Progress(True).stage("reading trees", len(words), "words"))
        if processes == 1 or len(shares) == 1:
            remember_members(files)
            arriving = map(trees_of_share, in_shares)
        else:
            spawning = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(min(processes, len(shares)), spawning, begin_process, (files,))
            arriving = stack.enter_context(pool).map(trees_of_share, in_shares)
        for share, answer in zip(in_shares, arriving, strict=True):
            answers.append(answer)
            stage.at(stage.done + len(share))
    scores: list[npt.NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(words)
    for share, answer in zip(shares, answers, strict=True):
        ends = np.cumsum([len(words[number]) - 1 for number in share])
        for number, of_word in zip(share, np.split(answer, ends[:-1]), strict=True):
            scores[number] = of_word
    return scores


teacher: CompositionTrees


def begin_process(files: Sequence[Path]) -> None:
    # One of many: the others want the cores, too.
    torch.set_num_threads(1)
    remember_members(files)


def remember_members(files: Sequence[Path]) -> None:
    """The committee of this process."""
    global teacher
    device = chosen_device("auto")
    teacher = CompositionTrees([Member.load(path, device) for path in files], device)


def trees_of_share(words: list[str]) -> npt.NDArray[np.float32]:
    """All in a row: one array is sent back to the first process much sooner than many."""
    return np.concatenate([np.zeros(0, dtype=np.float32), *teacher.split_scores(words)])

"""Sets of files replaced at once; that crashes leave one set or the other is tested with whole tokenizers."""

import errno
import os
import time
from pathlib import Path

import pytest

from treetok import TreetokError
from treetok.storage.atomic import save_atomically

FILES = {"a.txt": b"a", "head.json": b"h", "z.txt": b"z"}


def test_the_head_is_moved_last(tmp_path, monkeypatch):
    """Whoever finds a new head finds the files that it lists."""
    moved = []
    original = Path.replace

    def watched(self, target):
        moved.append(Path(target).name)
        return original(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    save_atomically(tmp_path, FILES, "head.json")
    assert moved == ["a.txt", "z.txt", "head.json"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == FILES


def test_obsolete_files_are_removed_and_others_left_alone(tmp_path):
    save_atomically(tmp_path, FILES, "head.json")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    save_atomically(tmp_path, {"head.json": b"new"}, "head.json", obsolete=["a.txt", "none.txt"])
    assert {path.name for path in tmp_path.iterdir()} == {"head.json", "notes.txt", "z.txt"}


def test_folders_of_saves_killed_long_ago_are_removed(tmp_path):
    old, recent = tmp_path / ".treetok-writing-old", tmp_path / ".treetok-writing-recent"
    for folder in (old, recent):
        folder.mkdir()
    an_hour_and_more_ago = time.time() - 4000
    os.utime(old, (an_hour_and_more_ago, an_hour_and_more_ago))
    save_atomically(tmp_path, FILES, "head.json")
    assert not old.exists()
    # It may belong to another process.
    assert recent.exists()


def test_a_failed_save_leaves_no_empty_directory(tmp_path, monkeypatch):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    there, has_others = tmp_path / "there", tmp_path / "others"
    there.mkdir()
    has_others.mkdir()
    (has_others / "notes.txt").write_bytes(b"mine")
    for directory in (tmp_path / "new" / "deep", there, has_others, there / "new"):
        with pytest.raises(TreetokError, match="No space left on device"):
            save_atomically(directory, FILES, "head.json")
    assert sorted(tmp_path.rglob("*")) == [has_others, has_others / "notes.txt", there]


def test_files_of_others_are_not_replaced(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"mine")
    with pytest.raises(TreetokError, match=r"it has a file a\.txt that treetok did not write"):
        save_atomically(tmp_path, FILES, "head.json")
    assert (tmp_path / "a.txt").read_bytes() == b"mine"

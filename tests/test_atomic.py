"""Sets of files replaced at once, and single files; that crashes leave one set or the other is tested with whole
tokenizers, and by scripts/check_faults.py."""

import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from treetok import TreeTokenizer, TreetokError, TreetokWarning
from treetok.storage import atomic, load, locks, replace_file
from treetok.storage.atomic import folder_of, open_file, save_atomically
from treetok.storage.replace_file import replaced_when_complete

FILES = {"a.txt": b"a", "head.json": b"h", "z.txt": b"z"}


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def read(directory, name):
    with open_file(directory, "head.json", name) as file:
        return file.read()


def refuse(error):
    def refused(*arguments):
        raise OSError(error, os.strerror(error))

    return refused


def test_the_head_is_moved_first_and_its_files_are_found_at_any_time(tmp_path, monkeypatch):
    old = {name: content + b" before" for name, content in FILES.items()}
    save_atomically(tmp_path, old, "head.json")
    moved, seen = [], []
    original = Path.replace

    def found():
        return {name: read(tmp_path, name) for name in FILES}

    def watched(self, target):
        seen.append(found())
        original(self, target)
        moved.append(Path(target).name)
        seen.append(found())

    monkeypatch.setattr(Path, "replace", watched)
    save_atomically(tmp_path, FILES, "head.json")
    assert moved == ["head.json", "a.txt", "z.txt"]
    assert seen == [old, *[FILES] * 5]
    assert contents(tmp_path) == FILES


def test_obsolete_files_are_removed_and_others_left_alone(tmp_path):
    save_atomically(tmp_path, FILES, "head.json")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    save_atomically(tmp_path, {"head.json": b"new"}, "head.json", obsolete=["a.txt", "none.txt"])
    assert {path.name for path in tmp_path.iterdir()} == {"head.json", "notes.txt", "z.txt"}


def test_what_killed_saves_have_left_is_removed_at_once(tmp_path):
    this, other = f".treetok-writing-{locks.this_machine()}-1", ".treetok-writing-00000000-1"
    stale = ".treetok-writing-00000000-2"
    of_no_head = "head.json.0123456789abcdef"
    for name in (this, other, stale, ".treetok-arriving", of_no_head):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_bytes(b"left")
    (tmp_path / ".treetok-lock").touch()
    an_hour_and_more_ago = time.time() - 4000
    os.utime(tmp_path / stale, (an_hour_and_more_ago, an_hour_and_more_ago))
    save_atomically(tmp_path, FILES, "head.json")
    # A process on another machine may be writing it.
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, other}


def test_without_locks_only_what_is_old_is_removed(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr(fcntl, "flock", refuse(errno.ENOLCK))
    name = f"{locks.this_machine()}-0123456789abcdef"
    (tmp_path / f".treetok-writing-{name}").mkdir()
    (tmp_path / f".a.txt.{name}.unfinished").touch()
    save_atomically(tmp_path, FILES, "head.json")
    with replaced_when_complete(tmp_path / "a.txt") as file:
        file.write(b"new")
    assert {path.name for path in tmp_path.iterdir()} == {
        *FILES,
        f".treetok-writing-{name}",
        f".a.txt.{name}.unfinished",
    }


def test_an_interrupted_move_is_finished_by_the_next_save(tmp_path):
    save_atomically(tmp_path, FILES | {"a.txt": b"old"}, "head.json")
    folder = folder_of(tmp_path, "head.json", FILES["head.json"])
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"a")
    (tmp_path / "head.json").write_bytes(FILES["head.json"])
    assert read(tmp_path, "a.txt") == b"a"
    # It may keep files of the set that is there.
    save_atomically(tmp_path, {"head.json": b"new"}, "head.json")
    assert contents(tmp_path) == FILES | {"head.json": b"new"}


def test_a_save_waits_for_another_one(tmp_path, monkeypatch):
    saver = threading.Thread(target=save_atomically, args=(tmp_path, FILES, "head.json"))
    with atomic.only_writer(tmp_path):
        saver.start()
        time.sleep(0.05)
        assert not (tmp_path / "head.json").exists()
    saver.join()
    assert contents(tmp_path) == FILES
    monkeypatch.setattr(atomic, "SECONDS_TO_WAIT", 0.02)
    with (
        atomic.only_writer(tmp_path),
        pytest.raises(TreetokError, match="another process has been saving there for long"),
    ):
        save_atomically(tmp_path, FILES, "head.json")


def test_a_failed_save_leaves_no_empty_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", refuse(errno.ENOSPC))
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


def test_links_that_others_have_put_there_are_not_followed(tmp_path):
    (tmp_path / "mine.txt").write_bytes(b"mine")
    directory = tmp_path / "set"
    save_atomically(directory, FILES, "head.json")
    (directory / "a.txt").unlink()
    (directory / "a.txt").symlink_to(tmp_path / "mine.txt")
    save_atomically(directory, FILES, "head.json")
    assert not (directory / "a.txt").is_symlink()
    (directory / ".treetok-lock").symlink_to(tmp_path / "new.txt")
    with pytest.raises(TreetokError, match="cannot save to"):
        save_atomically(directory, FILES, "head.json")
    assert not (tmp_path / "new.txt").exists()
    assert (tmp_path / "mine.txt").read_bytes() == b"mine"


def test_errors_after_the_new_files_are_saved_are_warnings(tmp_path, monkeypatch):
    """Whoever is told of an error can rely on what was there before."""
    save_atomically(tmp_path, dict.fromkeys(FILES, b"old"), "head.json")
    original = Path.replace

    def only_the_head(self, target):
        if Path(target).name != "head.json":
            refuse(errno.EIO)()
        return original(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", only_the_head)
        with pytest.warns(TreetokWarning, match="has the new files, but some may still be in head.json"):
            save_atomically(tmp_path, FILES, "head.json")
    assert {name: read(tmp_path, name) for name in FILES} == FILES
    monkeypatch.setattr(replace_file, "sync_directory", refuse(errno.EIO))
    with (
        pytest.warns(TreetokWarning, match=r"a\.txt is written, but a power cut may undo it"),
        replaced_when_complete(tmp_path / "a.txt") as file,
    ):
        file.write(b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"


# ---- a tokenizer


def test_a_hidden_folder_overrides_nothing(tmp_path, lossless, uncased, monkeypatch):
    """Folders of that name were read by earlier versions."""
    lossless.save(tmp_path)
    for name in (".treetok-arriving", "treetok.json.0123456789abcdef"):
        uncased.save(tmp_path / name)
    assert TreeTokenizer.load(tmp_path).profile == "lossless"
    (tmp_path / "vocab.tsv").unlink()
    reads = []
    original = load.read_head_file
    monkeypatch.setattr(load, "read_head_file", lambda path: reads.append(path) or original(path))
    with pytest.raises(TreetokError, match=r"vocab\.tsv is missing"):
        TreeTokenizer.load(tmp_path)
    assert len(reads) == 1


def test_the_folder_of_a_head_holds_what_the_head_lists(tmp_path, lossless, uncased):
    """Nobody can use it to replace what has another checksum."""
    lossless.save(tmp_path)
    folder = folder_of(tmp_path, "treetok.json", (tmp_path / "treetok.json").read_bytes())
    uncased.save(folder)
    with pytest.raises(TreetokError, match="damaged"):
        TreeTokenizer.load(tmp_path)
    shutil.rmtree(folder)
    assert TreeTokenizer.load(tmp_path).profile == "lossless"


TERMINATED = """
import os, signal, sys
from treetok.cli import main
os.fsync = lambda descriptor: signal.raise_signal(signal.SIGTERM)
main(["special-tokens", "en", "-o", sys.argv[1], "--add", "<a>"])
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
def test_a_command_that_is_terminated_while_it_saves_leaves_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TERMINATED, str(tmp_path / "new")], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, b"")
    assert list(tmp_path.iterdir()) == []


# ---- a file

WRITER = """
import os, signal, sys
from pathlib import Path
from treetok.storage.replace_file import replaced_when_complete
with replaced_when_complete(Path(sys.argv[1])) as file:
    file.write(b"never")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(path):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline().strip() == b"writing"
    return process


@pytest.mark.skipif(os.name == "nt", reason="kill")
def test_what_a_killed_process_has_left_of_a_file_is_removed_but_not_that_of_a_living_one(tmp_path):
    path = tmp_path / "ids [1].bin"
    others = tmp_path / ".ids [1].bin.00000000-0123456789abcdef.unfinished"
    others.touch()
    living = writer(path)
    left = set(tmp_path.iterdir())
    for _ in range(2):
        with replaced_when_complete(path) as file:
            file.write(b"new")
        assert set(tmp_path.iterdir()) == left | {path}
    living.send_signal(signal.SIGKILL)
    living.communicate()
    assert set(tmp_path.iterdir()) == left | {path}
    with replaced_when_complete(path) as file:
        file.write(b"newer")
    # A process on another machine may be writing it.
    assert contents(tmp_path) == {path.name: b"newer", others.name: b""}


@pytest.mark.parametrize("method", ["fsync", "write"])
def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch, method):
    path = tmp_path / "ids.bin"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", refuse(errno.ENOSPC))
    with pytest.raises(OSError, match="No space"), replaced_when_complete(path) as file:
        file.write(b"new")
        if method == "write":
            raise OSError(errno.ENOSPC, "No space")
    assert contents(tmp_path) == {"ids.bin": b"old"}


def test_a_new_file_has_the_usual_permissions(tmp_path):
    with replaced_when_complete(tmp_path / "new") as file:
        file.write(b"new")
    (tmp_path / "usual").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    original, removed = locks.take_lock, []

    def slow(descriptor):
        if not removed:
            removed.append(next(tmp_path.iterdir()))
            removed[0].unlink()
        return original(descriptor)

    monkeypatch.setattr(replace_file, "take_lock", slow)
    with replaced_when_complete(tmp_path / "ids.bin") as file:
        file.write(b"new")
    assert removed and re.search("unfinished", removed[0].name)
    assert contents(tmp_path) == {"ids.bin": b"new"}


def folder_of_head(directory):
    digest = hashlib.sha256((directory / "treetok.json").read_bytes()).hexdigest()
    return directory / f"treetok.json.{digest[:16]}"


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_saving_into_a_directory_from_strangers_moves_no_files_of_others(tmp_path, lossless):
    precious, model = tmp_path / "precious", tmp_path / "model"
    precious.mkdir()
    for name in ("notes.txt", "vocab.tsv"):
        (precious / name).write_text("mine")
    lossless.save(model)
    folder_of_head(model).symlink_to(precious)
    # Another head than before, so that there is a new folder.
    lossless.with_special_tokens(["<|new|>"]).save(model)
    assert sorted(path.name for path in precious.iterdir()) == ["notes.txt", "vocab.tsv"]
    assert TreeTokenizer.load(model).special_tokens["<|new|>"]


def test_files_that_no_save_has_made_replace_none(tmp_path, lossless):
    lossless.save(tmp_path)
    (tmp_path / "train.py").write_text("mine")
    folder = folder_of_head(tmp_path)
    folder.mkdir()
    (folder / "train.py").write_text("a stranger's")
    lossless.with_special_tokens(["<|new|>"]).save(tmp_path)
    assert (tmp_path / "train.py").read_text() == "mine" and not folder.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_head_that_is_a_pipe_is_not_waited_for(tmp_path, lossless):
    os.mkfifo(tmp_path / "treetok.json")
    with pytest.raises(TreetokError, match=r"treetok\.json is not a regular file"):
        lossless.save(tmp_path)

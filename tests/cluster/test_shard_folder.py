"""What counts as done, and when a folder is refused."""

import os
import pickle

import pyarrow
import pyarrow.parquet
import pytest

from treetok import TreetokError
from treetok.cluster.shard_folder import MANIFEST, ShardFolder
from treetok.cluster.shards import Shard
from treetok.storage.locks import this_machine
from treetok.storage.replace_file import replaced_when_complete

SETTINGS = {"model": "abc", "dtype": "uint16"}
A, B = Shard("/data/a.txt", 0, 10, 10), Shard("/data/b.txt", 0, 10, 10)
SCHEMA = pyarrow.schema([("x", pyarrow.int64())])


def write(folder, shard):
    folder.write(shard.name, SCHEMA, [pyarrow.table([[1, 2]], schema=SCHEMA)], lambda: {"source": shard.source})


@pytest.fixture(params=["path", "url"])
def folder(tmp_path, request):
    """With one shard of two done."""
    folder = ShardFolder(tmp_path / "out" if request.param == "path" else f"file://{tmp_path}/out")
    assert folder.prepare(SETTINGS, [A, B], force=False) == set()
    write(folder, A)
    return folder


def test_what_is_done_is_found_again(folder):
    again = pickle.loads(pickle.dumps(folder))
    assert again.prepare(SETTINGS, [A, B], force=False) == {A.name}
    assert again.has(A.name) and not again.has(B.name)
    assert again.facts([A.name]) == [{"source": "/data/a.txt"}]
    assert pyarrow.parquet.read_table(again.path(A.name))["x"].to_pylist() == [1, 2]


def test_more_inputs_may_come(folder):
    more = Shard("/data/c.txt", 0, 10, 10)
    assert folder.prepare(SETTINGS, [A, B, more], force=False) == {A.name}


def test_a_source_that_has_changed_is_done_again(folder):
    changed = Shard("/data/a.txt", 0, 11, 11)
    assert folder.prepare(SETTINGS, [changed, B], force=False) == set()
    assert not folder.has(A.name)


@pytest.mark.parametrize(
    "settings, shards, message",
    [
        (SETTINGS | {"model": "xyz"}, [A, B], r"other settings \(model: abc there, xyz here\).*--force"),
        (SETTINGS, [B], r"has results of /data/a.txt, which is not given now.*--force"),
    ],
)
def test_results_of_something_else_are_replaced_only_by_force(folder, settings, shards, message):
    with pytest.raises(TreetokError, match=message):
        folder.prepare(settings, shards, force=False)
    assert folder.has(A.name)
    assert folder.prepare(settings, shards, force=True) == set()
    assert not folder.has(A.name)


def test_force_keeps_what_is_still_right(folder):
    write(folder, B)
    assert folder.prepare(SETTINGS, [A], force=True) == {A.name}
    assert not folder.has(B.name)


@pytest.mark.parametrize("force", [False, True])
def test_files_of_others_are_never_replaced(folder, tmp_path, force):
    other = tmp_path / "out" / "mine.parquet"
    other.write_text("precious")
    with pytest.raises(TreetokError, match=r"did not write .*mine.parquet"):
        folder.prepare(SETTINGS, [A, B], force)
    assert other.read_text() == "precious"


def test_a_damaged_manifest_is_named(folder, tmp_path):
    (tmp_path / "out" / MANIFEST).write_text("{")
    with pytest.raises(TreetokError, match=f"{MANIFEST} is damaged"):
        folder.prepare(SETTINGS, [A, B], force=False)


def test_a_damaged_result_is_named(folder, tmp_path):
    (tmp_path / "out" / A.name).write_bytes(b"PAR1")
    with pytest.raises(TreetokError, match=f"{A.name} is damaged: remove it"):
        folder.facts([A.name])


def test_a_shard_that_fails_leaves_nothing(folder, tmp_path):
    def tables():
        yield pyarrow.table([[1]], schema=SCHEMA)
        raise OSError("disk on fire")

    with pytest.raises(TreetokError, match=r"cannot write to .*on fire"):
        folder.write(B.name, SCHEMA, tables(), dict)
    assert sorted(os.listdir(tmp_path / "out")) == sorted([MANIFEST, A.name])  # noqa: PTH208


def test_what_killed_workers_leave_behind_is_removed(folder, tmp_path):
    (tmp_path / "out" / f".{B.name}.{this_machine()}-0123456789abcdef.unfinished").write_text("half")
    # Another run into the same folder is alive.
    with replaced_when_complete(tmp_path / "out" / B.name) as file:
        file.write(b"half")
        folder.remove_unfinished()
    assert sorted(os.listdir(tmp_path / "out")) == sorted([MANIFEST, A.name, B.name])  # noqa: PTH208


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(TreetokError, match="file"):
        ShardFolder(tmp_path / "file").prepare(SETTINGS, [A], force=False)
    with pytest.raises(TreetokError, match="cannot write to nonsense://x"):
        ShardFolder("nonsense://x").prepare(SETTINGS, [A], force=False)
    with pytest.raises(TreetokError, match="not the name of a folder"):
        ShardFolder("")

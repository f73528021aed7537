"""Counting and encoding on Daft's native runner equal the plain path; what fails is named and done again."""

import os
import signal
import subprocess
import sys
import time
from itertools import islice, product

import numpy as np
import pyarrow.parquet
import pytest
from small_corpus import END, TEXTS, read_ids, write_corpus

from treetok import TreeTokenizer, TreetokError, TreetokWarning
from treetok.cli import main
from treetok.cluster import DaftCorpus, encode_to_parquet
from treetok.cluster.count_shards import CountWords, merge
from treetok.cluster.engine import Engine, choose_engine
from treetok.cluster.run_shards import run_shards
from treetok.cluster.shard_folder import ShardFolder
from treetok.cluster.shards import Shard, cut_into_shards
from treetok.cluster.sources import Source, list_sources
from treetok.corpus.counting import count_words
from treetok.pipeline import TrainOptions
from treetok.pipeline.count_words import combined, count_text, fingerprint
from treetok.pipeline.run_directory import Run
from treetok.progress import Progress
from treetok.text import profile_named


@pytest.fixture(scope="module")
def model(tmp_path_factory, lossless):
    directory = tmp_path_factory.mktemp("model")
    lossless.save(directory)
    return directory


def test_encoding_equals_the_plain_path_and_is_done_once(lossless, model, tmp_path, capsys):
    files = write_corpus(tmp_path / "corpus")
    output = tmp_path / "ids"
    command = ["encode", "--engine", "daft", "--model", str(model), "--end", END, "--shard-size", "20KB"]
    assert main([*command, str(tmp_path / "corpus"), "-o", str(output)]) == 0
    lossless.encode_files(files, tmp_path / "plain.npy", end=END, progress=False)
    ids, table = read_ids(output)
    assert ids == np.load(tmp_path / "plain.npy").tolist()
    assert str(table.schema.field("ids").type) == "list<element: uint16>"
    # Rows keep their numbers where others have no text.
    (parquet,) = (path for path in output.glob("*.parquet") if path.name.startswith("c.parquet"))
    rows = pyarrow.parquet.read_table(parquet).to_pylist()
    assert [row["row"] for row in rows] == [0, 2, 3, 4]
    assert {row["source"] for row in rows} == {str(tmp_path / "corpus" / "c.parquet")}
    assert len(list(output.glob("d.txt-*.parquet"))) > 3
    assert capsys.readouterr().err.endswith(f"{output}: {len(ids)} ids\n")

    # Again: nothing is done. With another setting: refused.
    times = {path: path.stat().st_mtime_ns for path in output.glob("*.parquet")}
    assert main([*command, str(tmp_path / "corpus"), "-o", str(output)]) == 0
    assert f"{len(times)} of {len(times)} shards are done already" in capsys.readouterr().err
    assert times == {path: path.stat().st_mtime_ns for path in output.glob("*.parquet")}
    assert main([*command, "--dtype", "uint32", str(tmp_path / "corpus"), "-o", str(output)]) == 1
    assert "(dtype: uint16 there, uint32 here)" in capsys.readouterr().err


def test_training_makes_the_same_bytes(tmp_path, capsys):
    files = write_corpus(tmp_path / "corpus")
    command = ["train", "--trees", "counts", "--vocab-size", "700", "--quiet"]
    assert main([*command, *map(str, files), "-o", str(tmp_path / "plain")]) == 0
    daft = ["--engine", "daft", "--runner", "native", "--shard-size", "20KB"]
    assert main([*command, *daft, str(tmp_path / "corpus"), "-o", str(tmp_path / "daft")]) == 0
    assert (tmp_path / "daft" / "counts").is_dir()
    names = [path.name for path in (tmp_path / "plain").iterdir()]
    assert "treetok.json" in names
    for name in names:
        assert (tmp_path / "daft" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_neural_training_gets_the_same_running_text(tmp_path):
    files = write_corpus(tmp_path / "corpus")
    options = TrainOptions(trees="neural")
    counted = DaftCorpus(tmp_path / "corpus", tmp_path / "counts").count(
        options.text_profile, "text", options.memory_limit, Progress(None)
    )
    assert combined(counted.digests) == fingerprint(files)
    for max_words in (1000, 10**6):
        of_files, of_shards = (
            count_text(corpus, options, Run.open(None, {}, resume=False), Progress(None), max_words)
            for corpus in (files, counted)
        )
        assert of_shards.counts == of_files.counts and of_shards.figures == of_files.figures
        assert of_shards.sequence().words == of_files.sequence().words
        assert np.array_equal(of_shards.sequence().numbers, of_files.sequence().numbers)


def words(start, number):
    """Different words, since digits are no letters."""
    return [start + "".join(letters) for letters in islice(product("abcdef", repeat=5), number)]


def test_a_file_that_is_given_twice_counts_twice(tmp_path, lossless):
    (tmp_path / "a.txt").write_text("one two two")
    corpus = DaftCorpus([tmp_path / "a.txt"] * 2, tmp_path / "counts")
    profile = profile_named("lossless")
    counted = corpus.count(profile, "text", 10**9, Progress(None))
    assert counted.counts == count_words([tmp_path / "a.txt"] * 2, profile).counts()
    assert len(counted.digests) == 2 and "".join(counted.texts()) == "one two two" * 2
    with pytest.raises(TreetokError, match=r"a.txt is given more than once"):
        encode_to_parquet(lossless, [tmp_path / "a.txt"] * 2, tmp_path / "ids")


def test_rare_words_are_dropped_to_save_memory(tmp_path):
    profile = profile_named("lossless")
    folder = ShardFolder(tmp_path / "counts")
    shards = []
    for number in range(2):
        path = tmp_path / f"{number}.txt"
        path.write_text(" ".join([*["often"] * 5, *words("ab"[number], 600)]))
        shards.append(Shard(str(path), 0, path.stat().st_size, path.stat().st_size))
        folder.prepare({}, shards, force=False)
        CountWords(folder, "lossless", profile.version, "text", 10**9, None)(shards[-1])
    choose_engine("native")
    everything, dropped = merge(folder, shards, profile, 10**9)
    assert (len(everything), dropped, everything[" often"]) == (1202, 0, 8)
    assert everything == count_words([tmp_path / "0.txt", tmp_path / "1.txt"], profile).counts()
    assert merge(folder, shards, profile, 1000 * 160) == ({" often": 8, "often": 2}, 1200)


def test_dropped_words_are_reported(tmp_path):
    (tmp_path / "a.txt").write_text(" ".join([*words("a", 2000), *["often"] * 5]))
    corpus = DaftCorpus(tmp_path / "a.txt", tmp_path / "counts")
    with pytest.warns(TreetokWarning, match="rare words were dropped"):
        TreeTokenizer.train(corpus, 262, "counts", memory_limit=200_000, progress=False)


def test_damaged_shards_are_named_and_the_others_are_done(model, tmp_path, capsys):
    corpus, output = tmp_path / "corpus", tmp_path / "ids"
    files = write_corpus(corpus)
    whole = (corpus / "c.parquet").read_bytes()
    (corpus / "c.parquet").write_bytes(whole[:-100])
    (corpus / "more" / "latin1.txt").write_bytes(b"fine\nna\xefve\n")
    command = ["encode", "--engine", "daft", "--model", str(model), str(corpus), "-o", str(output)]
    assert main(command) == 1
    lines = capsys.readouterr().err.splitlines()
    assert any(f"{corpus}/c.parquet is damaged" in line for line in lines[:-1])
    assert lines[-1].startswith("treetok: 2 of 8 shards failed, the others are done")
    assert f"{corpus}/more/latin1.txt, line 2: byte 0xef is not UTF-8" in lines[-1]
    done = {path: path.stat().st_mtime_ns for path in output.glob("*.parquet")}
    assert len(done) == 6

    (corpus / "c.parquet").write_bytes(whole)
    (corpus / "more" / "latin1.txt").write_text("fine\nnaïve\n", encoding="utf-8")
    assert main(command) == 0
    assert "6 of 8 shards are done already" in capsys.readouterr().err
    assert all(path.stat().st_mtime_ns == time for path, time in done.items())
    files = [*files, corpus / "more" / "latin1.txt"]
    TreeTokenizer.load(model).encode_files(files, tmp_path / "plain.npy", progress=False)
    assert read_ids(output)[0] == np.load(tmp_path / "plain.npy").tolist()

    # Training stops, and says where.
    (corpus / "c.parquet").write_bytes(whole[:-100])
    arguments = ["--trees", "counts", "--vocab-size", "700", "-o", str(tmp_path / "trained")]
    assert main(["train", "--engine", "daft", str(corpus), *arguments]) == 1
    assert f"{corpus}/c.parquet is damaged" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "trained" / "treetok.json").exists()


@pytest.mark.parametrize("command", ["encode", "train"])
@pytest.mark.parametrize(
    "names, message",
    [
        (["a.jsonl", "c.parquet"], "a.jsonl, line 1: no text under the key 'body' (--text-column body)"),
        (["more", "c.parquet"], "c.parquet has no column 'body'; it has: text (--text-column body)"),
    ],
)
def test_a_wrong_column_is_not_damage(command, names, message, model, tmp_path, capsys):
    write_corpus(tmp_path / "corpus")
    options = {"encode": ["--model", str(model)], "train": ["--trees", "counts", "--quiet"]}[command]
    files = [str(tmp_path / "corpus" / name) for name in names]
    output = ["-o", str(tmp_path / "out"), "--text-column", "body"]
    assert main([command, "--engine", "daft", *options, *files, *output]) == 1
    assert capsys.readouterr().err == f"treetok: {tmp_path / 'corpus'}/{message}\n"


def test_a_worker_that_is_killed_costs_only_its_own_shards(tmp_path):
    for number, text in enumerate(TEXTS[:6]):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    shards = cut_into_shards(list_sources(f"{tmp_path}/*.txt"), 1 << 20)
    folder, killed = ShardFolder(tmp_path / "out"), tmp_path / "killed"

    # A local class is sent to the workers whole: they cannot import this file.
    class KilledOnce:
        def __init__(self, log):
            self.work = CountWords(folder, "lossless", 2, "text", 10**9, None)
            self.log = log

        def __call__(self, shard):
            if shard == shards[3] and not killed.exists():
                killed.touch()
                wait_for(shards[0])
                os.kill(os.getpid(), signal.SIGKILL)
            self.work(shard)
            with self.log.open("a") as file:
                file.write(f"{shard.name}\n")

    def wait_for(shard):
        for _ in range(3000):
            if folder.has(shard.name):
                break
            time.sleep(0.01)

    engine = choose_engine("native")

    def run(log):
        run_shards(engine, KilledOnce(log), folder, shards, {}, "counting", Progress(None), force=False)

    with pytest.raises(TreetokError, match=r"counting stopped after \d of 6 shards.*run it again"):
        run(tmp_path / "first")
    # Other workers may still go on with a shard: that one is done twice.
    done = {shard.name for shard in shards if folder.has(shard.name)}
    assert shards[0].name in done and shards[3].name not in done
    run(tmp_path / "second")
    first, second = ((tmp_path / name).read_text().split() for name in ("first", "second"))
    assert not done & set(second) and len(set(second)) == len(second)
    assert {*first, *second} == {shard.name for shard in shards}
    profile = profile_named("lossless")
    assert (
        merge(folder, shards, profile, 10**9)[0]
        == count_words([tmp_path / f"{number}.txt" for number in range(6)], profile).counts()
    )


def test_ctrl_c_has_its_status_even_if_python_cannot_end(model, tmp_path):
    """Threads of Daft that start a worker may abort Python when it ends."""
    (tmp_path / "a.txt").write_text("some text")
    code = """if True:
        import atexit, os, sys
        from treetok import cli, cluster

        def interrupted(*arguments, **options):
            atexit.register(os.abort)
            print("written before")
            raise KeyboardInterrupt

        cluster.encode_to_parquet = cluster.DaftCorpus = interrupted
        sys.exit(cli.main(sys.argv[1:]))
    """
    for command in (["encode", "--model", str(model)], ["train", "--trees", "counts"]):
        result = subprocess.run(
            [sys.executable, "-c", code, *command, "--engine", "daft", "a.txt", "-o", "out"],
            cwd=tmp_path,
            capture_output=True,
        )
        assert result.returncode == 130
        assert (result.stdout, result.stderr) == (b"written before\n", b"treetok: interrupted\n")


def test_a_runner_is_chosen_once(monkeypatch):
    assert choose_engine("native", threads=1).runner == "native"
    assert choose_engine() == Engine("native")
    with pytest.raises(TreetokError, match="unknown runner 'spark'"):
        choose_engine("spark")
    with pytest.raises(TreetokError, match="for the runner 'ray' alone"):
        choose_engine("native", ray_address="ray://x")
    with pytest.raises(TreetokError, match="threads must be a whole number"):
        choose_engine("native", threads=0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--engine", "daft"], "give -o FOLDER"),
        (["--engine", "daft", "-o", "x"], "not standard input"),
        (["--runner", "ray"], "--runner is for --engine daft alone"),
        (["--shard-size", "1MB"], "--shard-size is for --engine daft alone"),
        (["--force"], "--force is for --engine daft alone"),
        (["--engine", "daft", "-o", "x", "none.txt"], "no such file: none.txt"),
        (
            ["--engine", "daft", "-o", "README.md", "LICENSE"],
            "README.md: it is a file, and the results are a folder",
        ),
        (["--engine", "daft", "-o", "x", "--shard-size", "1", "README.md"], "at least 1024 bytes"),
        (
            ["--engine", "daft", "-o", "x", "--shard-size", "x", "README.md"],
            "--shard-size must be an amount of memory",
        ),
        (["--engine", "daft", "-o", "x", "--end", "<none>", "README.md"], "'<none>' is not a special token"),
    ],
)
def test_wrong_options_are_explained(model, arguments, message, capsys):
    assert main(["encode", "--model", str(model), *arguments]) == 1
    assert message in capsys.readouterr().err


def test_training_needs_files(tmp_path, capsys, monkeypatch):
    command = ["train", "--trees", "counts", "--engine", "daft", "-o", str(tmp_path / "x")]
    assert main([*command, "-"]) == 1
    assert "--engine daft cannot read standard input" in capsys.readouterr().err
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main([*command, str(tmp_path)]) == 1
    assert "torchrun" in capsys.readouterr().err


def test_missing_daft_is_explained(model, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("treetok.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "daft", None)
    assert main(["encode", "--engine", "daft", "--model", str(model), "README.md", "-o", "x"]) == 1
    assert capsys.readouterr().err == "treetok: --engine daft needs daft: pip install daft ray\n"


def test_daft_is_told_not_to_report_usage_before_it_is_imported():
    code = """if True:
        import os, sys

        class Watch:
            def find_spec(self, name, path, target=None):
                if name == "daft":
                    print("DO_NOT_TRACK is", os.environ.get("DO_NOT_TRACK"))

        sys.meta_path.insert(0, Watch())
        import treetok.cluster.shards
    """
    without = {name: value for name, value in os.environ.items() if name != "DO_NOT_TRACK"}
    result = subprocess.run([sys.executable, "-c", code], env=without, capture_output=True, text=True, check=True)
    assert result.stdout == "DO_NOT_TRACK is true\n"


def test_sources_without_a_size_are_read_whole():
    assert cut_into_shards([Source("https://host/a.txt", 0)], 1024) == [Shard("https://host/a.txt", 0, 0, 0)]

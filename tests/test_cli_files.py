"""The commands on files: counting, decoding files of ids, and being ended half-way."""

import contextlib
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import SAMPLE_FILES
from test_cli import run
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main, make_parser
from treetok.cli.id_files import read_ids

TEXT = "Windsurfers tricycled unhappily.\n\nCafé 東京\u3000👍  done"


@pytest.fixture
def files(tmp_path):
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "plain.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    rows = [{"body": line} for line in TEXT.split("\n")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    table = pyarrow.table({"body": [row["body"] for row in rows]})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    return [tmp_path / name for name in ("plain.txt", "packed.txt.gz", "rows.jsonl", "rows.parquet")]


@pytest.mark.parametrize("model", ["en", "en-uncased"])
def test_counts_of_all_kinds_of_files(files, model, capsys):
    tokenizer = TreeTokenizer.load(model)
    command = ["count", *map(str, files), "--model", model, "--text-column", "body", "--quiet"]
    assert main([*command, "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    of_text = {"tokens": tokenizer.count_tokens(TEXT), "words": 7, "characters": len(TEXT)}
    lines = TEXT.split("\n")
    of_rows = {"tokens": sum(tokenizer.count_tokens(lines)), "words": 7, "characters": sum(map(len, lines))}
    assert [row.pop("file") for row in counted["files"]] == list(map(str, files))
    assert counted["files"] == [of_text, of_text, of_rows, of_rows]
    assert counted["total"] == {name: 2 * of_text[name] + 2 * of_rows[name] for name in of_text}
    assert main(command) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["tokens", "words", "characters", "file"]
    assert [row.split() for row in rows[:-1]] == [
        [*map(str, figures.values()), str(path)] for path, figures in zip(files, counted["files"], strict=True)
    ]
    assert rows[-1].split() == [*map(str, counted["total"].values()), "total"]


def test_counts_do_not_depend_on_blocks(monkeypatch, tmp_path):
    text = "".join(path.read_text(encoding="utf-8") for path in SAMPLE_FILES)
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr("treetok.corpus.reading.BLOCK_BYTES", 1000)
    monkeypatch.setattr("treetok.count_files.COUNTED_AT_ONCE", 3000)
    for name in ("en", "en-uncased"):
        tokenizer = TreeTokenizer.load(name)
        (found,) = tokenizer.count_files(path, threads=2, progress=False)
        assert found.tokens == tokenizer.count_tokens(text)
        assert (found.words, found.characters) == (len(text.split()), len(text))


def test_counting_standard_input():
    status, output, _ = run("count", "-", "--model", "en", text=b"one two")
    assert (status, output.splitlines()[1].split()) == (0, ["2", "2", "7", "-"])


@pytest.mark.parametrize("name", ["ids.bin", "ids.npy"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_files_of_ids_are_decoded(files, tmp_path, name, dtype, monkeypatch, capfdbinary):
    # So that characters and markers are cut in the middle.
    monkeypatch.setattr("treetok.cli.id_files.IDS_AT_ONCE", 2)
    text, ids = str(files[0]), str(tmp_path / name)
    options = ["--model", "en", "--dtype", dtype]
    assert main(["encode", text, text, "-o", ids, "--end", "<|endoftext|>", *options]) == 0
    capfdbinary.readouterr()
    if name == "ids.npy":
        options = options[:2]
    assert main(["decode", ids, *options]) == 0
    assert capfdbinary.readouterr().out.decode() == f"{TEXT}<|endoftext|>" * 2
    assert main(["decode", ids, ids, "--skip-special-tokens", *options]) == 0
    assert capfdbinary.readouterr().out.decode() == TEXT * 4


def content_of(ids):
    file = io.BytesIO()
    np.save(file, ids)
    return file.getvalue()


def test_a_file_of_ids_that_is_made_shorter_does_not_end_the_process(tmp_path):
    """As it would if it were mapped into memory."""
    ids = np.full(1 << 18, 300, dtype=np.uint16)
    for name, content in (("ids.bin", ids.tobytes()), ("ids.npy", content_of(ids))):
        path = tmp_path / name
        path.write_bytes(content)
        parts = read_ids(str(path), "uint16", 32_000)
        next(parts)
        os.truncate(path, 100)
        with pytest.raises(TreetokError, match=f"{name} (has|changed)"):
            list(parts)


def test_files_that_are_not_of_ids(tmp_path, capsys):
    archive, objects = io.BytesIO(), io.BytesIO()
    np.savez(archive, ids=np.arange(3))
    np.save(objects, np.array([{}]), allow_pickle=True)
    cases = {
        "odd.bin": (b"abc", "odd.bin has 3 bytes, which are no whole uint16 numbers: see --dtype"),
        "large.bin": (
            b"\xff\xff",
            "token id 65535 is out of range: .*; is it of this tokenizer",
        ),
        "text.npy": (b"no array", "text.npy is not a .npy file of ids: the magic string is not correct"),
        "empty.npy": (b"", "empty.npy is not a .npy file of ids"),
        "archive.npy": (archive.getvalue(), "archive.npy is not a .npy file of ids"),
        "objects.npy": (objects.getvalue(), "objects.npy is not a .npy file of ids: it has values of type object"),
    }
    for number, shape in enumerate(
        ["5", "(-5,)", "(True,)", "(" + "9" * 3000 + ",)", "(" * 3000, "-" * 9000 + "1", "'"]
    ):
        head = f"{{'descr': '<u2', 'fortran_order': False, 'shape': {shape}}}\n".encode()
        content = b"\x93NUMPY\2\0" + len(head).to_bytes(4, "little") + head
        cases[f"head{number}.npy"] = (content, f"head{number}.npy is not a|has 0 ids, not ")
    cases["short.npy"] = (content_of(np.arange(5, dtype=np.uint16))[:-2], "short.npy has 4 ids, not 5")
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        assert main(["decode", "--model", "en", str(tmp_path / name)]) == 1
        errors = capsys.readouterr().err
        assert errors.count("\n") == 1
        assert re.search(message, errors) and "allow_pickle" not in errors, errors
    np.save(tmp_path / "square.npy", np.zeros((2, 2)))
    assert main(["decode", "--model", "en", str(tmp_path / "square.npy")]) == 1
    assert "it has values of type float64 and shape (2, 2)" in capsys.readouterr().err
    (tmp_path / "empty.bin").write_bytes(b"")
    assert main(["decode", "--model", "en", str(tmp_path / "empty.bin")]) == 0
    assert capsys.readouterr() == ("", "")


def test_termination_leaves_no_file(tmp_path):
    """SIGTERM in the middle of `encode -o`: what is unfinished is removed."""
    fifo = tmp_path / "endless.txt"
    os.mkfifo(fifo)
    output = tmp_path / "out.bin"
    command = [sys.executable, "-m", "treetok", "encode", str(fifo), "--model", "en", "-o", str(output)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    with fifo.open("wb", buffering=0) as file:
        file.write(b"walking " * 1000)
        for _ in range(600):
            if list(tmp_path.glob(".out.bin.*")):
                break
            time.sleep(0.1)
        assert list(tmp_path.glob(".out.bin.*"))
        process.send_signal(signal.SIGTERM)
        # A signal just before a read is noticed after it, so there is always something more to read.
        with contextlib.suppress(BrokenPipeError):
            while process.poll() is None:
                file.write(b"walking " * 1000)
                time.sleep(0.01)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert sorted(tmp_path.iterdir()) == [fifo]


class Halves:
    def split_scores(self, words):
        return [[-abs(2 * at + 2 - len(word)) for at in range(len(word) - 1)] for word in words]


def test_info_says_what_runs(tmp_path, capsys):
    TreeTokenizer.train(["some words"], 267, trees=Halves(), progress=False).save(tmp_path)
    assert main(["info", str(tmp_path)]) == 0
    assert "plain Python, since its trees come from a Python object" in capsys.readouterr().out


def test_help_of_every_command_has_an_example_that_can_be_read(capsys):
    commands = make_parser()._subparsers._group_actions[0].choices
    assert len(commands) == 9
    for name, parser in commands.items():
        text = parser.format_help()
        lines = [line.strip() for line in text.split("example")[-1].splitlines()[1:]]
        assert lines, name
        for line in lines:
            words = line.split("| ")[-1].split(" > ")[0].replace("'", "").split()
            assert words[:2] == ["treetok", name]
            # Its options exist.
            parser.parse_args(words[2:])

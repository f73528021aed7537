import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import ROOT, SAMPLE_FILES
from treetok import TreeTokenizer, __version__
from treetok.cli import encode_decode, main


def last_line(output):
    return output.rstrip("\n").rsplit("\n", 1)[-1]


def run(*arguments, text=b"", **options):
    """The command as a user runs it: (exit status, stdout, stderr)."""
    command = [sys.executable, "-m", "treetok", *map(str, arguments)]
    result = subprocess.run(command, input=text, capture_output=True, check=False, **options)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("trained") / "model"
    status, output, errors = run("train", *SAMPLE_FILES, "-o", directory, "--vocab-size", 900, "--trees", "counts")
    # Stages that take long are shown, on a busy machine.
    assert status == 0, errors
    table, last = output.rstrip("\n").rsplit("\n", 1)
    assert last == f"{directory}: 900 tokens, profile lossless"
    assert [line.split()[0] for line in table.split("\n")] == ["stage", "words", "vocabulary"]
    return directory


def test_train_equals_the_python_call(model):
    expected = TreeTokenizer.train(SAMPLE_FILES, 900, trees="counts", progress=False)
    assert TreeTokenizer.load(model).state.entries == expected.state.entries


def test_lines_round_trip(model):
    text = "Windsurfers tricycled.\n\n  naïve 東京\r\nlast line\n"
    status, ids, errors = run("encode", "--model", model, text=text.encode())
    assert (status, errors) == (0, "")
    tokenizer = TreeTokenizer.load(model)
    assert [list(map(int, line.split())) for line in ids.split("\n")[:-1]] == [
        tokenizer.encode(line) for line in text.split("\n")[:-1]
    ]
    assert run("encode", "--model", model, "--ids", text=text.encode()) == (0, ids, "")
    assert run("decode", "--model", model, text=ids.encode()) == (0, text, "")


def test_files_and_standard_input_in_turn(model, tmp_path):
    (tmp_path / "a").write_text("one\n", encoding="utf-8")
    (tmp_path / "b").write_text("two", encoding="utf-8")
    status, ids, _ = run("encode", tmp_path / "a", "-", tmp_path / "b", "--model", model, text=b"three\n")
    assert status == 0
    assert run("decode", "--model", model, text=ids.encode())[1] == "one\nthree\ntwo"
    # A file is a line at least, also where its last line does not end.
    status, ids, _ = run("encode", tmp_path / "b", tmp_path / "a", tmp_path / "b", "--model", model)
    assert run("decode", "--model", model, text=ids.encode())[1] == "two\none\ntwo"


def test_lines_encoded_in_groups_are_written_like_lines_of_one_group(model, tmp_path, monkeypatch, capfdbinary):
    (tmp_path / "a").write_text("one\ntwo", encoding="utf-8")
    (tmp_path / "b").write_text("three\n\nfour", encoding="utf-8")
    outputs = []
    for size in (100, 1, 2, 3):
        monkeypatch.setattr(encode_decode, "LINES_AT_ONCE", size)
        assert main(["encode", str(tmp_path / "a"), str(tmp_path / "b"), "--model", str(model)]) == 0
        outputs.append(capfdbinary.readouterr().out)
    assert outputs == outputs[:1] * 4
    assert outputs[0].count(b"\n") == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\n\n",
        "one",
        "one\n",
        "one\n\n",
        "\none",
        "a\r\nb\r\n",
        "a\r\nb\r",
        "\r",
        " ",
        "\ufeffa\x00\n\x0c東",
    ],
)
def test_the_pipe_gives_back_every_byte(monkeypatch, capfdbinary, text):
    def output(command, given):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given), isatty=lambda: False))
        assert main([command, "--model", "en"]) == 0
        return capfdbinary.readouterr().out

    ids = output("encode", text.encode())
    assert ids.count(b"\n") == text.count("\n")
    assert output("decode", ids) == text.encode()


def test_tokens_show_spaces_and_controls():
    status, output, _ = run("encode", "--model", "en", "--tokens", text=b"the wind\t!\n")
    assert (status, output) == (0, "the ␣wind \\u0009 !\n")


def test_output_is_utf8_in_any_locale():
    text = "naïve 東京\n"
    environment = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PATH": ""}
    _, ids, _ = run("encode", "--model", "en", text=text.encode(), env=environment)
    assert run("decode", "--model", "en", text=ids.encode(), env=environment)[1] == text


def test_tree(tmp_path):
    picture = tmp_path / "tree.svg"
    status, output, _ = run("tree", "walked", "--model", "en-uncased", "--svg", picture)
    tokenizer = TreeTokenizer.load("en-uncased")
    tree = tokenizer.tree("walked")
    assert status == 0
    assert output == f"{tree}\n{tree.brackets()}\n{' + '.join(tokenizer.segment('walked'))}\n"
    assert picture.read_text(encoding="utf-8") == tree.svg()
    assert run("tree", "walks", "talks", "--model", "en")[1].count("\n\n") == 1


def test_info(model):
    status, output, _ = run("info", model)
    rows = dict(line.split("  ", 1) for line in output.strip().split("\n"))
    assert status == 0
    assert rows["profile"].strip() == "lossless, version 2"
    assert rows["tokens"].strip() == "900"
    assert rows["trees"].strip() == "counts"
    assert run("info", "en")[0] == 0


def test_uncased_training_with_options(tmp_path):
    corpus = tmp_path / "rows.jsonl"
    corpus.write_text('{"body": "Walkers walk; walking talkers talk."}\n', encoding="utf-8")
    options = ["--profile", "uncased", "--vocab-size", 22, "--text-column", "body", "--special-token", "[UNK]"]
    options += ["--trees", "counts"]
    status, output, _ = run("train", corpus, "-o", tmp_path / "m", *options, "--memory-limit", "1GB", "--seed", 3)
    assert (status, last_line(output)) == (0, f"{tmp_path / 'm'}: 22 tokens, profile uncased")
    assert run("info", tmp_path / "m")[1].count("[UNK] = 0") == 1


def test_too_little_text_is_reported_in_one_line(tmp_path):
    corpus = tmp_path / "tiny.txt"
    corpus.write_text("a b\n", encoding="utf-8")
    status, _, errors = run("train", corpus, "-o", tmp_path / "m", "--trees", "counts")
    assert status == 0
    assert errors == "treetok: the text supports no more than 263 tokens; 30000 were asked for\n"


def bad_inputs(tmp_path):
    good, empty, latin = tmp_path / "good.txt", tmp_path / "empty.txt", tmp_path / "latin.txt"
    good.write_text("walkers walk\n", encoding="utf-8")
    empty.write_bytes(b"")
    latin.write_bytes(b"fine\ncaf\xe9\n")
    out = ["-o", tmp_path / "out"]
    yield ["train", tmp_path / "missing.txt", *out], "no such file"
    yield ["train", tmp_path, *out], "is a directory, not a text file"
    yield ["train", empty, *out], "the corpus has no words"
    yield ["train", latin, *out], "latin.txt, line 2: byte 0xe9 is not UTF-8"
    yield ["train", good, *out, "--vocab-size", 50], "a vocabulary of 50 is too small"
    yield ["train", good, *out, "--vocab-size", -5], "--vocab-size must be a whole number"
    yield ["train", good, *out, "--vocab", "paper", "--alignment", 1], "--alignment is for --vocab compact alone"
    yield ["train", good, *out, "--trees", "counts", "--resume"], "--resume: for neural trees alone"
    yield ["encode", good, "--model", "en", "--threads", 0], "--threads must be a whole number of 1 or more"
    yield ["count", good, "--model", "en", "--threads", 0], "--threads must be a whole number of 1 or more"
    yield ["count", tmp_path / "missing.txt", "--model", "en"], "no such file"
    yield ["count", good, latin, "--model", "en"], "latin.txt, line 2: byte 0xe9 is not UTF-8"
    yield ["decode", "--model", "en", tmp_path / "missing.bin"], "no such file"
    yield ["decode", "--model", "en", tmp_path / "missing.npy"], "no such file"
    yield ["train", good, *out, "--trees", "oracle"], "unknown trees 'oracle'"
    yield ["train", good, *out, "--memory-limit", "lots"], "--memory-limit must be an amount of memory, like 2GB"
    yield ["train", good, "-o", good], "it is a file, not a directory"
    yield ["train", good, "-o", ""], "it is not the name of a directory"
    yield ["train", good, "-o", good / "below"], "cannot save to"
    yield ["info", "x" * 300], "no tokenizer"
    yield ["encode", "--model", "nope"], "no tokenizer 'nope'"
    yield ["encode", "--model", tmp_path], "treetok.json is missing"
    yield ["encode", "--model", "en", latin], "latin.txt, line 2: byte 0xe9 is not UTF-8"
    yield ["encode", "--model", "en", tmp_path / "missing"], "no such file"
    yield ["decode", "--model", "en", good], "good.txt, line 1: not a line of ids: 'walkers'"
    for number, (line, message) in enumerate(
        (
            (b"9" * 5000, "a number of 5000 digits is not the id of a token"),
            (b"-1", "not a line of ids: '-1'"),
            (b"+1", "not a line of ids: '+1'"),
            (b"1_0", "not a line of ids: '_0'"),
            ("١".encode(), "not a line of ids: '١'"),
            (b"1\0\x1b[1m", r"not a line of ids: '\x00\x1b[1m'"),
            (b"99999", "token id 99999 is out of range: ids run from 0 to 32001"),
        )
    ):
        ids = tmp_path / f"ids{number}.txt"
        ids.write_bytes(b"\n" + line + b"\n")
        yield ["decode", "--model", "en", ids], f"ids{number}.txt, line 2: {message}"
    yield ["count", "a\nb", "--model", "en"], r"no such file: a\u000ab"
    yield ["train", good, *out, "--memory-limit", "9" * 5000], "--memory-limit must be an amount of memory"
    yield ["tree", "", "--model", "en"], "there is no word"
    yield ["tree", "a", "--model", "en", "--svg", tmp_path / "no" / "dir.svg"], "cannot write"
    yield ["info", tmp_path / "nowhere"], "no tokenizer"


def test_bad_input_is_one_clear_line_and_status_1(tmp_path, capsys):
    tried = 0
    for arguments, message in bad_inputs(tmp_path):
        assert main([str(argument) for argument in arguments]) == 1, arguments
        output, errors = capsys.readouterr()
        # The lines before the bad one have been encoded.
        assert output.count("\n") == (1 if "line 2" in errors and arguments[0] in ("encode", "decode") else 0)
        assert errors.startswith("treetok: ")
        assert errors.count("\n") == 1
        assert message in errors, arguments
        tried += 1
    assert tried == 37
    assert not (tmp_path / "out").exists()


def test_memory_that_runs_out_is_one_line(monkeypatch, capsys):
    def load(name):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(TreeTokenizer, "load", load)
    for command in (["encode"], ["decode"], ["count", "README.md"], ["tree", "walk"]):
        assert main([*command, "--model", "en"]) == 1
        output, errors = capsys.readouterr()
        assert (
            output == ""
            and errors.startswith("treetok: out of memory: fewer --threads")
            and errors.count("\n") == 1
        )


def test_long_lines_are_refused_with_their_number(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("treetok.corpus.lines.LONGEST_LINE", 100)
    (tmp_path / "a.txt").write_text("1 2\n" + "1 " * 60)
    for command in ("encode", "decode"):
        assert main([command, "--model", "en", str(tmp_path / "a.txt")]) == 1
        output, errors = capsys.readouterr()
        assert output.count("\n") == 1 and "a.txt, line 2: the line has more than" in errors


def test_lines_of_many_ids(tmp_path, monkeypatch, capsys):
    """They are written, and read again, in parts."""
    monkeypatch.setattr(encode_decode, "IDS_AT_ONCE", 3)
    text = "Windsurfers tricycled.\n\n  naïve 東京\r\nlast line"
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert main(["encode", "--model", "en", str(tmp_path / "a.txt")]) == 0
    ids = capsys.readouterr().out
    assert ids.split("\n") == [
        " ".join(map(str, TreeTokenizer.load("en").encode(line))) for line in text.split("\n")
    ]
    (tmp_path / "ids.txt").write_text(ids)
    assert main(["decode", "--model", "en", str(tmp_path / "ids.txt")]) == 0
    assert capsys.readouterr().out == text


def test_ids_out_of_range_name_the_line():
    status, output, errors = run("decode", "--model", "en", text=b"1 2\n3 99999\n")
    assert status == 1
    assert output.count("\n") == 1
    assert errors == "treetok: standard input, line 2: token id 99999 is out of range: ids run from 0 to 32001\n"


def test_output_that_cannot_be_written_is_one_line():
    for command in ("info en", "tree walk --model en", "vocab en", "encode --model en < README.md"):
        line = f"{sys.executable} -m treetok {command} > /dev/full"
        result = subprocess.run(["bash", "-c", line], capture_output=True, check=False, cwd=ROOT)
        assert result.returncode == 1
        assert result.stderr == b"treetok: cannot write to standard output: No space left on device\n"


def test_closed_streams(tmp_path):
    def outcome(command):
        line = f"{sys.executable} -m treetok {command}"
        result = subprocess.run(["bash", "-c", line], capture_output=True, check=False, cwd=ROOT)
        return result.returncode, result.stderr

    lost = b"treetok: cannot write to standard output: it is closed\n"
    for command in (
        "info en",
        "vocab en",
        "tree walk --model en",
        "count README.md --model en --quiet",
        "encode --model en < README.md",
        "decode --model en <<< '1 2'",
    ):
        assert outcome(f"{command} >&-") == (1, lost), command
    # Nothing is lost here.
    assert outcome("info en 2>&-") == (0, b"")
    assert outcome("encode --model en < /dev/null >&-") == (0, b"")
    ids = tmp_path / "ids.bin"
    status, errors = outcome(f"encode README.md --model en -o {ids} >&-")
    assert status == 0 and errors.startswith(f"{ids}: {ids.stat().st_size // 2} ids".encode())
    assert outcome("encode --model en <&-") == (1, b"treetok: standard input is closed\n")


def test_training_reads_standard_input(tmp_path):
    status, output, _ = run(
        "train", "-", "-o", tmp_path / "m", "--vocab-size", 262, "--trees", "counts", text=b"low lower lowest"
    )
    assert (status, last_line(output)) == (0, f"{tmp_path / 'm'}: 262 tokens, profile lossless")


def test_a_failed_training_leaves_the_old_model(model, tmp_path):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    (tmp_path / "bad.txt").write_bytes(b"\xff\n")
    assert run("train", tmp_path / "bad.txt", "-o", model, "--trees", "counts", "--force")[0] == 1
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_a_tokenizer_is_replaced_only_by_force(tmp_path, capsys):
    corpus, out = tmp_path / "corpus.txt", tmp_path / "m"
    corpus.write_text("low lower lowest\n", encoding="utf-8")
    command = ["train", str(corpus), "-o", str(out), "--trees", "counts", "--vocab-size"]
    assert main([*command, "262"]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for options, message in (
        ([], f"{out} already has a tokenizer: pass --force to replace it"),
        (["--resume"], "--resume: for neural trees alone (--trees neural)"),
    ):
        capsys.readouterr()
        assert main([*command, "263", *options]) == 1
        assert capsys.readouterr() == ("", f"treetok: {message}\n")
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert main([*command, "263", "--force"]) == 0
    assert TreeTokenizer.load(out).vocab_size == 263


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sing"],
        ["train"],
        ["train", "x"],
        ["train", "x", "-o", "y", "--profile", "cased"],
        ["encode"],
        ["count"],
        ["tree", "a", "b", "--model", "en", "--svg", "x"],
    ],
)
def test_wrong_usage_is_status_2(arguments):
    status, output, errors = run(*arguments)
    assert (status, output) == (2, "")
    assert errors.startswith("usage: treetok")


def test_version():
    assert run("--version") == (0, f"treetok {__version__}\n", "")


def test_a_closed_pipe_is_not_an_error():
    command = f"yes 'the wind' | head -n 50000 | {sys.executable} -m treetok encode --model en | head -n 1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert result.stderr == b""
    assert result.stdout.count(b"\n") == 1


def test_ctrl_c_while_modules_are_imported_is_one_line():
    """It comes with the first import of the command itself."""
    script = (
        "import runpy, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'treetok.tokenizer': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "runpy.run_module('treetok', run_name='__main__')\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (130, b"treetok: interrupted\n")

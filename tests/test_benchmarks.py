"""The benchmarks of encoding and counting as commands, on little text."""

import doctest
import importlib
import importlib.util
import json
import subprocess
import sys

import pytest

from conftest import ROOT, SAMPLE_FILES
from treetok.native import why_not_native

TITLES = {
    "treetok": "treetok `en`",
    "reference": "treetok `en`, plain Python",
    "hf-bpe": "HF tokenizers, BPE",
    "sentencepiece": "SentencePiece, unigram",
    "tiktoken": "tiktoken, BPE",
}


def run(script, *arguments):
    command = [sys.executable, ROOT / "benchmarks" / script, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    size = ["--megabytes", 0.02, "--train-megabytes", 0.1, "--vocab-size", 600, "--rounds", 2, "--repeats", 1]
    texts = ["--text", SAMPLE_FILES[1], "--train-text", SAMPLE_FILES[0], "--cache", folder / "cache"]
    files = ["--out", folder / "encode.json", "--plot", folder / "encode.svg"]
    run("encode.py", *texts, *size, *files, "--only", ",".join([*TITLES, "gigatoken"]))
    return folder


@pytest.fixture(scope="module")
def encode(folder):
    return json.loads((folder / "encode.json").read_text(encoding="utf-8"))


def rows(result, title):
    [grid] = [table["grid"] for table in result["tables"] if table["title"].startswith(title)]
    return {row[0]: row[1:] for row in grid[1:]}


def test_every_library_does_every_task(encode):
    for title in ("Warm caches", "First touch", "How each library is called"):
        assert set(TITLES.values()) <= set(rows(encode, title))
    [text] = encode["figures"]["texts"]
    for library in TITLES:
        tasks = {"line", "batch", "flat", "text"}
        if library in ("treetok", "reference"):
            tasks |= {"file", "two threads"}
        assert set(text["seconds"][library]) == tasks
        # The warm-up round is not among them.
        assert all(len(of_task) == 2 and min(of_task) > 0 for of_task in text["seconds"][library].values())
    assert all(float(cell) > 0 for cell in rows(encode, "Ratios")["treetok `en` : tiktoken, BPE"][:4])
    assert set(rows(encode, "Threads")) == {TITLES["treetok"], TITLES["reference"]}


def test_ids_are_compared(encode):
    [text] = encode["figures"]["texts"]
    assert text["other_ids"]["tiktoken"] == 0
    assert text["differing"] == {}
    assert text["tokens"]["tiktoken"] == text["tokens"]["hf-bpe"]
    assert text["tokens"]["treetok"] == text["tokens"]["reference"] != text["tokens"]["hf-bpe"]


def test_what_is_not_installed_is_listed(encode):
    missing = importlib.util.find_spec("gigatoken") is None
    assert ("gigatoken, BPE (ModuleNotFoundError" in encode["notes"]["missing"]) == missing


def test_first_touch_has_its_parts(encode):
    for figures in encode["figures"]["first touch"].values():
        parts = sum(figures[f"{part} seconds"] for part in ("import", "load", "encode"))
        assert 0 < parts < figures["whole seconds"]
        assert figures["resident bytes"] > 0


def test_tables_and_chart(folder, encode):
    assert encode["command"].startswith("python benchmarks/encode.py")
    document = folder / "performance.md"
    command = [
        sys.executable,
        ROOT / "experiments/write_results.py",
        folder / "encode.json",
        "--document",
        document,
    ]
    subprocess.run(command, check=True)
    written = document.read_text(encoding="utf-8")
    assert written.count("<!-- begin encode -->") == 1
    assert written.count("\n| HF tokenizers, BPE |") == 3
    chart = (folder / "encode.svg").read_text(encoding="utf-8")
    assert "SentencePiece, unigram" in chart


@pytest.mark.parametrize("script", ["encode", "load", "rival_vocabularies", "scaling_encode", "unknown_words"])
def test_examples(script, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    results = doctest.testmod(importlib.import_module(script))
    assert results.attempted and not results.failed


def test_scaling(folder):
    sizes = ["--text-megabytes", 0.01, "--word-kilobytes", 0.5, "--line-megabytes", 0.01, "--unknown-words", 20]
    run("scaling_encode.py", SAMPLE_FILES[0], *sizes, "--out", folder / "scaling.json")
    grid = json.loads((folder / "scaling.json").read_text(encoding="utf-8"))["grid"]
    assert [row[:2] for row in grid[1:]] == [
        ["text", "0.01 MB"],
        ["one word", "0.5 kB"],
        ["one line", "0.01 MB"],
        ["unknown words", "20 words"],
    ]
    assert all(float(row[2]) > 0 for row in grid[1:])


def test_unknown_words(folder):
    text = folder / "unknown.txt"
    text.write_text(
        "The windsurfer met a blorptastic snorfelator, and the Snorfelator blinked.\n", encoding="utf-8"
    )
    cache, out = folder / "cache", folder / "unknown_words.json"
    run("unknown_words.py", text, "--cache", cache, "--processes", 2, "--out", out)
    result = json.loads(out.read_text(encoding="utf-8"))
    # Three of ten words and punctuation marks; they are told apart by their case.
    assert result["notes"]["words"].startswith("3 distinct ones of unknown.txt that en asks its parser for")
    assert "25.00 % of 12 running words" in result["notes"]["words"]
    cases = [row[0] for row in result["grid"][1:]]
    assert cases[0] == "first batch after loading" and "HF tokenizers, BPE, words unknown" in cases
    assert ("the parser alone" in cases) == (why_not_native() is None)
    assert all(0 < float(row[1]) <= float(row[2]) for row in result["grid"][1:])
    assert all(len(seconds) == 2 for seconds in result["figures"].values())


def test_load(folder):
    run(
        "load.py",
        "--cache",
        folder / "cache",
        "--only",
        "treetok,hf-bpe",
        "--processes",
        1,
        "--out",
        folder / "load.json",
    )
    result = json.loads((folder / "load.json").read_text(encoding="utf-8"))
    assert [row[0] for row in result["grid"][1:]] == ["treetok `en`", "HF tokenizers, BPE"]
    [figures] = result["figures"]["treetok"]
    assert 0 < figures["import seconds"] + figures["load seconds"] < figures["whole seconds"]


def test_counting():
    lines = run("counting.py", SAMPLE_FILES[0], "--megabytes", 0.02, "--rounds", 1).splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == [
        "treetok, lossless",
        "treetok, uncased",
        "duckdb, string_split",
        "duckdb, regexp",
    ]
    missing = importlib.util.find_spec("duckdb") is None
    assert all(("missing" in line) == missing for line in lines[3:])

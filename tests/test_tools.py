"""The tools for machines without network, one after the other, on little text."""

import os
import subprocess
import sys

import pytest
import safetensors.numpy

from conftest import ROOT, SAMPLE_FILES
from treetok import Tree, TreeTokenizer
from treetok.lexicon import Lexicon

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

MEMBERS = ["--member", "bpe:300", "--member", "stems:300:0.5"]
SMALL = ["--preset", "tiny", "--steps", 3, "--report-every", 1, "--evaluate-every", 3]


def run(script, *arguments, status=0):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, ROOT / script, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == status, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr if status else result.stdout


def trees_in(directory):
    arrays = safetensors.numpy.load_file(directory / "words.safetensors")
    lexicon = Lexicon(arrays["text"].tobytes().decode(), arrays["lengths"], arrays["depths"])
    return {word: lexicon.scores(word) for word in lexicon.words()}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "text.txt"
    path.write_text(SAMPLE_FILES[0].read_text(encoding="utf-8")[:4000], encoding="utf-8")
    return path


def test_from_text_to_a_tokenizer(corpus):
    gold = corpus.with_name("gold.tsv")
    gold.write_text("walked\twalk ed\nlighthouse\tlight house\n", encoding="utf-8")
    first, second, parser, tokenizer = (
        corpus.with_name(name) for name in ("first", "second", "parser", "tokenizer")
    )
    # The first run has no time to train anything beyond its first step.
    run("tools/train_trees.py", corpus, first, *SMALL, *MEMBERS, "--minutes", 0)
    assert sorted(path.name for path in first.iterdir() if path.suffix == ".safetensors") == [
        "first_moments.safetensors",
        "parameters.safetensors",
        "second_moments.safetensors",
    ]
    news = run("tools/train_trees.py", corpus, second, *SMALL, *MEMBERS, "--resume", first, "--gold", gold)
    assert '"starting_at": 1' in news and '"saved": true' in news
    assert sorted(path.name for path in second.iterdir()) == [
        "member-1.safetensors",
        "member-2.safetensors",
        "run.jsonl",
        "words.safetensors",
    ]
    picture = corpus.with_name("curve.svg")
    run("tools/draw_curves.py", second / "run.jsonl", picture)
    assert "model 2" in picture.read_text(encoding="utf-8")
    # Words of another text get their trees from the same models.
    words, other, third, morphs = (
        corpus.with_name(name) for name in ("words.tsv", "other.txt", "third", "morphs.txt")
    )
    other.write_text("zyzzyvas windsurfing windsurfing\n", encoding="utf-8")
    run("tools/count_words.py", other, corpus, "--out", words)
    assert {"windsurfing\t2", "zyzzyvas\t1"} <= set(words.read_text(encoding="utf-8").split("\n"))
    run("tools/read_trees.py", second, third, "--words", words)
    assert trees_in(second).items() < trees_in(third).items()
    # A space before a word belongs to no tree; a word of one file that is in another is counted in both.
    run("tools/count_words.py", other, "--out", words, "--profile", "lossless")
    assert "windsurfing\t2" in words.read_text(encoding="utf-8").split("\n")
    (third / "member-7.safetensors").touch()
    assert "another run" in run("tools/read_trees.py", second, third, "--words", words, status=1)
    (third / "member-7.safetensors").unlink()
    for option, value, message in (
        ("--dropout", 2, "dropout is at least 0 and below 1"),
        ("--minutes", 0, "more than 0"),
        ("--epochs", 0, "epochs of a distillation is at least 1"),
        ("--dimension", 7, "do not divide 7 dimensions"),
        ("--morphemes", corpus.with_name("none.txt"), "has no morphemes"),
    ):
        corpus.with_name("none.txt").touch()
        assert message in run("tools/distil_parser.py", third, parser, option, value, status=1)
    run("tools/morphs_of_trees.py", third, morphs, "--vocab-size", 200, "--min-word-count", 1)
    assert 10 < len(morphs.read_text(encoding="utf-8").split()) < 200
    made_up = ["--made-up", 20, "--morphemes", morphs]
    run("tools/distil_parser.py", third, parser, "--minutes", 0.05, *made_up)
    assert "are cut alike" in run(
        "tools/build_tokenizer.py", corpus, third, parser, tokenizer, "--vocab-size", 400
    )
    built = TreeTokenizer.load(tokenizer)
    assert built.vocab_size == 400
    assert built.state.lexicon.scores("windsurfing") == trees_in(third)["windsurfing"]
    # Not all words are kept, but all have the trees of the models.
    assert len(built.state.lexicon) < len(trees_in(third))
    for word, scores in trees_in(third).items():
        assert built.tree(word).spans() == Tree(word, scores).spans()
    assert "".join(built.segment("lighthousekeepers")) == "lighthousekeepers"
    members = [option for number in (1, 2) for option in ("--member", second / f"member-{number}.safetensors")]
    out = corpus.with_name("committee.json")
    assert "models 1 to 2" in run("experiments/committee.py", *members, "--gold", gold, "--out", out)


def test_bad_input_is_one_line(corpus):
    nowhere, out = corpus.with_name("nowhere"), corpus.with_name("out")
    assert "nothing to go on from" in run("tools/train_trees.py", corpus, out, "--resume", nowhere, status=1)
    assert "no such file" in run("tools/train_trees.py", nowhere, out, status=1)
    assert "words.safetensors" in run("tools/distil_parser.py", nowhere, out, status=1)
    assert "parser.safetensors" in run("tools/build_tokenizer.py", corpus, nowhere, nowhere, out, status=1)
    counts = corpus.with_name("counts.tsv")
    counts.write_text("walk\t3\nwalk three\n", encoding="utf-8")
    assert "has no members" in run("tools/read_trees.py", nowhere, out, "--words", counts, status=1)
    empty = corpus.with_name("empty")
    empty.mkdir()
    (empty / "member-1.safetensors").touch()
    assert "counts.tsv, line 2" in run("tools/read_trees.py", empty, out, "--words", counts, status=1)
    assert "words.safetensors" in run("tools/morphs_of_trees.py", nowhere, out, status=1)
    assert "no such file" in run("tools/count_words.py", nowhere, "--out", out, status=1)
    assert "'bpe:many'" in run("tools/train_trees.py", corpus, out, "--member", "bpe:many", status=2)

"""`treetok eval` as a user runs it."""

import json
import subprocess
import sys
from itertools import accumulate, pairwise
from xml.etree import ElementTree

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer
from treetok.cli import main
from treetok.evaluate.baselines.subword import train_baseline
from treetok.evaluate.baselines.top_down import top_down_only
from treetok.evaluate.load_tokenizer import load_tokenizers

TRAIN, HELD_OUT = SAMPLE_FILES[1:5], SAMPLE_FILES[0]
GOLD = """\
windsurfing\twind surf ing
walked\twalk ed
walks\twalk s
lighthouse\tlight house
bed\tbed
evening\teven ing, evening
boy's\tboy 's
"""


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text(GOLD, encoding="utf-8")
    return path


def evaluate(*arguments):
    return main(["eval", *map(str, arguments), "--quiet"])


def test_models_baselines_and_all_outputs(gold, tmp_path, capsys):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "md", "svg")}
    arguments = ["en-uncased", "--gold", gold, "--text", HELD_OUT, "--trees", "--against", "bpe,unigram,counts"]
    arguments += [part for path in TRAIN for part in ("--train-text", path)]
    arguments += ["--json", files["json"], "--markdown", files["md"], "--plot", files["svg"], "--vocab-size", 700]
    assert evaluate(*arguments) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    written = json.loads(files["json"].read_text(encoding="utf-8"))
    names = ["TreeTok en-uncased", "BPE", "Unigram", "TreeTok, trees from counts"]
    assert written["tokenizers"] == dict(zip(names, [30_000, 700, 700, 700], strict=True))
    assert [table["kind"] for table in written["tables"]] == ["segmentation", "text", "trees"]
    segmentation, text, trees = (table["rows"] for table in written["tables"])
    # The same as by hand.
    model = TreeTokenizer.load("en-uncased")
    alternatives = {
        word: [morphs.split(" ") for morphs in written.split(", ")]
        for word, written in (line.split("\t") for line in GOLD.splitlines())
    }
    right = [model.segment(word) in morphs for word, morphs in alternatives.items()]
    assert segmentation["TreeTok en-uncased"]["accuracy"]["value"] == pytest.approx(sum(right) / 7)
    sentences = [line for line in HELD_OUT.read_text(encoding="utf-8").split("\n") if line.strip()]
    tokens = sum(len(model.tokenize(sentence)) for sentence in sentences)
    assert text["TreeTok en-uncased"]["tokens_per_sentence"]["value"] == pytest.approx(tokens / len(sentences))
    assert {"left-branching", "right-branching", "balanced", "random", "counts", "TreeTok en-uncased"} <= set(
        trees
    )
    assert written["notes"]["profile"] == "uncased"
    assert written["tables"][2]["compared_with"] == "TreeTok en-uncased"
    assert set(written["tables"][2]["p_values"]) == set(trees) - {"TreeTok en-uncased"}
    # What the terminal, the document and the chart show.
    for name in names:
        assert output.count(f"\n{name} ") >= 2
        assert files["md"].read_text(encoding="utf-8").count(f"\n| {name} |") >= 2
    texts = [text.text for text in ElementTree.parse(files["svg"]).iter("{http://www.w3.org/2000/svg}text")]
    assert {*names, "gold"} <= set(texts)


def test_baselines_see_text_as_the_first_model_does(gold, tmp_path, capsys):
    arguments = [
        "en",
        "--gold",
        gold,
        "--against",
        "wordpiece",
        "--train-text",
        TRAIN[0],
        "--json",
        tmp_path / "o",
    ]
    assert evaluate(*arguments) == 0
    written = json.loads((tmp_path / "o").read_text(encoding="utf-8"))
    assert written["notes"]["profile"] == "lossless"
    assert written["notes"]["entries"] == 32_002
    capsys.readouterr()


def test_baselines_alone_with_both_pre_tokenizations(gold, capsys):
    arguments = [
        "--gold",
        gold,
        "--against",
        "bpe",
        "--train-text",
        TRAIN[0],
        "--pre-tokenization",
        "both",
        "--vocab-size",
        300,
    ]
    assert evaluate(*arguments) == 0
    output, _ = capsys.readouterr()
    assert [line.split("  ")[0] for line in output.split("\n")[3:5]] == ["BPE", "BPE (whitespace cuts)"]
    assert "profile: uncased" in output


def test_morfessor_is_a_baseline(gold, capsys):
    pytest.importorskip("morfessor")
    arguments = ["--gold", gold, "--against", "morfessor", "--train-text", TRAIN[0], "--morfessor-types", 200]
    assert evaluate(*arguments, "--trees") == 0
    output, _ = capsys.readouterr()
    assert "Morfessor trained on: the 200 most frequent of " in output
    assert output.count("\nMorfessor ") == 3
    # Without a model, trees are tested against the first trivial ones.
    assert "recall without leaves against left-branching." in output


def test_top_down_only_follows_the_tree(gold, tmp_path, capsys):
    # Needs no text: nothing is trained.
    arguments = ["--gold", gold, "--text", HELD_OUT, "--against", "top-down", "--json", tmp_path / "o"]
    assert evaluate("en-uncased", *arguments) == 0
    written = json.loads((tmp_path / "o").read_text(encoding="utf-8"))
    assert list(written["tokenizers"].values()) == [30_000, 30_000]
    rows = written["tables"][1]["rows"]
    assert list(rows) == ["TreeTok en-uncased", "TreeTok en-uncased, top-down only"]
    merged, top_down = (row["tokens_per_sentence"]["value"] for row in rows.values())
    assert merged < top_down
    capsys.readouterr()
    [model] = load_tokenizers(["en-uncased"])
    variant = top_down_only(model)
    differing = 0
    for word in sorted(set(HELD_OUT.read_text(encoding="utf-8").lower().split())):
        if word.isalpha():
            pieces = variant.segment(word)
            ends = [0, *accumulate(map(len, pieces))]
            assert set(pairwise(ends)) <= set(model.tokenizer.tree(word).spans())
            differing += model.segment(word) != pieces
    assert differing > 0
    assert evaluate("--gold", gold, "--against", "top-down") == 1
    assert "there is no TreeTok model here" in capsys.readouterr().err


def test_tokenizers_of_others(gold, tmp_path, capsys):
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "walk": 1, "##ed": 2, "##s": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "mine.json"))
    assert evaluate(tmp_path / "mine.json", "en-uncased", "--gold", gold, "--json", tmp_path / "o") == 0
    [table] = json.loads((tmp_path / "o").read_text(encoding="utf-8"))["tables"]
    assert table["compared_with"] == "mine"
    # walk ed, walk s, and what it knows nothing of stays whole: bed, evening.
    assert table["rows"]["mine"]["accuracy"]["value"] == pytest.approx(4 / 7)
    capsys.readouterr()


def test_two_of_one_name(gold, tmp_path, capsys):
    for folder in ("a", "b"):
        TreeTokenizer.load("en-uncased").save(tmp_path / folder / "model")
    assert evaluate(tmp_path / "a" / "model", tmp_path / "b" / "model", "--gold", gold) == 0
    output, _ = capsys.readouterr()
    assert f"\n{tmp_path / 'a' / 'model'} " in output
    assert evaluate("en", "en", "--gold", gold) == 1
    assert capsys.readouterr()[1] == "treetok: en is named twice\n"


def bad_inputs(tmp_path):
    files = {
        "tabless.tsv": "walked\twalk ed\nwalks walk s\n",
        "misspelt.tsv": "walked\twalk ed\nwalks\twal s\n",
        "empty.tsv": "",
        "blank.txt": "\n\n",
        "good.tsv": "walked\twalk ed\n",
        "good.txt": "walkers walk\n",
        "broken.json": "{",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    gold, text = ["--gold", tmp_path / "good.tsv"], ["--train-text", tmp_path / "good.txt"]
    yield ["en", "--gold", tmp_path / "tabless.tsv"], "tabless.tsv, line 2: "
    yield ["en", "--gold", tmp_path / "misspelt.tsv"], "misspelt.tsv, line 2: "
    yield ["en", "--gold", tmp_path / "empty.tsv"], "empty.tsv is empty"
    yield ["en", "--gold", tmp_path / "missing.tsv"], "no such file"
    yield ["en", *gold, "--gold", tmp_path / "misspelt.tsv"], "misspelt.tsv, line 2: "
    yield ["en", "--text", tmp_path / "blank.txt"], "blank.txt has no text"
    yield ["en", "--text", tmp_path / "missing.txt"], "no such file"
    yield ["nope", *gold], "no tokenizer 'nope'"
    yield [tmp_path / "broken.json", *gold], "broken.json is not a Hugging Face tokenizer.json"
    yield ["en", *gold, "--json", tmp_path / "no" / "file"], "cannot write"
    yield ["en", *gold, "--markdown", tmp_path], "cannot write"
    yield ["en", *gold, "--against", "bpe", "--train-text", tmp_path / "missing"], "no such file"
    yield ["en", *gold, "--against", "bpe", "--train-text", tmp_path / "empty.tsv"], "no words to train on"
    yield ["en", *gold, "--against", "bpe", *text, "--vocab-size", 3], "too small"
    yield ["en", *gold, "--against", "bpe", *text, "--vocab-size", 0], "whole number of 1 or more"
    yield (
        ["en", *gold, "--against", "bpe", *text, "--pre-tokenization", "whitespace"],
        "needs the profile 'uncased'",
    )


def test_bad_input_is_one_line_and_nothing_is_scored(tmp_path, capsys):
    tried = 0
    for arguments, message in bad_inputs(tmp_path):
        assert evaluate(*arguments) == 1, arguments
        output, errors = capsys.readouterr()
        assert output == ""
        assert errors.startswith("treetok: ")
        assert errors.count("\n") == 1
        assert message in errors, arguments
        tried += 1
    assert tried == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a MODEL"),
        (["en"], "give something to compare on"),
        (["--gold", "g"], "name a MODEL"),
        (["--gold", "g", "--against", "bpe"], "--against needs --train-text"),
        (["en", "--gold", "g", "--against", "bpe,gpt"], "unknown baseline 'gpt'"),
        (["en", "--text", "t", "--trees"], "--trees needs --gold"),
        (["en", "--gold", "g", "--plot", "p"], "--plot needs --gold and --text"),
        (["en", "--gold", "g", "--pre-tokenization", "other"], "invalid choice"),
        (["en", "--gold", "g", "--profile", "cased"], "invalid choice: 'cased'"),
    ],
)
def test_wrong_usage_is_status_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        evaluate(*arguments)
    assert stopped.value.code == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("usage: treetok eval")
    assert message in errors


def test_comparing_needs_no_pytorch(gold):
    code = (
        "import sys; from treetok.cli import main; status = main(['eval', 'en', '--gold', sys.argv[1]]);"
        "sys.exit(status or ('torch' in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code, gold], capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


def test_equal_pre_tokenization_is_that_of_the_profile():
    baseline = train_baseline("bpe", {"boy": 9, "'s": 9}, 20, "uncased")
    assert baseline.segment("boy's") == ["boy", "'s"]


def test_nothing_is_overwritten(gold, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("walked\n", encoding="utf-8")
    out = tmp_path / "out"
    for arguments in (
        ["--json", gold],
        ["--markdown", text],
        ["--json", out, "--markdown", tmp_path / "." / "out"],
    ):
        assert evaluate("en", "--gold", gold, "--text", text, *arguments) == 1
        assert "it is given twice" in capsys.readouterr().err
    assert gold.read_text(encoding="utf-8") == GOLD
    assert not out.exists()


def test_a_baseline_of_another_size_is_reported(gold, capsys):
    assert evaluate("--gold", gold, "--against", "bpe", "--train-text", TRAIN[0], "--vocab-size", 50_000) == 0
    assert "entries; 50000 were asked for" in capsys.readouterr().err

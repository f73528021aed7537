"""The experiments as commands, on little text."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, SAMPLE_FILES
from other_vocabulary import with_other_vocabulary
from result_files import save
from treetok import TreeTokenizer, TreetokError

GOLD = "walked\twalk ed\nlighthouse\tlight house\nbed\tbed\n"


def run(script, *arguments):
    command = [sys.executable, ROOT / "experiments" / script, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


# As benchmarks/encode.py writes it.
BENCHMARK = {
    "tables": [{"grid": [["MB/s"], ["treetok `en`", "1"], ["HF tokenizers, BPE", "2"]]}],
    "figures": {
        "texts": [
            {
                "name": "text",
                "megabytes": 1.0,
                "clock": "processor",
                "processor_seconds": {"treetok": {"line": [3e-6, 2e-6]}, "hf-bpe": {"line": [1e-3]}},
                "tokens": {"treetok": 1000, "hf-bpe": 2000},
            }
        ],
        "first touch": {
            "treetok": {"encode seconds": 3e-5, "tokens": 1000},
            "hf-bpe": {"encode seconds": 8e-4, "tokens": 2000},
        },
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments")
    (folder / "gold.tsv").write_text(GOLD, encoding="utf-8")
    shared = ["--train-text", SAMPLE_FILES[0], "--vocab-size", 400, "--model", "en-uncased"]
    gold, text = ["--gold", folder / "gold.tsv"], ["--text", SAMPLE_FILES[1]]
    run("table1_segmentation.py", *shared, *gold, "--against", "bpe,counts", "--out", folder / "table1.json")
    small = ["--perplexity", "--characters", 5000, "--layers", 1, "--dimension", 16, "--device", "cpu"]
    run("table2_compression.py", *shared, *text, *small, "--against", "unigram", "--out", folder / "table2.json")
    run("table3_trees.py", *shared, *gold, "--out", folder / "table3.json")
    run("case_study.py", *shared, "--against", "bpe", "--out", folder / "case_study.json")
    (folder / "encode.json").write_text(json.dumps(BENCHMARK), encoding="utf-8")
    run("timing.py", folder / "encode.json", "--out", folder / "timing.json")
    run("optimal_vocabulary.py", *shared, "--words", 300, "--out", folder / "optimal.json")
    # On the text itself: what is as short as can be there need not be so elsewhere.
    alignments = ["--alignments", "0,1", "--against", "", "--text", SAMPLE_FILES[0]]
    run("alignment.py", *shared, *gold, *alignments, "--out", folder / "alignment.json")
    pictures = ["--pictures", folder / "pictures"]
    run("tree_pictures.py", "walked", "--model", "en-uncased", *pictures, "--out", folder / "trees.json")
    run("segment_words.py", *shared, *text, "--against", "wordpiece", "--out", folder / "cuts")
    tables = [option for path in sorted((folder / "cuts").iterdir()) for option in ("--model", path)]
    from_tables = ["--train-text", SAMPLE_FILES[0], *tables, "--against", ""]
    run("table2_compression.py", *from_tables, *text, *small, "--out", folder / "table2_from_word_tables.json")
    two = ["--text", SAMPLE_FILES[0], *text, *small, "--against", ""]
    run("table2_compression.py", *shared, *two, "--out", folder / "table2_of_two_texts.json")
    # A model of its own: taking over the lexicon of en-uncased for every vocabulary would take a minute.
    small_model = TreeTokenizer.train(SAMPLE_FILES[:1], 400, "counts", "uncased", progress=False)
    small_model.save(folder / "small")
    equal = ["--against", "morfessor", "--morfessor-types", 300, "--text", SAMPLE_FILES[0]]
    run("equal_tokens.py", *shared[:-1], folder / "small", *gold, *equal, "--out", folder / "equal.json")
    sizes = ["--sizes", "500,400", "--plot", folder / "sizes.svg"]
    run(
        "vocabulary_sizes.py", *shared[:-1], folder / "small", *gold, *text, *sizes, "--out", folder / "sizes.json"
    )
    return folder


def result(folder, name):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def test_tables(folder):
    [table] = result(folder, "table1")["comparison"]["tables"]
    names = ["TreeTok en-uncased", "BPE", "BPE (whitespace cuts)", "TreeTok, trees from counts"]
    assert list(table["rows"]) == names
    [table] = result(folder, "table2")["comparison"]["tables"]
    for scores in table["rows"].values():
        assert scores["nats_per_sentence"]["value"] > 0
        assert scores["bits_per_character"]["value"] > 0
    assert table["compared_with"] == "TreeTok en-uncased"
    assert 0 < table["p_values"]["Unigram"]["nats_per_sentence"] <= 1
    [table] = result(folder, "table3")["comparison"]["tables"]
    assert {"left-branching", "counts", "TreeTok en-uncased"} <= set(table["rows"])


def test_word_tables_give_the_same_figures(folder):
    [table], [from_word_tables] = (
        result(folder, name)["comparison"]["tables"] for name in ("table2", "table2_from_word_tables")
    )
    assert list(from_word_tables["rows"]) == ["TreeTok en-uncased", "WordPiece"]
    assert from_word_tables["rows"]["TreeTok en-uncased"] == table["rows"]["TreeTok en-uncased"]


def test_every_text_has_a_table(folder):
    [alone] = result(folder, "table2")["comparison"]["tables"]
    other, same = result(folder, "table2_of_two_texts")["comparison"]["tables"]
    assert (other["name"], same["name"]) == (SAMPLE_FILES[0].stem, SAMPLE_FILES[1].stem)
    assert same["rows"]["TreeTok en-uncased"] == alone["rows"]["TreeTok en-uncased"]
    assert other["rows"]["TreeTok en-uncased"] != alone["rows"]["TreeTok en-uncased"]


def test_the_best_vocabulary_is_not_much_better_than_ours(folder):
    _, (_, bound, _), (_, ours, above), (_, of_paper, _) = result(folder, "optimal")["grid"]
    assert float(bound) <= float(ours) <= float(of_paper)
    assert float(above.rstrip("%")) < 5


def test_alignment(folder):
    of_gold, of_text = result(folder, "alignment")["comparison"]["tables"]
    names = ["vocabulary of the paper", "alignment 0", "alignment 1"]
    assert list(of_gold["rows"]) == list(of_text["rows"]) == names
    tokens = [of_text["rows"][name]["tokens_per_word"]["value"] for name in names]
    assert tokens[1] < tokens[2]


def test_equal_numbers_of_tokens(folder):
    comparison = result(folder, "equal")["comparison"]
    sizes = comparison["tokenizers"]
    of_gold, of_text = comparison["tables"]
    assert of_gold["compared_with"] == "Morfessor"
    assert list(of_text["rows"])[:2] == ["Morfessor", "TreeTok small"]
    matched = {name: size for name, size in sizes.items() if "alignment" in name}
    assert sorted(matched.values()) == sorted({400, sizes["Morfessor"]})
    tokens = {name: row["tokens_per_word"]["value"] for name, row in of_text["rows"].items()}
    for name in matched:
        close = tokens[name] == pytest.approx(tokens["Morfessor"], rel=0.02)
        # More entries give fewer tokens: then the alignment is at its end.
        assert close or name.endswith(("alignment 0", "alignment 1"))


def test_grids(folder):
    grid = result(folder, "case_study")["grid"]
    assert grid[0][1:] == ["bed", "commonly", "windsurfing", "tricycles", "uniquenesses"]
    assert [row[0] for row in grid[1:]] == ["TreeTok en-uncased", "BPE"]
    assert grid[2][3].replace("/", "") == "windsurfing"
    assert result(folder, "timing")["grid"][1:] == [
        ["treetok `en`", "2.00e-09", "3.00e-08", "-"],
        ["HF tokenizers, BPE", "5.00e-07", "4.00e-07", "2.49e-05"],
    ]
    assert result(folder, "trees")["grid"][1][0] == "walked"
    assert (folder / "pictures" / "walked.svg").read_text(encoding="utf-8").startswith("<svg")


def test_commands_name_files_not_folders(folder):
    command = result(folder, "table1")["command"]
    assert command.startswith("python experiments/table1_segmentation.py --train-text city.txt --vocab-size 400")
    assert str(folder) not in command


def test_results_stand_between_their_markers(folder):
    document = folder / "results.md"
    run("write_results.py", folder / "case_study.json", folder / "table1.json", "--document", document)
    first = document.read_text(encoding="utf-8")
    assert first.count("<!-- begin ") == first.count("<!-- end ") == 2
    assert "| BPE (whitespace cuts) | 400 |" in first
    # What people wrote stays; results are replaced, and new ones added.
    document.write_text(first.replace("## Case study", "## Five words\n\nWritten by hand."), encoding="utf-8")
    changed = result(folder, "table1")
    changed["command"] = "python experiments/other.py"
    (folder / "table1.json").write_text(json.dumps(changed), encoding="utf-8")
    run("write_results.py", folder / "table1.json", folder / "timing.json", "--document", document)
    second = document.read_text(encoding="utf-8")
    assert "Written by hand." in second
    assert second.count("<!-- begin table1 -->") == 1
    assert "`python experiments/other.py`" in second
    assert "## Time per token (Table 6)" in second


def test_faults_are_one_line(folder):
    half = folder / "half.md"
    half.write_text("<!-- begin table1 -->\nx\n", encoding="utf-8")
    for arguments, message in (
        (
            ["table1_segmentation.py", "--gold", folder / "none.tsv", "--out", folder / "x.json"],
            "table1_segmentation",
        ),
        (["write_results.py", folder / "table1.json", "--document", half], "only one of the two markers"),
        (["write_results.py", folder / "table1.json", "--document", folder / "table1.json"], "one of the results"),
        (["write_results.py", half, "--document", folder / "new.md"], "is not the result of an experiment"),
    ):
        command = [sys.executable, ROOT / "experiments" / arguments[0], *arguments[1:]]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        assert finished.returncode == 1
        assert message in finished.stderr
        assert "Traceback" not in finished.stderr
    assert half.read_text(encoding="utf-8") == "<!-- begin table1 -->\nx\n"


def test_source_code(tmp_path):
    """A copy, a file that is not UTF-8, one that is too large, and another kind of file are left out."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.c").write_bytes(b"int main(void) {\n\treturn 0;\n}\n")
    (sources / "b.h").write_bytes((sources / "a.c").read_bytes())
    (sources / "c.py").write_bytes("def camelCase():\r\n    return '👩‍🔬'\r\n".encode())
    (sources / "d.js").write_bytes(b"\xff\xfe")
    (sources / "e.css").write_bytes(b"a { color: red }\n" * 70)
    (sources / "f.txt").write_bytes(b"no code")
    out = tmp_path / "code.json"
    shared = ["--folder", sources, "--megabytes", 0.001, "--train-text", SAMPLE_FILES[0], "--vocab-size", 600]
    run("source_code.py", *shared, "--model", "en", "--out", out)
    heading, *rows = json.loads(out.read_text(encoding="utf-8"))["grid"]
    assert heading == [
        "language",
        "files",
        "MB",
        "bytes per token, TreeTok en",
        "bytes per token, BPE",
        "files changed",
    ]
    assert [(row[0], row[1], row[-1]) for row in rows] == [("C", "1", "0"), ("Python", "1", "0")]
    notes = json.loads(out.read_text(encoding="utf-8"))["notes"]
    assert notes["left out"] == "1 files that are not UTF-8, 1 copies"
    command = [sys.executable, ROOT / "experiments/source_code.py", "--model", "en-uncased", "--against", ""]
    failed = subprocess.run(
        [*command, "--folder", sources, "--out", out], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1 and "3 files do not come back as they were" in failed.stderr


def test_frequent_words(tmp_path):
    text = tmp_path / "talk.txt"
    text.write_text("Hello hello guys. guys guys thx 2008 hello\n\nHello Hello don't\n", encoding="utf-8")
    cuts = tmp_path / "table.cuts"
    head = {"name": "table", "profile": "lossless", "profile_version": 2, "vocabulary_size": None}
    words = {" Hello": [" Hell", "o"], " hello": [" hello"], " guys": [" guy", "s"], " thx": [" t", "hx"]}
    cuts.write_text("\n".join(map(json.dumps, [head, *words.items()])), encoding="utf-8")
    out = tmp_path / "words.json"
    run("frequent_words.py", "--model", cuts, "--text", text, "--words", 3, "--against", "", "--out", out)
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["grid"] == [
        ["text", "words", "checked", "table: cut", "table: absurd"],
        ["talk", "3", "3", "2", "1"],
    ]
    assert result["notes"]["absurd, table"] == "1: Hell|o"
    assert result["notes"]["cut, table"] == "2: 1 whole in lower case, 1 stem and ending"
    assert result["notes"]["distinct words"] == "3"


def test_the_list_of_checked_words():
    """Every cut joins to its word, and every word is there once."""
    lines = (ROOT / "experiments/checked_words.tsv").read_text(encoding="utf-8").splitlines()
    words = [line.split("\t")[0] for line in lines]
    assert len(words) == len(set(words)) >= 200
    for line in lines:
        word, cuts = line.split("\t")
        assert all("".join(cut.split()) == word and " " in cut for cut in cuts.split(", ") if cut), line


@pytest.mark.parametrize(
    "script",
    [
        "table1_segmentation", "table2_compression", "table3_trees", "alignment", "equal_tokens",
        "case_study", "frequent_words", "optimal_vocabulary", "vocabulary_sizes", "language_models",
        "segment_words", "source_code", "token_frequencies", "ensemble",
    ],
)  # fmt: skip
def test_every_experiment_can_be_tried_quickly(script, tmp_path):
    pytest.importorskip(
        {"language_models": "torch", "ensemble": "torch", "optimal_vocabulary": "scipy"}.get(script, "numpy")
    )
    out = tmp_path / "out.json"
    # What is given counts for more.
    against = ["--against", "unigram"] if script == "case_study" else []
    run(f"{script}.py", "--quick", *against, "--out", out)
    assert out.exists()
    if script == "case_study":
        assert [row[0] for row in result(tmp_path, "out")["grid"]] == [
            "tokenizer",
            "TreeTok en-uncased",
            "Unigram",
        ]


def test_files_are_needed_without_quick(tmp_path):
    with pytest.raises(AssertionError, match="required: --gold"):
        run("table1_segmentation.py", "--model", "en-uncased", "--out", tmp_path / "out.json")
    with pytest.raises(AssertionError, match="required: --folder"):
        run("source_code.py", "--model", "en", "--out", tmp_path / "out.json")
    with pytest.raises(AssertionError, match="required: --member"):
        run("ensemble.py", "--gold", tmp_path / "gold.tsv", "--out", tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("out", [".", "", "folder", "file/out.json", "pipe"])
def test_a_place_for_results_is_checked_first(out, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    written = tmp_path / out if out.strip(".") else out
    faults = "a directory, not a file|a file, not a directory|not a plain file"
    with pytest.raises(AssertionError, match=rf"argument --out: .* is ({faults})"):
        run("case_study.py", "--quick", "--out", written)


def test_language_models(tmp_path):
    """Two seeds; a model that is there is not trained again."""
    pytest.importorskip("torch")
    text = tmp_path / "talk.txt"
    text.write_text("The wind blew over the sea.\n\nNo tree stood there.\n" * 9, encoding="utf-8")
    out = tmp_path / "models.json"
    small = ["--characters", 3000, "--layers", 1, "--dimension", 16, "--device", "cpu", "--seeds", 2]
    shared = ["--train-text", SAMPLE_FILES[0], "--vocab-size", 600, "--text", text, "--text", SAMPLE_FILES[1]]
    arguments = ["--model", "en", "--against", "bpe", *shared, *small, "--out", out]
    shown = run("language_models.py", *arguments)
    assert len(re.findall(r", seed [01]: \d+ steps, \d+ s on CPU$", shown, re.MULTILINE)) == 4
    result = json.loads(out.read_text(encoding="utf-8"))
    heading, tree, bpe = result["grid"]
    assert heading == ["tokenizer", "talk", SAMPLE_FILES[1].stem, "all", "all, each seed"]
    assert (tree[0], bpe[0]) == ("TreeTok en", "BPE")
    assert len(set(tree[4].split(", "))) == 2 and "(p " in bpe[1] and "(p " not in tree[1]
    # The mean over seeds is that of their bits; all of the text is between its parts.
    assert float(tree[3]) == pytest.approx(sum(map(float, tree[4].split(", "))) / 2, abs=1e-4)
    assert min(float(tree[1]), float(tree[2])) <= float(tree[3]) <= max(float(tree[1]), float(tree[2]))
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").iterdir()}
    assert len(kept) == 4
    run("language_models.py", *arguments)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").iterdir()} == kept
    assert json.loads(out.read_text(encoding="utf-8")) == result


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dimension", 6], "dimension must be a multiple of 4, the number of heads, not 6"),
        (["--dimension", 10**8], "dimension must be from 1 to 8192, not 100000000"),
        (["--layers", 0], "layers must be from 1 to 64, not 0"),
        (["--characters", 0], "--characters must be from 1 to 10000000000, not 0"),
        (["--characters", 10**14], "--characters must be from 1 to 10000000000, not"),
        (["--seeds", 0], "--seeds must be from 1 to 1000, not 0"),
        (["--seeds", 10**7], "--seeds must be from 1 to 1000, not 10000000"),
        (["--device", "foo"], "unknown device 'foo'"),
    ],
)
def test_options_of_language_models_are_checked_before_texts_are_read(monkeypatch, tmp_path, options, said):
    pytest.importorskip("torch")
    import language_models

    command = ["language_models.py", "--quick", "--text", tmp_path / "none.txt", "--out", tmp_path / "out.json"]
    monkeypatch.setattr(sys, "argv", list(map(str, [*command, *options])))
    with pytest.raises(TreetokError, match=f"^{re.escape(said)}"):
        language_models.main()


def test_language_models_from_word_tables(tmp_path):
    """Sentences are taken out of their text, so that their first words lose their spaces."""
    pytest.importorskip("torch")
    text = tmp_path / "text.txt"
    text.write_text("One tree fell. Another tree stood. ------------ Nobody saw it.\n" * 20, encoding="utf-8")
    run("segment_words.py", "--model", "en", "--against", "", "--train-text", text, "--out", tmp_path / "cuts")
    small = ["--characters", 500, "--layers", 1, "--dimension", 16, "--device", "cpu", "--seeds", 1]
    table = ["--model", tmp_path / "cuts" / "TreeTok-en.cuts.xz", "--against", "", "--lm-text", text]
    run("language_models.py", *table, "--text", text, *small, "--out", tmp_path / "models.json")
    [_, row] = json.loads((tmp_path / "models.json").read_text(encoding="utf-8"))["grid"]
    assert 0 < float(row[1]) < 20


def test_vocabularies_of_several_sizes(folder):
    tables = {table["title"]: table["grid"] for table in result(folder, "sizes")["tables"]}
    assert next(iter(tables)) == "gold: words cut as in the gold (%)"
    tokens = next(grid for title, grid in tables.items() if title.endswith(": tokens per sentence"))
    assert [row[0] for row in tokens] == ["ids", "TreeTok", "BPE", "Unigram"] and tokens[0][1:] == ["400", "500"]
    picture = (folder / "sizes.svg").read_text(encoding="utf-8")
    # One panel with two axes for each table, and no empty ones.
    assert picture.count('id="matplotlib.axis_') == 2 * len(tables)
    kept = sorted((folder / "sizes").iterdir())
    assert len(kept) == 6
    # What is there is not measured again: tables are made of it.
    content = json.loads(kept[0].read_text(encoding="utf-8"))
    content["gold"]["accuracy"] |= {"value": 0.123, "low": 0.123, "high": 0.123}
    kept[0].write_text(json.dumps(content), encoding="utf-8")
    shared = ["--train-text", SAMPLE_FILES[0], "--vocab-size", 400, "--model", folder / "small"]
    gold, text = ["--gold", folder / "gold.tsv"], ["--text", SAMPLE_FILES[1]]
    run("vocabulary_sizes.py", *shared, *gold, *text, "--sizes", "400,500", "--out", folder / "sizes.json")
    again = result(folder, "sizes")["tables"][0]["grid"]
    assert any("12.3" in cell for row in again for cell in row)


def test_figures_beside_those_of_the_paper(tmp_path):
    run("beside_the_paper.py", ROOT / "results", "--out", tmp_path / "beside.json")
    tables = {table["title"].split(":")[0]: table["grid"] for table in result(tmp_path, "beside")["tables"]}
    assert list(tables) == ["Table 1", "Table 2", "Table 3, Morpho", "Table 3, Compound", "Table 3, Chinese"]
    accuracies = json.loads((ROOT / "results/table1.json").read_text(encoding="utf-8"))["comparison"]["tables"][0]
    ours = accuracies["rows"]["TreeTok en-uncased"]["accuracy"]["value"]
    assert tables["Table 1"][-2][:3] == ["TreeTok", "37.90", f"{100 * ours:.1f}"]
    compounds = {row[0]: row[1:] for row in tables["Table 3, Compound"]}
    # Every row has figures: a name that no result has would have none.
    for name in ("without span loss", "without span loss, pruned charts"):
        of_paper, *ours = compounds[name]
        assert of_paper == "73.70" and all(float(cell.split(" (")[0]) > 0 for cell in ours)
    assert compounds["without span loss"] != compounds["without span loss, pruned charts"]
    assert compounds["neural PCFG"][0] == "58.33" and compounds["neural PCFG, our initialisation"][0] == "-"
    *_, preset = tables["Table 3, Compound"]
    assert preset[0] == "TreeTok, `--preset paper`"
    assert all(float(cell.split(" (")[0]) > 0 for cell in preset[2:4])
    assert float(tables["Table 2"][-1][4]) > 0
    others = [row for grid in tables.values() for row in grid[1:] if row[0] != preset[0]]
    assert all("-" not in row[-1] for row in others)
    with pytest.raises(AssertionError, match=r"table1\.json is missing"):
        run("beside_the_paper.py", tmp_path, "--out", tmp_path / "none.json")
    assert not (tmp_path / "none.json").exists()


def test_gold_is_split_by_words(tmp_path):
    gold = tmp_path / "gold.tsv"
    words = [f"wort{number}" for number in range(40)]
    gold.write_text("".join(f"{word}\twort {word[4:]}\n" for word in words) + "a\u2028b\ta\u2028 b\n", "utf-8")
    run("split_gold.py", gold, "--out", tmp_path / "halves")
    halves = [(tmp_path / "halves" / f"gold_{half}.tsv").read_text("utf-8") for half in ("dev", "test")]
    lines = [half.split("\n")[:-1] for half in halves]
    assert sorted(lines[0] + lines[1]) == sorted(gold.read_text("utf-8").split("\n")[:-1])
    assert min(map(len, lines)) > 10
    # The half of a word does not depend on the others.
    gold.write_text(lines[0][0] + "\n", "utf-8")
    run("split_gold.py", gold, "--out", tmp_path / "halves")
    assert (tmp_path / "halves" / "gold_dev.tsv").read_text("utf-8") == lines[0][0] + "\n"
    with pytest.raises(AssertionError, match="the same name"):
        run("split_gold.py", gold, gold, "--out", tmp_path / "twice")
    assert not (tmp_path / "twice").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("table1", "{", r"table1\.json is damaged"),
        ("ablations", "[]", r"ablations\.json is not the result of an experiment"),
        ("language_models_paper", '{"grid": [["tokenizer", "all"]]}', "does not have all of TreeTok preset-paper"),
        (
            "ablations_pruned",
            '{"tables": []}',
            r"ablations_pruned\.json does not have greedy, first 64 of TreeTok",
        ),
        ("table2", '{"comparison": {"tables": 3}}', r"table2\.json does not have BPE in wiki\.valid"),
    ],
)
def test_damaged_results_are_no_table(tmp_path, name, content, message):
    for path in (ROOT / "results").glob("*.json"):
        shutil.copy(path, tmp_path)
    (tmp_path / f"{name}.json").write_text(content, "utf-8")
    with pytest.raises(AssertionError, match=message):
        run("beside_the_paper.py", tmp_path, "--out", tmp_path / "none.json")
    assert not (tmp_path / "none.json").exists()


def test_ctrl_c_is_one_line():
    code = (
        "import signal\nfrom treetok.cli.script_errors import run\nrun(lambda: signal.raise_signal(signal.SIGINT))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (130, "-c: interrupted\n")


def test_results_are_replaced_as_a_whole(tmp_path, monkeypatch):
    out = tmp_path / "out.json"
    save(out, "First", figures=1)
    before = out.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(out, "Second", figures=2)
    assert out.read_bytes() == before and list(tmp_path.iterdir()) == [out]


def test_other_vocabularies_keep_the_options_of_their_tokenizer():
    model = TreeTokenizer.load("en")
    counts = dict.fromkeys([" walking", " walked", "Walk", " talk", "ing"], 9)
    other = with_other_vocabulary(model, counts, 300, alignment=0.7)
    assert {name: other.settings[name] for name in ("alignment", "plain_names", "markers")} == {
        "alignment": 0.7,
        "plain_names": True,
        "markers": True,
    }
    assert other.tree("unhappily").brackets() == model.tree("unhappily").brackets()
    # The paper's vocabulary has no such options.
    assert with_other_vocabulary(model, counts, 300, vocab="paper").settings["vocab"] == "paper"


def test_texts_of_one_name_are_refused(tmp_path):
    for text in ("a/news.txt", "b/news.txt", "all.txt"):
        (tmp_path / text).parent.mkdir(exist_ok=True)
        (tmp_path / text).write_text("A text.\n", encoding="utf-8")
    for names in (["a/news.txt", "b/news.txt"], ["all.txt"]):
        texts = [option for name in names for option in ("--text", tmp_path / name)]
        with pytest.raises(AssertionError, match="the same name in tables, or one is called 'all'"):
            run("token_frequencies.py", "--quick", *texts, "--out", tmp_path / "out.json")

"""Tokenizers and baselines on the gold sample of the project: every figure is recomputed by the plain scorer."""

import json

import pytest

from conftest import SAMPLE_FILES
from evaluate import plain_scorer as plain
from treetok.cli import main
from treetok.evaluate.compare import compare, segment_as_written
from treetok.evaluate.gold import read_gold
from treetok.evaluate.lineup import build_lineup
from treetok.evaluate.texts import read_text
from treetok.tree import Tree

HELD_OUT, TRAINED_ON = SAMPLE_FILES[0], SAMPLE_FILES[1:]
BASELINES = ["bpe", "wordpiece", "unigram", "morfessor", "counts"]
NAMES = ["TreeTok en-uncased", "TreeTok en", "BPE", "WordPiece", "Unigram", "Morfessor"]
NAMES += ["TreeTok, trees from counts"]


@pytest.fixture(scope="module")
def lineup():
    return build_lineup(["en-uncased", "en"], BASELINES, TRAINED_ON, vocab_size=900, morfessor_types=400)


@pytest.fixture(scope="module")
def tables(lineup, gold_sample):
    """By kind of table."""
    comparison = compare(lineup.tokenizers, [read_gold(gold_sample)], [read_text(HELD_OUT)], lineup.trees())
    assert list(comparison.tokenizers) == NAMES
    return {table.kind: table for table in comparison.tables}


def values(row):
    return {name: figure.value for name, figure in row.items()}


def without_marks(gold):
    return [word.isdisjoint("'-") for word in (set(word) for word, _ in gold)]


def chosen(items, mask):
    return [item for item, is_chosen in zip(items, mask, strict=True) if is_chosen]


def test_segmentation(lineup, tables, gold_sample):
    gold = plain.read(gold_sample)
    unmarked = without_marks(gold)
    for tokenizer in lineup.tokenizers:
        cuts = [segment_as_written(tokenizer, word) for word, _ in gold]
        assert ["".join(cut) for cut in cuts] == [word for word, _ in gold]
        precision, recall, f1 = plain.boundary_means(gold, cuts)
        micro_precision, micro_recall, micro_f1 = plain.boundary_totals(gold, cuts)
        expected = {
            "accuracy": plain.accuracy(gold, cuts),
            "accuracy_plain_words": plain.accuracy(chosen(gold, unmarked), chosen(cuts, unmarked)),
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "micro_precision": micro_precision,
            "micro_recall": micro_recall,
            "micro_f1": micro_f1,
            "pieces_per_word": sum(map(len, cuts)) / len(cuts),
        }
        expected = {name: float(value) for name, value in expected.items()}
        assert values(tables["segmentation"].rows[tokenizer.name]) == pytest.approx(expected), tokenizer.name


def test_text(lineup, tables):
    sentences = [line for line in HELD_OUT.read_text(encoding="utf-8").split("\n") if line.strip()]
    words = [word for sentence in sentences for word in sentence.split() if word.isalpha()]
    for tokenizer in lineup.tokenizers:
        tokenized = [tokenizer.tokenize(sentence) for sentence in sentences]
        expected = plain.text_figures(sentences, tokenized, tokenizer.vocabulary_size)
        whole = sum(len(tokenizer.segment(word)) == 1 for word in words)
        expected["share_of_words_whole"] = whole / len(words)
        assert values(tables["text"].rows[tokenizer.name]) == pytest.approx(expected), tokenizer.name


def test_trees(lineup, tables, gold_sample):
    gold = plain.read(gold_sample)
    unmarked = without_marks(gold)
    sources = lineup.trees()
    assert list(tables["trees"].rows) == list(sources)
    for name, source in sources.items():
        words = [word for word, _ in gold]
        # One by one: a source must not depend on the other words.
        trees = [set(Tree(word, source.split_scores([word])[0]).spans()) for word in words]
        expected = {
            "leaves_dropped": plain.tree_recall(gold, trees),
            "leaves_counted": plain.tree_recall(gold, trees, letters_count=True),
            "leaves_dropped_plain_words": plain.tree_recall(chosen(gold, unmarked), chosen(trees, unmarked)),
            "leaves_counted_plain_words": plain.tree_recall(
                chosen(gold, unmarked), chosen(trees, unmarked), letters_count=True
            ),
            "leaves_counted_first_64": plain.tree_recall(gold, trees, letters_count=True, first=64),
        }
        figures = tables["trees"].rows[name]
        assert {score: figure.count for score, figure in figures.items()} == {
            score: counted for score, (_, _, counted) in expected.items()
        }
        by_word = {score: float(recall) for score, (recall, _, _) in expected.items()}
        assert values(figures) == pytest.approx(by_word), name
    # TreeTok's own trees are too good to tell the scores apart.
    assert len({figure.value for figure in tables["trees"].rows["random"].values()}) == 5


def test_what_the_shipped_tokenizers_have_learned(tables):
    """Measured: accuracy 0.49 (en-uncased), 0.67 (en), 0.25 (BPE); recall of trees 0.99, at most 0.57 in trees
    that know nothing. The baselines know little text, so that this says nothing about them."""
    accuracies = {name: values(row)["accuracy"] for name, row in tables["segmentation"].rows.items()}
    assert accuracies["TreeTok en-uncased"] > 0.4
    assert accuracies["TreeTok en"] > 0.55
    assert accuracies["BPE"] < 0.35
    recalls = {name: values(row)["leaves_dropped"] for name, row in tables["trees"].rows.items()}
    assert min(recalls["TreeTok en-uncased"], recalls["TreeTok en"]) > 0.85
    assert max(recalls[name] for name in ("left-branching", "right-branching", "balanced", "random")) < 0.6


def test_the_command_prints_the_same_figures(tables, gold_sample, tmp_path, capsys):
    arguments = ["en", "--against", "unigram,morfessor", "--vocab-size", "900", "--morfessor-types", "400"]
    arguments += ["--profile", "uncased", "--trees", "--gold", str(gold_sample), "--text", str(HELD_OUT)]
    arguments += [part for path in TRAINED_ON for part in ("--train-text", str(path))]
    assert main(["eval", *arguments, "--json", str(tmp_path / "out.json"), "--quiet"]) == 0
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert list(written["tokenizers"]) == ["TreeTok en", "Unigram", "Morfessor"]
    assert [table["kind"] for table in written["tables"]] == ["segmentation", "text", "trees"]
    for table in written["tables"]:
        for name, row in table["rows"].items():
            figures = {score: figure["value"] for score, figure in row.items()}
            assert figures == values(tables[table["kind"]].rows[name])
    shown = capsys.readouterr().out
    for name in written["tokenizers"]:
        accuracy = values(tables["segmentation"].rows[name])["accuracy"]
        assert any(line.startswith(name) and f"{100 * accuracy:.1f}" in line for line in shown.split("\n")), name

"""Tables and charts of a comparison."""

import json
import sys
from xml.etree import ElementTree

import pytest

from treetok import TreetokError
from treetok.evaluate.bootstrap import Figure
from treetok.evaluate.compare import Comparison, Table
from treetok.evaluate.plot import svg_chart
from treetok.evaluate.report import as_json, from_plain_data, markdown, plain_text


def figure(value):
    return Figure(value, value - 0.05, value + 0.05, 100)


SEGMENTATION = Table(
    "segmentation",
    "gold",
    {"words": 100},
    {
        "BPE": {"accuracy": figure(0.25), "f1": figure(0.4), "micro_precision": figure(0.375)},
        "Uni|gram": {"accuracy": figure(0.3675), "f1": figure(0.5), "pieces_per_word": figure(2.125)},
    },
    "BPE",
    {"Uni|gram": {"accuracy": 0.0004, "f1": 0.5}},
)
TEXT = Table(
    "text",
    "valid",
    {"sentences": 3, "words": 60},
    {"BPE": {"tokens_per_word": figure(1.1)}, "Uni|gram": {"tokens_per_word": figure(1.25)}},
)
COMPARISON = Comparison({"BPE": 30_000, "Uni|gram": None}, [SEGMENTATION, TEXT], {"profile": "uncased"})


def test_plain_text():
    lines = plain_text(COMPARISON).split("\n")
    assert lines[:5] == [
        "gold: 100 words",
        "",
        "tokenizer    |V|          accuracy                F1  pieces/word       p",
        "BPE        30000  25.0 (20.0-30.0)  40.0 (35.0-45.0)            -       -",
        "Uni|gram       -  36.8 (31.8-41.8)  50.0 (45.0-55.0)         2.12  <0.001",
    ]
    assert lines[6].endswith("p: paired permutation test of accuracy against BPE.")
    assert lines[8:13] == [
        "valid: 3 sentences, 60 words",
        "",
        "tokenizer    |V|  tokens/word",
        "BPE        30000        1.100",
        "Uni|gram       -        1.250",
    ]
    assert lines[-2:] == ["profile: uncased", ""]


def test_markdown_has_details():
    lines = markdown(COMPARISON).split("\n")
    assert lines[2:6] == [
        "| tokenizer | \\|V\\| | accuracy | F1 | micro P | pieces/word | p |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| BPE | 30000 | 25.0 (20.0-30.0) | 40.0 (35.0-45.0) | 37.5 | - | - |",
        "| Uni\\|gram | - | 36.8 (31.8-41.8) | 50.0 (45.0-55.0) | - | 2.12 | <0.001 |",
    ]
    assert "* profile: uncased" in lines


def test_json_is_all_of_it():
    written = json.loads(as_json(COMPARISON))
    assert written["tokenizers"] == {"BPE": 30_000, "Uni|gram": None}
    assert written["tables"][0]["rows"]["BPE"]["accuracy"] == {
        "value": 0.25,
        "low": 0.2,
        "high": 0.3,
        "count": 100,
    }
    assert written["tables"][0]["p_values"] == {"Uni|gram": {"accuracy": 0.0004, "f1": 0.5}}
    assert written["notes"] == {"profile": "uncased"}
    assert from_plain_data(written) == COMPARISON
    # As older results have it.
    written["contestants"] = written.pop("tokenizers")
    assert from_plain_data(written) == COMPARISON


# ---- charts

SVG = "{http://www.w3.org/2000/svg}"


def texts_in(root):
    return [text.text for text in root.iter(f"{SVG}text")]


def points_in(root):
    """Positions of the markers of every panel; those of axes and legend are in other groups."""
    panels = [group for group in root.iter(f"{SVG}g") if group.attrib.get("id", "").startswith("axes_")]
    return [
        [
            (float(use.attrib["x"]), float(use.attrib["y"]))
            for line in panel.findall(f"{SVG}g")
            if line.attrib.get("id", "").startswith("line2d_")
            for use in line.iter(f"{SVG}use")
        ]
        for panel in panels
    ]


def test_chart_has_one_point_per_tokenizer():
    root = ElementTree.fromstring(svg_chart(COMPARISON))
    [[first, second]] = points_in(root)
    # Longer is further right, better is higher up.
    assert first[0] < second[0]
    assert first[1] > second[1]
    assert {"BPE", "Uni|gram", "gold", "tokens per word, valid"} <= set(texts_in(root))


@pytest.mark.parametrize("tables", [[SEGMENTATION], [TEXT]])
def test_a_chart_needs_both(tables):
    with pytest.raises(TreetokError, match="needs a gold file and a text"):
        svg_chart(Comparison({}, tables))


def test_names_are_taken_literally_and_equal_points_drawn():
    names = ["<&>", "$x^2$", "_private"]
    rows = {name: {"f1": Figure(0.5, 0.5, 0.5, 9), "tokens_per_word": figure(1.0)} for name in names}
    tables = [Table("segmentation", "a < b", {}, rows), Table("segmentation", "c", {}, rows)]
    root = ElementTree.fromstring(svg_chart(Comparison({}, [*tables, Table("text", "t", {}, rows)])))
    assert [len(points) for points in points_in(root)] == [3, 3]
    assert {*names, "a < b", "c"} <= set(texts_in(root))


def test_charts_are_deterministic():
    chart = svg_chart(COMPARISON)
    assert chart == svg_chart(COMPARISON)
    assert "<dc:date>" not in chart


def test_a_chart_without_matplotlib_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(TreetokError, match="pip install tokenizers morfessor matplotlib"):
        svg_chart(COMPARISON)

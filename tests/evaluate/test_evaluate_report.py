"""Tables and pictures of a comparison."""

import json
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from treetok import TreetokError
from treetok.evaluate.bootstrap import Figure
from treetok.evaluate.comparison import Comparison, Table
from treetok.evaluate.plot import LINE_HEIGHT, Panel, Point, draw_panels, place_labels, ticks
from treetok.evaluate.report import as_json, from_plain_data, markdown, picture, plain_text


def figure(value):
    return Figure(value, value - 0.05, value + 0.05, 100)


SEGMENTATION = Table(
    "segmentation",
    "gold",
    {"words": 100},
    {
        "BPE": {"accuracy": figure(0.25), "f1": figure(0.4), "micro_precision": figure(0.375)},
        "Uni|gram": {"accuracy": figure(0.3675), "f1": figure(0.5)},
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
        "tokenizer    |V|          accuracy                F1       p",
        "BPE        30000  25.0 (20.0-30.0)  40.0 (35.0-45.0)       -",
        "Uni|gram       -  36.8 (31.8-41.8)  50.0 (45.0-55.0)  <0.001",
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
        "| tokenizer | \\|V\\| | accuracy | F1 | micro P | p |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| BPE | 30000 | 25.0 (20.0-30.0) | 40.0 (35.0-45.0) | 37.5 | - |",
        "| Uni\\|gram | - | 36.8 (31.8-41.8) | 50.0 (45.0-55.0) | - | <0.001 |",
    ]
    assert "* profile: uncased" in lines


def test_json_is_all_of_it():
    written = json.loads(as_json(COMPARISON))
    assert written["contestants"] == {"BPE": 30_000, "Uni|gram": None}
    assert written["tables"][0]["rows"]["BPE"]["accuracy"] == {
        "value": 0.25,
        "low": 0.2,
        "high": 0.3,
        "count": 100,
    }
    assert written["tables"][0]["p_values"] == {"Uni|gram": {"accuracy": 0.0004, "f1": 0.5}}
    assert written["notes"] == {"profile": "uncased"}
    assert from_plain_data(written) == COMPARISON


def test_picture_has_a_point_a_tokenizer():
    root = ElementTree.fromstring(picture(COMPARISON))
    svg = "{http://www.w3.org/2000/svg}"
    circles = root.findall(f".//{svg}circle")
    assert len(circles) == 2
    # Longer is further right, better is higher up.
    assert float(circles[0].attrib["cx"]) < float(circles[1].attrib["cx"])
    assert float(circles[0].attrib["cy"]) > float(circles[1].attrib["cy"])
    assert {"BPE", "Uni|gram", "gold", "tokens per word, valid"} <= {text.text for text in root.iter(f"{svg}text")}


@pytest.mark.parametrize("tables", [[SEGMENTATION], [TEXT]])
def test_a_picture_needs_both(tables):
    with pytest.raises(TreetokError, match="needs a gold file and a text"):
        picture(Comparison({}, tables))


def test_names_are_escaped_and_equal_points_drawn():
    panel = Panel("a < b", "x", "y", [Point("<&>", 1, 2, 2, 2), Point("other", 1, 2, 2, 2)])
    root = ElementTree.fromstring(draw_panels([panel, panel]))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == 4


def test_labels_do_not_overlap():
    marks = [(100.0, 200.0 + 3 * number, "WordPiece") for number in range(6)] + [(390.0, 50.0, "a long name")]
    places = place_labels(marks, 50, 400)
    heights = sorted(y for _, y in places[:6])
    assert all(second - first >= LINE_HEIGHT for first, second in pairwise(heights))
    # Beside the right edge, a name stands on the left.
    assert places[6][0] < 390


@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [0.999, 1.001], [12.0, 4000.0], [-3.0, 3.0], [5.0], [62.98, 68.07]]
)
def test_ticks_enclose_what_is_drawn(values):
    found = ticks(values)
    assert found[0] <= min(values)
    assert found[-1] >= max(values)
    assert 2 <= len(found) <= 8
    assert found == sorted(set(found))

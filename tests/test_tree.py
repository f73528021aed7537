import pickle
import xml.etree.ElementTree as xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok import Tree, TreetokError
from treetok.drawing import LONGEST_DRAWN
from treetok.tree import join_scores, with_leading_space

scores_lists = st.lists(st.integers(0, 5), max_size=10)


def spans_by_definition(scores, offset=0):
    """Split every span at its highest score; ties go left."""
    if not scores:
        return [(offset, offset + 1)]
    k = scores.index(max(scores))
    left = spans_by_definition(scores[:k], offset)
    right = spans_by_definition(scores[k + 1 :], offset + k + 1)
    return [(offset, offset + len(scores) + 1), *left, *right]


@given(scores_lists)
def test_spans_follow_the_definition(scores):
    tree = Tree("x" * (len(scores) + 1), scores)
    assert tree.spans() == spans_by_definition(scores)
    assert len(tree.spans()) == 2 * len(tree.text) - 1


@given(scores_lists)
def test_brackets_match_spans(scores):
    text = "abcdefghijk"[: len(scores) + 1]
    tree = Tree(text, scores)
    opened, spans, position = [], [], 0
    for character in tree.brackets():
        if character == "[":
            opened.append(position)
        elif character == "]":
            spans.append((opened.pop(), position))
        elif character != " ":
            position += 1
    leaves = [(i, i + 1) for i in range(len(text))]
    assert sorted(spans + leaves) == sorted(tree.spans())


@given(scores_lists)
def test_own_scores_give_the_same_tree(scores):
    tree = Tree("x" * (len(scores) + 1), scores)
    again = Tree(tree.text, tree.scores())
    assert again == tree
    assert hash(again) == hash(tree)
    assert pickle.loads(pickle.dumps(tree)) == tree


@given(st.lists(scores_lists, min_size=1, max_size=4))
def test_joined_words_are_subtrees(scores_of_words):
    spans = Tree("x" * sum(len(s) + 1 for s in scores_of_words), join_scores(scores_of_words)).spans()
    start = 0
    for scores in scores_of_words:
        assert set(spans_by_definition(scores, start)) <= set(spans)
        start += len(scores) + 1


@given(scores_lists)
def test_a_leading_space_belongs_to_the_first_letter(scores):
    spans = set(Tree(" " + "x" * (len(scores) + 1), with_leading_space(scores)).spans())
    without = {(0 if start == 0 else start + 1, end + 1) for start, end in spans_by_definition(scores)}
    assert spans == without | {(0, 1), (1, 2)}


def test_drawing():
    assert str(Tree("windsurfing", [1, 2, 3, 8, 1, 2, 3, 9, 2, 1])) == "\n".join(
        [
            "        ┌───┴────┐",
            "    ┌───┴───┐    │",
            "  ┌─┴─┐   ┌─┴─┐  │",
            " ┌┴─┐ │  ┌┴─┐ │ ┌┴─┐",
            "┌┴┐ │ │ ┌┴┐ │ │ │ ┌┴┐",
            "w i n d s u r f i n g",
        ]
    )
    assert str(Tree("a", [])) == "a"
    assert str(Tree(" a", [0])) == "┌┴┐\n␣ a"


@given(scores_lists)
def test_drawing_has_one_branch_per_inner_node(scores):
    drawing = str(Tree("x" * (len(scores) + 1), scores))
    assert [drawing.count(part) for part in "┌┴┐"] == [len(scores)] * 3


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_svg_is_well_formed(text):
    picture = xml.fromstring(Tree(text, list(range(len(text) - 1))).svg())
    names = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert names.count("text") == len(text)
    assert names.count("path") == 2 * (len(text) - 1)


def test_long_trees_need_no_recursion():
    tree = Tree("x" * 50_000, range(49_999))
    assert len(tree.spans()) == 99_999
    assert tree.brackets().count("[") == 49_999
    assert len(tree.text) > LONGEST_DRAWN
    assert str(tree) == tree.brackets()


@pytest.mark.parametrize(("text", "scores"), [("", []), ("ab", []), ("ab", [1, 2]), ("abc", [1, float("nan")])])
def test_invalid_trees(text, scores):
    with pytest.raises(TreetokError):
        Tree(text, scores)


def test_trees_are_equal_if_text_and_shape_are():
    assert Tree("abc", [1, 2]) == Tree("abc", [0, 7])
    assert Tree("abc", [1, 2]) != Tree("abc", [2, 1])
    assert Tree("abc", [1, 2]) != Tree("abd", [1, 2])
    assert Tree("a", []) != "a"


def test_a_tree_is_immutable():
    with pytest.raises(AttributeError):
        Tree("ab", [1]).text = "cd"

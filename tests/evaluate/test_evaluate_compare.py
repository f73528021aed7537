"""All tokenizers on all data, against figures that can be checked by eye."""

import math

import pytest

from treetok import TreetokError
from treetok.evaluate.compare import compare, segment_as_written
from treetok.evaluate.gold import read_gold
from treetok.evaluate.texts import HeldOutText, first_sentences, read_text
from treetok.evaluate.tree_sources import LeftBranching, RightBranching

GOLD = """\
windsurfing\twind surf ing
walked\twalk ed
bed\tbed
evening\teven ing, evening
boy's\tboy 's
"""


class Dictionary:
    """Segments the words it is given, and keeps all others whole."""

    def __init__(self, name, vocabulary_size=None, **cuts):
        self.name, self.vocabulary_size = name, vocabulary_size
        self._cuts = {written.replace("_", ""): written.split("_") for written in cuts}

    def segment(self, word):
        return self._cuts.get(word, [word])

    def tokenize(self, text):
        return [piece for word in text.split() for piece in self.segment(word)]


WHOLE = Dictionary("whole", 10)
GOOD = Dictionary("good", 20, wind_surf_ing=1, walk_ed=1)
WRONG = Dictionary("wrong", None, wind_sur_fing=1, b_ed=1)


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "small.tsv"
    path.write_text(GOLD, encoding="utf-8")
    return read_gold(path)


def values(table, name):
    return {score: figure.value for score, figure in table.rows[name].items()}


def test_segmentation(gold):
    [table] = compare([WHOLE, GOOD, WRONG], [gold]).tables
    assert (table.kind, table.name, table.facts) == ("segmentation", "small", {"words": 5, "without ' or -": 4})
    assert list(table.rows) == ["whole", "good", "wrong"]
    # bed, evening; then windsurfing and walked as well; none gets boy's.
    assert values(table, "whole")["accuracy"] == pytest.approx(2 / 5)
    assert values(table, "good")["accuracy"] == pytest.approx(4 / 5)
    assert values(table, "wrong")["accuracy"] == pytest.approx(1 / 5)
    assert values(table, "good")["accuracy_plain_words"] == 1
    assert table.rows["good"]["accuracy_plain_words"].count == 4
    # Of wind|sur|fing and b|ed one boundary of three is right; 1, 0 and 0 of the words that must be cut.
    assert values(table, "wrong")["micro_precision"] == pytest.approx(1 / 3)
    assert values(table, "wrong")["micro_recall"] == pytest.approx(1 / 4)
    assert values(table, "wrong")["precision"] == pytest.approx((1 / 2 + 0) / 2)
    assert values(table, "wrong")["recall"] == pytest.approx((1 / 2 + 0 + 0) / 3)
    for scores in table.rows.values():
        assert all(figure.low <= figure.value <= figure.high for figure in scores.values())


def test_the_first_is_tested_against(gold):
    [table] = compare([WHOLE, GOOD, WRONG], [gold]).tables
    assert table.compared_with == "whole"
    assert set(table.p_values) == {"good", "wrong"}
    # Two words differ, both for the better: each of the four ways to swap them is as likely.
    assert table.p_values["good"]["accuracy"] == pytest.approx(1 / 2, abs=0.02)
    assert set(table.p_values["good"]) == {"accuracy", "f1"}


def test_words_are_cut_as_they_are_written():
    class Lowering(Dictionary):
        def segment(self, word):
            return super().segment(word.lower().replace("ß", "ss"))

    lowering = Lowering("lowering", light_house=1)
    assert segment_as_written(lowering, "LightHouse") == ["Light", "House"]
    # Longer than it was: nothing of it is right, and nothing is lost.
    assert segment_as_written(lowering, "groß") == ["gross"]
    assert segment_as_written(Dictionary("d"), "word") == ["word"]


def test_a_word_of_which_nothing_is_left_counts_as_whole():
    class Deaf(Dictionary):
        def segment(self, word):
            return []

    assert segment_as_written(Deaf("deaf"), "\x00") == ["\x00"]


def test_text():
    text = HeldOutText("talk", ["walked bed", "windsurfing bed bed 12"])
    comparison = compare([WHOLE, GOOD, WRONG], texts=[text])
    [table] = comparison.tables
    assert comparison.tokenizers == {"whole": 10, "good": 20, "wrong": None}
    assert table.facts == {"sentences": 2, "words": 6, "bytes": 10 + 22}
    whole, good, wrong = (values(table, name) for name in ("whole", "good", "wrong"))
    assert (whole["tokens_per_word"], good["tokens_per_word"]) == (1, pytest.approx(9 / 6))
    assert (whole["tokens_per_sentence"], good["tokens_per_sentence"]) == (3, pytest.approx(9 / 2))
    assert good["bytes_per_token"] == pytest.approx(32 / 9)
    # Of the five that are words, bed three times stays whole.
    assert good["share_of_words_whole"] == pytest.approx(3 / 5)
    assert wrong["share_of_words_whole"] == pytest.approx(1 / 5)
    assert whole["vocabulary_use"] == pytest.approx(4 / 10)
    assert "vocabulary_use" not in wrong
    # bed is half of the tokens, three others a sixth each; by the entries there are, or else by the tokens seen.
    entropy = math.log2((1 / 2) ** 2.5 + 3 * (1 / 6) ** 2.5) / (1 - 2.5)
    assert whole["renyi_efficiency"] == pytest.approx(entropy / math.log2(10))
    # b, ed three times each; wind, sur, fing, walked, 12 once.
    entropy = math.log2(2 * (3 / 11) ** 2.5 + 5 * (1 / 11) ** 2.5) / (1 - 2.5)
    assert wrong["renyi_efficiency"] == pytest.approx(entropy / math.log2(7))


def test_more_tokens_than_the_vocabulary_is_said_to_have():
    [table] = compare([Dictionary("small", 2)], texts=[HeldOutText("t", ["one two three"])]).tables
    assert values(table, "small")["renyi_efficiency"] == pytest.approx(1)
    assert "vocabulary_use" not in table.rows["small"]


def test_what_is_not_defined_is_left_out(tmp_path):
    path = tmp_path / "marks.tsv"
    path.write_text("boy's\tboy 's\n", encoding="utf-8")
    [table] = compare([WHOLE], [read_gold(path)]).tables
    assert "accuracy_plain_words" not in table.rows["whole"]
    [table] = compare([WHOLE], texts=[HeldOutText("numbers", ["1 2", "1"])]).tables
    assert "share_of_words_whole" not in table.rows["whole"]


def test_trees(gold):
    sources = {"left": LeftBranching(), "right": RightBranching()}
    [table] = compare([], [gold], trees=sources).tables
    assert (table.kind, table.compared_with) == ("trees", "left")
    assert table.facts == {"words with morphemes to be found": 4}
    # wind, walk, even, boy of wind surf ing, walk ed, even ing, boy 's.
    assert values(table, "left")["leaves_dropped"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2 + 1 / 2) / 4)
    assert values(table, "left")["leaves_dropped_plain_words"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)
    assert values(table, "right")["leaves_counted"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2 + 1 / 2) / 4)
    assert table.rows["left"]["leaves_counted_first_64"] == table.rows["left"]["leaves_counted"]
    assert table.p_values["right"]["leaves_dropped"] == 1


def test_names_must_differ(gold):
    with pytest.raises(TreetokError, match="two tokenizers are called 'whole'"):
        compare([WHOLE, Dictionary("whole")], [gold])


def test_reading_text(tmp_path):
    path = tmp_path / "news.txt"
    path.write_text("One sentence .\n\n  \nTwo . Three , J. F. four !\nFive", encoding="utf-8")
    assert read_text(path).name == "news"
    assert read_text(path).sentences == ["One sentence .", "Two . Three , J. F. four !", "Five"]
    assert read_text(path, split_sentences=True).sentences == [
        "One sentence .",
        "Two .",
        "Three , J. F. four !",
        "Five",
    ]
    likely = ["One sentence .", "Two .", "Three , J.", "F. four !"]
    assert first_sentences([path, path], 15) == likely
    assert first_sentences([path, path], 10**6) == [*likely, "Five"] * 2
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "One\\nTwo"}\n{"text": "Three"}\n', encoding="utf-8")
    assert read_text(rows).sentences == ["One", "Two", "Three"]
    path.write_text("\n \n", encoding="utf-8")
    with pytest.raises(TreetokError, match="has no text"):
        read_text(path)
    with pytest.raises(TreetokError, match="no text"):
        first_sentences([path], 10)

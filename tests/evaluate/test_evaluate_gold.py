"""Gold files: the three formats, how they are detected, and everything that can be wrong with them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok.errors import TreetokError
from treetok.evaluate.gold import GoldFile, GoldWord, read_gold

MORPHO_CHALLENGE = (
    "ablatives\tablative:ablative_A s:+PL\n"
    "bumbled\tbumbl:bumble_V ed:+PAST, bumbl:bumble_V ed:ed_s\n"
    "sheep\tsheep:sheep_N ~:+PL\n"
    "dog's\tdog:dog_N 's:+GEN\n"
)
SIGMORPHON = "happiness\thappy @@ness\t010\nsurfers\tsurf @@er @@s\t110\nice cream\tice cream\t000\n"


@pytest.fixture
def write(tmp_path):
    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "gold.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def test_tsv(write):
    gold = read_gold(write("evening\teven ing, evening\ndog's\tdog 's\n"))
    assert isinstance(gold, GoldFile)
    assert list(gold) == [
        GoldWord("evening", (("even", "ing"), ("evening",))),
        GoldWord("dog's", (("dog", "'s"),)),
    ]
    assert (gold.kind, len(gold), gold.skipped) == ("tsv", 2, ())
    assert gold[0].word == "evening" and gold[1:] == (gold.words[1],)


def test_morpho_challenge(write):
    gold = read_gold(write(MORPHO_CHALLENGE))
    assert gold.kind == "morpho-challenge"
    assert [word.alternatives for word in gold] == [
        (("ablative", "s"),),
        (("bumbl", "ed"), ("bumbl", "ed")),
        (("sheep",),),
        (("dog", "'s"),),
    ]


@pytest.mark.parametrize(
    ("line", "morphs"),
    [
        ("hyy:n\thyy::hyy_N n:+GEN", ("hyy:", "n")),  # a colon in the morph
        ("hyyn\thyy:hyy:_N n:+GEN", ("hyy", "n")),  # a colon in the label
        ("a:b:c\ta:b::x:y c:z", ("a:b:", "c")),
        ("re-do\t~:a re:re_p -:- do:do_V ~:+INF", ("re", "-", "do")),
    ],
)
def test_colons_and_zero_morphs(write, line, morphs):
    assert read_gold(write(line), "morpho-challenge")[0].alternatives == (morphs,)


def test_sigmorphon_says_which_words_cannot_be_scored(write):
    gold = read_gold(write(SIGMORPHON))
    assert gold.kind == "sigmorphon"
    assert [word.word for word in gold] == ["surfers", "ice cream"]
    assert gold[0].alternatives == (("surf", "er", "s"),)
    assert gold.skipped == (GoldWord("happiness", (("happy", "ness"),)),)


def test_sigmorphon_without_features(write):
    assert read_gold(write("surfs\tsurf @@s\nno\tno\n")).kind == "sigmorphon"


def test_duplicates_stay(write):
    assert [word.word for word in read_gold(write("no\tno\nno\tno\n"))] == ["no", "no"]


def test_byte_order_mark_carriage_returns_and_empty_lines(write):
    assert [word.word for word in read_gold(write("\ufeffsurfs\tsurf s\r\n\r\nno\tno\r\n\n"))] == ["surfs", "no"]


def test_line_separators_of_unicode_are_letters(write):
    assert read_gold(write("a\u2028b\ta \u2028b\n"))[0].alternatives == (("a", "\u2028b"),)


def test_comma_that_belongs_to_the_word(write):
    assert read_gold(write("yes,no\tyes, no\n"))[0].alternatives == (("yes,", "no"),)
    assert read_gold(write("yes,no\tyes , no\n"))[0].alternatives == (("yes", ",", "no"),)


def test_words_that_must_be_cut():
    assert GoldWord("surfs", (("surf", "s"),)).must_be_cut
    assert not GoldWord("no", (("no",),)).must_be_cut
    assert not GoldWord("evening", (("even", "ing"), ("evening",))).must_be_cut


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ("no\tno\nsurfs\tsurf z\n", "auto", ", line 2: the morphs 'surf z' do not spell 'surfs'"),
        ("no\tno\nevening\teven ing, eve\n", "auto", ", line 2: the morphs 'eve' do not spell 'evening'"),
        (MORPHO_CHALLENGE + "ox\tog:ox_N\n", "auto", ", line 5: the morphs 'og:ox_N' do not spell 'ox'"),
        (MORPHO_CHALLENGE + "ox\to:ox_N\n", "auto", ", line 5: the morphs 'o:ox_N' do not spell 'ox'"),
        (
            MORPHO_CHALLENGE + "ox\tox:ox_N s:+PL\n",
            "auto",
            ", line 5: the morphs 'ox:ox_N s:+PL' do not spell 'ox'",
        ),
        (MORPHO_CHALLENGE + "ox\t~:+PL\n", "auto", ", line 5: the morphs '~:+PL' do not spell 'ox'"),
        (MORPHO_CHALLENGE + "ox\tox\n", "auto", ", line 5: no label after the morph 'ox'"),
        (MORPHO_CHALLENGE + "ox\t:ox_N\n", "auto", ", line 5: an empty morph in ':ox_N'"),
        (MORPHO_CHALLENGE + "ox\to:o  x:x\n", "auto", ", line 5: an empty morph in 'o:o  x:x'"),
        ("no\tno\nsurfs surf s\n", "auto", ", line 2: no tab between the word and its morphs in 'surfs surf s'"),
        ("surfs\n", "morpho-challenge", ", line 1: no tab between the word and its morphs in 'surfs'"),
        ("surfs\n", "sigmorphon", ", line 1: no tab between the word and its morphs in 'surfs'"),
        (
            "surf " * 200 + "\n",
            "auto",
            f", line 1: no tab between the word and its morphs in '{'surf ' * 12}'...",
        ),
        (
            f"surfs\t{'surf ' * 200}s\n",
            "auto",
            f", line 1: the morphs '{'surf ' * 12}'... do not spell 'surfs'",
        ),
        ("no\tno\n\tsurf s\n", "auto", ", line 2: the word before the tab is empty"),
        ("no\tno\nsurfs\tsurf  s\n", "auto", ", line 2: an empty morph in 'surf  s'"),
        ("surfs\tsurf s \n", "auto", ", line 1: an empty morph in 'surf s '"),
        ("surfs\t\n", "tsv", ", line 1: an empty morph in ''"),
        ("surfs\tsurf s, \n", "auto", ", line 1: an empty morph in 'surf s, '"),
        ("surfs\tsurf @@ @@s\n", "auto", ", line 1: an empty morph in 'surf @@ @@s'"),
        ("surfs\tsurf s\tx\n", "tsv", ", line 1: 3 columns, not 2"),
        ("surfs\tsurf @@s\tx\ty\n", "auto", ", line 1: 4 columns, not 3"),
        ("", "auto", " is empty: a gold file has lines of word, tab, morphs"),
        ("\n\r\n", "auto", " is empty: a gold file has lines of word, tab, morphs"),
        ("happiness\thappy @@ness\n", "auto", ": none of the 1 words is spelled by its morphs"),
        (b"no\tno\ncaf\xe9\tcaf\xe9\n", "auto", ", line 2: byte 0xe9 is not UTF-8"),
        (b"\xef\xbb\xbfno\tno\n\xff\n", "auto", ", line 2: byte 0xff is not UTF-8"),
    ],
)
def test_bad_files_are_one_line_with_file_and_line(write, content, kind, message):
    path = write(content)
    with pytest.raises(TreetokError) as error:
        read_gold(path, kind)
    assert str(error.value) == f"{path}{message}"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(TreetokError, match=r"^no such file: .*nothing\.tsv$"):
        read_gold(tmp_path / "nothing.tsv")
    with pytest.raises(TreetokError, match=r"is a directory, not a gold file$"):
        read_gold(tmp_path)
    with pytest.raises(TreetokError, match=r"^cannot read"):
        read_gold("null\0byte")
    with pytest.raises(
        TreetokError, match=r"^a gold file is one of auto, tsv, morpho-challenge, sigmorphon, not 'csv'$"
    ):
        read_gold(tmp_path, "csv")  # type: ignore[arg-type]


MORPHS = st.lists(st.text("abcé'-", min_size=1, max_size=4), min_size=1, max_size=4)


@given(st.lists(MORPHS, min_size=1, max_size=5))
def test_what_is_written_is_read_in_every_format(tmp_path, morphs_of_words):
    path = tmp_path / "written"
    expected = [GoldWord("".join(morphs), (tuple(morphs),)) for morphs in morphs_of_words]
    formats = {
        "tsv": " ".join,
        "morpho-challenge": lambda morphs: " ".join(f"{morph}:{morph}_N" for morph in morphs) + " ~:+PL",
        "sigmorphon": " @@".join,
    }
    for kind, join in formats.items():
        lines = [f"{''.join(morphs)}\t{join(morphs)}\n" for morphs in morphs_of_words]
        path.write_text("".join(lines), encoding="utf-8")
        assert list(read_gold(path, kind)) == expected
        # A file in which no word has a second morph does not show that it is from SIGMORPHON, nor does it matter.
        assert list(read_gold(path)) == expected


def test_counts_of_the_sample(gold_sample):
    gold = read_gold(gold_sample)
    assert len(gold) == 87
    assert sum("'" in word.word for word in gold) == 10
    assert sum("-" in word.word for word in gold) == 5
    assert sum(word.must_be_cut for word in gold) == 74
    assert sum(all(len(morphs) == 1 for morphs in word.alternatives) for word in gold) == 10
    assert sum(len(word.alternatives) > 1 for word in gold) == 14

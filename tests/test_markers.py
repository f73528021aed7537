"""Markers: tokens that change the token after them."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.markers import Marker, changed_by, marked, marked_strings, unmarked
from treetok.pipeline import TrainOptions
from treetok.segment import Segmenter
from treetok.token_table import TokenTable, base_entries
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.merged_cuts import MergedCuts
from treetok.vocabulary.top_down_cuts import TopDownCuts, token_costs

JOIN, CAP, UPPER = (marker.token for marker in Marker)
WORDS = ["wind", "surf", "sun", "flower", "tree", "house", "light", "rain", "drop", "book", "case", "mark", "worm"]
text_of_words = st.lists(st.sampled_from([*WORDS, " ", "\n", "'", "é", "Sun", "BOOK", "ing", "(", "7"])).map(
    "".join
)
encodable = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def joining() -> TreeTokenizer:
    # Words that are frequent with a space and rare inside other words.
    words = [f"{word} " * 40 + f"{word}s" for word in WORDS]
    compounds = [first + second for first in WORDS for second in WORDS]
    return TreeTokenizer.train([" ".join(words + compounds)], 275, "counts", markers=True, progress=False)


def joined_words(tokenizer, text):
    tokens = tokenizer.tokenize(text)
    return [after for before, after in pairwise(tokens) if before == JOIN]


def test_words_serve_inside_other_words(joining):
    assert joining.tokenize(" sunflower") == [" sun", JOIN, " flower"]
    assert joining.segment("sunflower") == ["sun", "flower"]
    assert joining.tokenize(" Flower RAIN") == [CAP, " flower", UPPER, " rain"]
    assert joining.tokenize("Flower") == [JOIN, CAP, " flower"]
    assert joining.segment("Rain") == ["Rain"] and joining.segment("RAINDROP")[0] == "RAIN"
    # At the start of a line, too.
    assert joining.tokenize("flower") == [JOIN, " flower"]
    encoding = joining.encode_with_offsets("a sunflower\nflower")
    places = dict(zip(encoding.offsets, encoding.tokens, strict=True))
    assert places[1, 5] == " sun" and places[5, 5] == JOIN and places[5, 11] == " flower"
    assert places[12, 12] == JOIN and places[12, 18] == " flower"


@given(text_of_words | encodable)
@example("sunflower")
def test_texts_come_back(joining, text):
    ids = joining.encode(text)
    assert joining.decode(ids) == text
    stream = joining.decode_stream()
    assert "".join(map(stream.step, ids)) + stream.finish() == text
    encoding = joining.encode_with_offsets(text)
    assert encoding.ids == ids
    assert "".join(text[start:end] for start, end in encoding.offsets) == text


# Often the markers and ` flower`.
@given(st.lists(st.integers(0, 274) | st.sampled_from([259, 260, 261, 265])))
def test_any_ids_decode_and_stream_alike(joining, ids):
    stream = joining.decode_stream()
    assert "".join(map(stream.step, ids)) + stream.finish() == joining.decode(ids)


def test_markers_change_the_next_token_and_nothing_else(joining):
    joiner, cap, upper = map(joining.token_to_id, (JOIN, CAP, UPPER))
    flower, special = map(joining.token_to_id, (" flower", "<|endoftext|>"))
    assert joining.id_to_token(joiner) == JOIN
    assert joining.decode([cap, flower, upper, flower, flower]) == " Flower FLOWER flower"
    assert joining.decode([joiner, cap, flower]) == "Flower"
    assert joining.decode([cap, joiner, flower]) == "flower"
    assert joining.decode([flower, joiner, flower]) == " flowerflower"
    assert joining.decode([joiner, joiner, flower]) == "flower"
    assert joining.decode([joiner]) == "" and joining.decode([flower, joiner]) == " flower"
    assert joining.decode([joiner, special, flower]) == "<|endoftext|> flower"
    assert joining.decode([joiner, special, flower], skip_special_tokens=True) == "flower"


def test_it_is_saved_and_loaded(joining, tmp_path):
    joining.save(tmp_path / "t")
    loaded = TreeTokenizer.load(tmp_path / "t")
    assert loaded.state.entries == joining.state.entries and joining.settings["markers"] is True
    assert loaded.tokenize(" sunflower") == [" sun", JOIN, " flower"]


@pytest.mark.parametrize(
    ("options", "has_markers"),
    [([], True), (["--no-markers"], False), (["--vocab", "paper"], False), (["--profile", "uncased"], False)],
)
def test_it_is_on_where_it_can_be(options, has_markers, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("a text of some words")
    main(["train", str(text), "-o", str(tmp_path / "t"), "--trees", "counts", "--vocab-size", "300", *options])
    tokenizer = TreeTokenizer.load(tmp_path / "t")
    assert (tokenizer.token_to_id(JOIN) is not None) is has_markers is ("markers" in tokenizer.settings)


def test_a_preset_decides_about_markers():
    assert TrainOptions(trees="neural", preset="best").markers is True
    assert TrainOptions(trees="neural", preset="paper").markers is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"markers": 1}, "markers must be true or false, not 1"),
        ({"markers": True, "vocab": "paper"}, "markers are for vocab='compact' alone"),
        ({"markers": True, "preset": "paper", "trees": "neural"}, "markers are for vocab='compact' alone"),
        ({"markers": True, "profile": "uncased"}, "in the profile 'uncased' tokens have no leading spaces"),
        (
            {"markers": True, "special_tokens": ["<join>"]},
            "'<join>' cannot be a special token: it is the name of a marker",
        ),
    ],
)
def test_it_is_refused_where_it_cannot_be(options, message):
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.train(["a text"], 400, **{"trees": "counts", **options})


def test_another_tokenizer_may_learn_from_one_with_a_joiner(joining):
    other = TreeTokenizer.train(["sunflower " * 9], 270, joining, markers=False, progress=False)
    assert other.token_to_id(JOIN) is None
    assert other.decode(other.encode("sunflower flower")) == "sunflower flower"


def test_only_words_of_some_letters_change():
    strings = [" the", " th", " 12345", "the", " don't", " É", "  the", " été", "", " straße", " ﬁsh", " 東京都"]
    assert [marked(Marker.JOIN, string) for string in strings] == [
        *("the", None, None, None, None, None, None, "été", None, "straße", "ﬁsh", "東京都"),
    ]
    assert [marked(Marker.CAP, string) for string in strings] == [
        *(" The", None, None, None, None, None, None, " Été", None, " Straße", None, None),
    ]
    assert [marked(Marker.UPPER, string) for string in strings] == [
        *(" THE", None, None, None, None, None, None, " ÉTÉ", None, None, None, None),
    ]


letters = st.characters(categories=["Ll", "Lu", "Lt", "Lm", "Lo"])


@given(st.lists(st.sampled_from(["", " "]).flatmap(lambda space: st.text(letters, min_size=1).map(space.__add__))))
@example([" aªª", "Aªª", " ος", " ǆab", " ıııı", " ﬀﬀﬀ"])
def test_every_marked_string_has_one_marker_and_one_token(tokens):
    for string, (token, number) in marked_strings(tokens, list(Marker)).items():
        assert string not in tokens
        markers, rest = [], string
        while rest not in tokens:
            marker, rest = unmarked(rest)
            markers.append(marker)
        assert (rest, len(markers)) == (token, number) and changed_by(markers, token) == string


def test_their_names_are_free_where_there_are_none(tmp_path):
    names = ["<|endoftext|>", *(marker.token for marker in Marker)]
    tokenizer = TreeTokenizer.train(["a text"], 300, "counts", markers=False, special_tokens=names, progress=False)
    tokenizer.save(tmp_path / "t")
    assert TreeTokenizer.load(tmp_path / "t").encode("<cap>", allowed_special="all") == [2]


def test_tables_with_markers():
    table = TokenTable([*base_entries(True), *Marker, " the", "the", " cat"], {}, byte_fallback=True)
    joiner, cap, upper = (table.id_of_marker[marker] for marker in Marker)
    the, cat = table.id_of_piece[" the"], table.id_of_piece[" cat"]
    assert table.ids_of_piece("cat") == (joiner, cat) and table.ids_of_piece("the") == (table.id_of_piece["the"],)
    assert table.ids_of_piece(" Cat") == (cap, cat) and table.ids_of_piece(" THE") == (upper, the)
    assert list(table.lengths_of([joiner, cat, the])) == [0, 3, 4]
    assert list(table.lengths_of([cap, cat, the])) == [0, 4, 4]
    assert table.ids_of_piece("é") == tuple("é".encode())
    for entries, specials, message in (
        ([*Marker, Marker.CAP], {}, "appears twice in the vocabulary"),
        ([Marker.CAP], {}, "some of the markers, not all: <join>, <cap>, <upper>"),
        ([*Marker, "<cap>"], {}, "'<cap>' is a marker, and cannot be another token"),
        ([*Marker], {"<cap>": 0}, "'<cap>' is a marker, and cannot be another token"),
    ):
        with pytest.raises(TreetokError, match=message):
            TokenTable([*base_entries(True), *entries], specials, byte_fallback=True)
    with pytest.raises(TreetokError, match="tokens of this profile have no spaces"):
        TokenTable(["a", *Marker], {"[UNK]": 0}, byte_fallback=False)


def joining_segmenter(counts):
    return Segmenter(counts, True, marked_strings(counts, [Marker.JOIN]))


def test_pieces_are_not_merged_into_joined_ones():
    """Two tokens would become two tokens, and the boundary would be lost."""
    counts = {**dict.fromkeys("abcdef ", 1), "abc": 1, "def": 1, " abcdef": 9}
    together, apart = [0, 0, 5, 0, 0], [0, 0, 9, 0, 0]
    joined = joining_segmenter(counts)
    assert joined.cut("abcdef", together) == ["abcdef"]
    assert joined.post_merge(["abc", "def"]) == ["abc", "def"]
    assert Segmenter(counts, True).cut("abcdef", apart) == ["abc", "def"]
    # A joined piece is two tokens: merging it with its neighbour saves two.
    counts |= {" def": 1, "abcdef": 1}
    del counts["def"]
    assert joining_segmenter(counts).post_merge(["abc", "def"]) == ["abcdef"]


def random_trees(seed):
    """Words with and without a leading space, which belongs to the first letter; many are parts of others."""
    rng = random.Random(seed)
    stems = ["".join(rng.choices("ab", k=rng.randint(3, 4))) for _ in range(4)]
    words = {rng.choice(["", " "]) + "".join(rng.choices(stems, k=rng.randint(1, 3))) for _ in range(15)}
    scores = {word: [-1.0 if before == " " else rng.random() for before in word[:-1]] for word in sorted(words)}
    return [(word, of_word, rng.randint(1, 9)) for word, of_word in scores.items()]


def tokens_of(pieces, vocabulary):
    return sum(1 if piece in vocabulary or len(piece) == 1 else 2 for piece in pieces)


@given(st.integers(0, 10_000), st.data())
def test_the_worth_of_a_string_is_the_tokens_it_saves(seed, data):
    trees = random_trees(seed)
    nodes = SharedNodes(trees)
    characters = {nodes.tokens[k] for k in nodes.token[nodes.leaves].tolist()}
    longer = [token for token in nodes.tokens if token not in characters]
    chosen = set(data.draw(st.lists(st.sampled_from(longer))))

    def total(vocabulary):
        segmenter = joining_segmenter(dict.fromkeys(vocabulary, 1))
        return sum(n * tokens_of(segmenter.match_top_down(word, s), vocabulary) for word, s, n in trees)

    present = np.array([token in characters | chosen for token in nodes.tokens])
    costs = token_costs(nodes.tokens, 0)
    cuts = TopDownCuts(nodes, present, nodes.frequencies, costs, joiner=True)
    assert cuts.total == 100 * total(characters | chosen)
    for k, token in enumerate(nodes.tokens):
        if token not in characters:
            saved = total(characters | chosen - {token}) - total(characters | chosen | {token})
            assert cuts.worth[k] == 100 * saved
    # Behind the joiner a token is used, too; the joiner itself is not a string.
    joiners = (cuts.total - 100 * cuts.counts.sum()) / 100
    segmenter = joining_segmenter(dict.fromkeys(characters | chosen, 1))
    pieces = [(p, n) for word, s, n in trees for p in segmenter.match_top_down(word, s)]
    assert joiners == sum(n for p, n in pieces if tokens_of([p], characters | chosen) == 2)


@pytest.mark.parametrize("seed", range(40))
def test_the_total_after_merging_is_that_of_words_segmented_one_by_one(seed):
    trees, rng = random_trees(seed), random.Random(seed)
    nodes = SharedNodes(trees)
    present = np.array([len(token) == 1 or rng.random() < 0.3 for token in nodes.tokens])
    costs = token_costs(nodes.tokens, 0)
    cuts = MergedCuts(nodes, present, present, nodes.frequencies, costs, 0, joiner=True)
    counts = TopDownCuts(nodes, present, nodes.frequencies, costs, joiner=True).counts
    vocabulary = {nodes.tokens[k]: int(counts[k]) for k in np.flatnonzero(present)}
    segmenter = joining_segmenter(vocabulary)
    merged = [(segmenter.post_merge(segmenter.match_top_down(word, s)), n) for word, s, n in trees]
    assert cuts.total == 100 * sum(n * tokens_of(pieces, vocabulary) for pieces, n in merged)


@given(st.integers(0, 10_000), st.data())
def test_markers_never_cost_tokens(seed, data):
    trees = random_trees(seed)
    nodes = SharedNodes(trees)
    vocabulary = dict.fromkeys(" ab", 1) | dict.fromkeys(data.draw(st.lists(st.sampled_from(nodes.tokens))), 2)
    plain, joining = Segmenter(vocabulary, True), joining_segmenter(vocabulary)
    for word, scores, _ in trees:
        pieces = joining.cut(word, scores)
        assert "".join(pieces) == word
        assert tokens_of(pieces, vocabulary) <= len(plain.cut(word, scores))


def test_a_vocabulary_with_a_joiner_needs_fewer_tokens():
    """Stems that stand alone and inside compounds are in it once."""
    stems = ["abcd", "bcde", "cdea", "deab"]
    alone = [(" " + stem, [-1, 0, 0, 0], 50) for stem in stems]
    compounds = [("-" + one + two, [9, 0, 0, 0, 5, 0, 0, 0], 3) for one in stems for two in stems]
    trees = [*alone, *compounds]
    size = 7 + len(stems)
    plain, joined = (
        build_vocabulary(trees, size, alignment=0.3, post_merge=True, joiner=j) for j in (False, True)
    )
    assert {" " + stem for stem in stems} <= joined.keys()

    def tokens(vocabulary, joiner):
        segmenter = joining_segmenter(vocabulary) if joiner else Segmenter(vocabulary, True)
        return sum(n * tokens_of(segmenter.cut(word, s), vocabulary) for word, s, n in trees)

    assert tokens(joined, True) < tokens(plain, False)


def test_words_of_a_real_text_are_joined(sample_text):
    tokenizer = TreeTokenizer.train(SAMPLE_FILES, 1500, "counts", markers=True, progress=False)
    assert tokenizer.decode(tokenizer.encode(sample_text)) == sample_text
    assert joined_words(tokenizer, sample_text)

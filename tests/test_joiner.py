"""The joiner: a token that takes away the leading space of the token after it."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.segment import Segmenter
from treetok.token_table import JOINER, JOINER_NAME, TokenTable, base_entries, joined_string
from treetok.vocabulary import SharedNodes, build_vocabulary
from treetok.vocabulary.merged_cuts import MergedCuts
from treetok.vocabulary.top_down_cuts import TopDownCuts, token_costs

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
    return TreeTokenizer.train([" ".join(words + compounds)], 271, "counts", joiner=True, progress=False)


def joined_words(tokenizer, text):
    tokens = tokenizer.tokenize(text)
    return [after for before, after in pairwise(tokens) if before == JOINER_NAME]


def test_words_serve_inside_other_words(joining):
    assert joining.tokenize(" sunflower") == [" sun", JOINER_NAME, " flower"]
    assert joining.segment("sunflower") == ["sun", "flower"]
    # At the start of a line, too.
    assert joining.tokenize("flower") == [JOINER_NAME, " flower"]
    encoding = joining.encode_with_offsets("a sunflower\nflower")
    places = dict(zip(encoding.offsets, encoding.tokens, strict=True))
    assert places[1, 5] == " sun" and places[5, 5] == JOINER_NAME and places[5, 11] == " flower"
    assert places[12, 12] == JOINER_NAME and places[12, 18] == " flower"


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


# Often the joiner and ` flower`.
@given(st.lists(st.integers(0, 270) | st.sampled_from([257, 261])))
def test_any_ids_decode_and_stream_alike(joining, ids):
    stream = joining.decode_stream()
    assert "".join(map(stream.step, ids)) + stream.finish() == joining.decode(ids)


def test_the_joiner_takes_away_one_space_of_the_next_token_and_nothing_else(joining):
    joiner, flower, special = map(joining.token_to_id, (JOINER_NAME, " flower", "<|endoftext|>"))
    assert joining.id_to_token(joiner) == JOINER_NAME
    assert joining.decode([flower, joiner, flower]) == " flowerflower"
    assert joining.decode([joiner, joiner, flower]) == "flower"
    assert joining.decode([joiner]) == "" and joining.decode([flower, joiner]) == " flower"
    assert joining.decode([joiner, special, flower]) == "<|endoftext|> flower"
    assert joining.decode([joiner, special, flower], skip_special_tokens=True) == "flower"


def test_it_is_saved_and_loaded(joining, tmp_path):
    joining.save(tmp_path / "t")
    loaded = TreeTokenizer.load(tmp_path / "t")
    assert loaded.state.entries == joining.state.entries and joining.settings["joiner"] is True
    assert loaded.tokenize(" sunflower") == [" sun", JOINER_NAME, " flower"]


def test_it_is_off_unless_asked_for(lossless, tmp_path, capsys):
    assert lossless.token_to_id(JOINER_NAME) is None and "joiner" not in lossless.settings
    text = tmp_path / "text.txt"
    text.write_text("a text of some words")
    main(["train", str(text), "-o", str(tmp_path / "t"), "--trees", "counts", "--vocab-size", "300", "--joiner"])
    assert TreeTokenizer.load(tmp_path / "t").token_to_id(JOINER_NAME) is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joiner": 1}, "joiner must be true or false, not 1"),
        ({"joiner": True, "vocab": "paper"}, "joiner is for vocab='compact' alone"),
        ({"joiner": True, "profile": "uncased"}, "in the profile 'uncased' tokens have no leading spaces"),
        ({"special_tokens": [JOINER_NAME]}, "'<join>' cannot be a special token"),
    ],
)
def test_it_is_refused_where_it_cannot_be(options, message):
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.train(["a text"], 400, "counts", **options)


def test_another_tokenizer_may_learn_from_one_with_a_joiner(joining):
    other = TreeTokenizer.train(["sunflower " * 9], 270, joining, progress=False)
    assert other.token_to_id(JOINER_NAME) is None
    assert other.decode(other.encode("sunflower flower")) == "sunflower flower"


def test_only_words_of_some_length_are_joined():
    strings = [" the", " th", " 12345", "the", " don't", " É", "  the", " été", ""]
    assert [joined_string(string) for string in strings] == ["the", *[None] * 6, "été", None]


def test_tables_with_a_joiner():
    table = TokenTable([*base_entries(True), JOINER, " the", "the", " cat"], {}, byte_fallback=True)
    joiner = table.joiner
    assert table.ids_of_piece("cat") == (joiner, 259) and table.ids_of_piece("the") == (258,)
    assert list(table.lengths_of([joiner, 259, 257])) == [0, 3, 4]
    assert table.ids_of_piece("é") == tuple("é".encode())
    with pytest.raises(TreetokError, match="a token appears twice"):
        TokenTable([*base_entries(True), JOINER, JOINER], {}, byte_fallback=True)


def test_pieces_are_not_merged_into_joined_ones():
    """Two tokens would become two tokens, and the boundary would be lost."""
    counts = {**dict.fromkeys("abcdef ", 1), "abc": 1, "def": 1, " abcdef": 9}
    together, apart = [0, 0, 5, 0, 0], [0, 0, 9, 0, 0]
    joined = Segmenter(counts, True, joiner=True)
    assert joined.cut("abcdef", together) == ["abcdef"]
    assert joined.post_merge(["abc", "def"]) == ["abc", "def"]
    assert Segmenter(counts, True).cut("abcdef", apart) == ["abc", "def"]
    # A joined piece is two tokens: merging it with its neighbour saves two.
    counts |= {" def": 1, "abcdef": 1}
    del counts["def"]
    assert Segmenter(counts, True, joiner=True).post_merge(["abc", "def"]) == ["abcdef"]


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
        segmenter = Segmenter(dict.fromkeys(vocabulary, 1), joiner=True)
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
    segmenter = Segmenter(dict.fromkeys(characters | chosen, 1), joiner=True)
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
    segmenter = Segmenter(vocabulary, True, joiner=True)
    assert cuts.total == 100 * sum(n * tokens_of(segmenter.cut(word, s), vocabulary) for word, s, n in trees)


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
        segmenter = Segmenter(vocabulary, True, joiner)
        return sum(n * tokens_of(segmenter.cut(word, s), vocabulary) for word, s, n in trees)

    assert tokens(joined, True) < tokens(plain, False)


def test_words_of_a_real_text_are_joined(sample_text):
    tokenizer = TreeTokenizer.train(SAMPLE_FILES, 1500, "counts", joiner=True, progress=False)
    assert tokenizer.decode(tokenizer.encode(sample_text)) == sample_text
    assert joined_words(tokenizer, sample_text)

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError, TreetokWarning
from treetok.corpus.counted_words import CountedWords
from treetok.corpus.counting import count_words
from treetok.pipeline.vocabulary import could_be_a_piece
from treetok.text import VERSIONS, profile_named
from treetok.vocabulary import build_vocabulary, weights


class LeftBranching:
    """A custom source of trees."""

    def split_scores(self, words):
        return [list(range(len(word) - 1)) for word in words]


class RandomTrees:
    def split_scores(self, words):
        return [[random.Random(f"{word}{i}").random() for i in range(len(word) - 1)] for word in words]


def train(corpus, vocab_size=1200, trees="counts", **options):
    return TreeTokenizer.train(corpus, vocab_size, trees, progress=False, **options)


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
@pytest.mark.parametrize("size", [600, 601, 1234])
def test_the_size_is_exact(profile, size):
    assert train(SAMPLE_FILES, size, profile=profile).vocab_size == size


def test_paths_texts_and_counts_agree(sample_text):
    from_files = train(SAMPLE_FILES, profile="uncased").state.entries
    texts = [path.read_text(encoding="utf-8") for path in SAMPLE_FILES]
    assert train((text for text in texts), profile="uncased").state.entries == from_files
    assert train(Counter(sample_text.split()), profile="uncased").state.entries == from_files


def test_words_counted_before_are_those_of_the_text(tmp_path):
    """With and without a space in front, which bare words always get."""
    texts = ["reader (reader) rereader, x=reader; the reader reads\n  the book.\n\n"] * 3
    counts = count_words(texts, profile_named("lossless")).counts()
    assert counts["reader"] == 9 and counts[" reader"] == 3
    from_text, from_counts, from_words = (
        TreeTokenizer.train(corpus, 300, "counts", progress=False)
        for corpus in (texts, CountedWords(counts), counts)
    )
    from_text.save(tmp_path / "text")
    from_counts.save(tmp_path / "counts")
    assert (tmp_path / "text/vocab.tsv").read_bytes() == (tmp_path / "counts/vocab.tsv").read_bytes()
    assert from_words.settings["distinct_words"] < from_counts.settings["distinct_words"]
    other = TreeTokenizer.train(CountedWords({**counts, "reads": 1}), 300, "counts", progress=False)
    assert other.settings["text_sha256"] != from_counts.settings["text_sha256"]
    with pytest.raises(TreetokError, match="learned from running text, not from word counts"):
        TreeTokenizer.train(CountedWords(counts), 300, "neural", preset="tiny", device="cpu", progress=False)


def test_any_object_with_split_scores_is_a_source(tmp_path, sample_text):
    source = LeftBranching()
    tokenizer = train(SAMPLE_FILES, trees=source)
    assert tokenizer.tree("unseenly").brackets() == "[[[[[[[u n] s] e] e] n] l] y]"
    tokenizer.save(tmp_path)
    with pytest.raises(TreetokError, match="trained with a custom source of trees: pass it to load as trees="):
        TreeTokenizer.load(tmp_path)
    again = TreeTokenizer.load(tmp_path, trees=source)
    assert again.encode(sample_text) == tokenizer.encode(sample_text)
    with pytest.raises(TreetokError, match=r"int have no split_scores"):
        TreeTokenizer.load(tmp_path, trees=3)


def test_the_lexicon_is_consulted_before_the_source(tmp_path):
    train(SAMPLE_FILES, trees=LeftBranching()).save(tmp_path)
    other = TreeTokenizer.load(tmp_path, trees=RandomTrees())
    assert (
        other.tree("windsurfing").spans() == train(SAMPLE_FILES, trees=LeftBranching()).tree("windsurfing").spans()
    )


def test_the_vocabulary_is_that_of_the_construction():
    """Lower-case words without spaces, so that the result can be compared with the bare algorithm. The text is
    such that every option changes the vocabulary: one that is lost on the way is noticed."""
    stems = {"walk": 60, "talk": 40, "jump": 9, "look": 5, "a": 90, "an": 30, "at": 8, "47": 12, "1984": 6}
    words = {
        stem + ending: count * 4 // (1 + 2 * len(ending)) + len(stem)
        for stem, count in stems.items()
        for ending in (("", "s", "ed", "ing", "ers") if len(stem) == 4 and stem.isalpha() else ("",))
    }
    source = RandomTrees()
    trees = [(word, source.split_scores([word])[0], count) for word, count in words.items()]
    size = 14 + len(set("".join(words)))
    found = {}
    for name, options, expected in [
        ("default", {}, {}),
        ("paper", {"vocab": "paper"}, {"method": "paper"}),
        ("rate", {"vocab": "paper", "pruning_rate": 0.05}, {"method": "paper", "pruning_rate": 0.05}),
        ("0", {"alignment": 0}, {"alignment": 0}),
        ("0.8", {"alignment": 0.8}, {"alignment": 0.8}),
    ]:
        tokenizer = train(words, size + 5, trees=source, profile="uncased", **options)
        found[name] = dict(tokenizer.state.entries)
        assert found[name] == build_vocabulary(trees, size, post_merge=True, **expected)
        assert list(found[name].items()) == tokenizer.state.entries
        assert tokenizer.settings["vocab"] == options.get("vocab", "compact")
        is_paper = options.get("vocab") == "paper"
        assert tokenizer.settings.get("alignment") == (None if is_paper else options.get("alignment", 0.31))
        assert tokenizer.state.fewest_tokens is not is_paper
    assert len({frozenset(vocabulary) for vocabulary in found.values()}) == len(found)
    with pytest.raises(TreetokError, match="alignment is for vocab='compact' alone"):
        train(words, size, trees=source, profile="uncased", vocab="paper", alignment=0.5)


@pytest.mark.parametrize(("alignment", "chosen"), [(0.2, "ab"), (0, "12")])
@pytest.mark.parametrize("profile", ["uncased", "lossless"])
def test_single_letters_cost_more_than_digits(profile, alignment, chosen):
    """There is room for one of two strings: that of the more frequent word, or the one that saves letters."""
    size = {"uncased": 5 + 4 + 1, "lossless": 3 + 256 + 3 + 1}[profile]
    # At the start of a text, where words have no leading space.
    tokenizer = train(["ab"] * 10 + ["12"] * 11, size, profile=profile, alignment=alignment)
    assert {token for token, _ in tokenizer.state.entries} & {"ab", "12"} == {chosen}


@pytest.mark.parametrize("alignment", [0, 0.31, 0.5, 1])
def test_words_of_one_letter_are_tokens_at_any_alignment(alignment):
    tokenizer = train(["she saw a boat and a house and I did"] * 5, 300, alignment=alignment)
    assert tokenizer.tokenize("saw a I")[-2:] == [" a", " I"]


def test_the_lexicon_has_the_most_frequent_words():
    counts = {"seldom": 1, "often": 50, "always": 90, "never": 20, "a": 99, "rarely": 20}

    def known(size, **options):
        return train(counts, 275, lexicon_size=size, **options).state.lexicon.words()

    # Words of one letter have no tree, but take a place. Among equals, the alphabet decides.
    assert known(3) == ["always", "often"]
    assert known(4) == ["always", "never", "often"]
    assert known(0) == []
    # All words of a source of one's own: it may not be there when the tokenizer is loaded.
    assert known(1, trees=LeftBranching()) == sorted(word for word in counts if len(word) > 1)


def test_rare_characters_are_left_to_bytes_or_to_the_unknown_token():
    text = "plain text " * 2000 + "naïve"
    for profile, name in (("lossless", "ï"), ("uncased", "v")):
        size = 266 if profile == "lossless" else 15
        everything = train([text], size, profile=profile, character_coverage=1.0)
        assert everything.token_to_id(name) is not None
        assert train([text], size, profile=profile).token_to_id(name) is None
    assert train([text], 266).decode(train([text], 266).encode("naïve")) == "naïve"
    assert train([text], 15, profile="uncased").tokenize("v") == ["[UNK]"]


def test_too_little_text_gives_fewer_tokens_and_says_so():
    with pytest.warns(TreetokWarning, match="the text supports no more than 264 tokens; 5000 were asked for"):
        assert train(["a b a"], 5000).vocab_size == 264


def test_special_tokens_can_be_chosen():
    tokenizer = train(SAMPLE_FILES, special_tokens=["<s>", "</s>"], profile="uncased")
    assert tokenizer.special_tokens == {"<s>": 0, "</s>": 1, "[UNK]": 2}
    assert train(SAMPLE_FILES, special_tokens=[]).special_tokens == {}


def test_special_tokens_are_checked_before_text_is_read():
    def texts():
        raise AssertionError("the text was read")
        yield ""

    for trees in ("counts", "en", "neural"):
        with pytest.raises(TreetokError, match="'cat' cannot be a special token"):
            train(texts(), trees=trees, special_tokens=["cat"])
    # Words of `uncased` are lower-case: this is not among them.
    assert train(["a Cat"], 300, profile="uncased", special_tokens=["Cat"]).special_tokens == {
        "Cat": 0,
        "[UNK]": 1,
    }


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("ab's’  \n\r1-_東กิि", max_size=20), st.data())
def test_every_piece_of_a_word_is_refused_as_a_special_token(text, data):
    for profile in VERSIONS.values():
        for word in profile.split(text):
            start = data.draw(st.integers(0, len(word) - 1))
            end = data.draw(st.integers(start + 1, len(word)))
            assert could_be_a_piece(word[start:end], profile)


def test_every_covered_character_has_a_token_and_the_size_is_exact():
    # Every é is next to a rarer character that is not covered, so that no word of the text is left to show it.
    counts = {"low": 500, "lower": 30, "éü": 3, "éß": 3}
    tokenizer = train(counts, 264, character_coverage=0.996)
    assert tokenizer.token_to_id("é") is not None
    assert tokenizer.token_to_id("ü") is None and tokenizer.token_to_id("ß") is None
    assert tokenizer.vocab_size == 264


def test_numpy_numbers_are_numbers():
    assert train({"walks": np.int64(3)}, np.int32(262)).vocab_size == 262


def test_words_dropped_for_memory_are_reported():
    texts = ("".join(letters) for letters in product("abcdefghij", repeat=4))
    with pytest.warns(TreetokWarning, match="rare words were dropped to stay within 300000 bytes"):
        assert train(texts, 280, memory_limit=300_000).settings["dropped_words"] > 0


def test_rare_words_can_be_left_out():
    tokenizer = train(["often often often seldom"], 262, min_word_count=2, profile="lossless")
    assert tokenizer.settings["distinct_words"] == 1
    assert tokenizer.settings["words_in_corpus"] == 2


def test_progress_is_reported_to_a_function():
    stages = []
    TreeTokenizer.train(SAMPLE_FILES, 1200, "counts", progress=lambda stage, done, total: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["counting words", "building trees", "choosing the vocabulary"]


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        ([], {}, "the corpus has no words"),
        ([""], {}, "the corpus has no words"),
        ({}, {}, "the corpus has no words"),
        ([" \n"], {"profile": "uncased"}, "the corpus has no words"),
        (["a b"], {"min_word_count": 2}, "no words that are frequent enough"),
        (["a b"], {"profile": "cased"}, "unknown profile 'cased'"),
        (["a b"], {"trees": "magic"}, "unknown trees 'magic'"),
        ({"a": 2}, {"trees": "neural"}, "learned from running text, not from word counts"),
        (["a b"], {"trees": 3}, "trees of type int have no split_scores"),
        (["a b"], {"vocab_size": 100}, "vocabulary of 100 is too small.*need at least 262"),
        (["a b"], {"vocab_size": 6, "profile": "uncased"}, "vocabulary of 6 is too small.*need at least 7"),
        (["a b"], {"vocab_size": 0}, "vocab_size must be a whole number of 1 or more"),
        (["a b"], {"vocab_size": "many"}, "vocab_size must be a whole number"),
        (["a b"], {"seed": -1}, "seed must be a whole number of 0 or more"),
        (["a b"], {"character_coverage": 0}, "character_coverage must be a number above 0 and at most 1"),
        (["a b"], {"pruning_rate": 1}, "pruning_rate must be a number above 0 and below 1"),
        (["a b"], {"special_tokens": "<s>"}, "special_tokens is a list of strings"),
        (["a b"], {"special_tokens": ["<s>", "<s>"]}, "the special token '<s>' is given twice"),
        (["a b"], {"special_tokens": [""]}, "must be a string that is not empty"),
        (["a b"], {"special_tokens": {"<s>"}}, "special_tokens is a list of strings, not set"),
        (["a b"], {"special_tokens": ["\ud800"]}, "lone surrogate"),
        (["a b"], {"special_tokens": ["<0x80>"]}, "'<0x80>' cannot be a special token"),
        (["a b"], {"special_tokens": ["a"]}, "'a' cannot be a special token"),
        (["a b"], {"special_tokens": ["cat"]}, r"'cat' cannot be a special token.*as in '<\|cat\|>'"),
        (["a b"], {"special_tokens": [" the"]}, "' the' cannot be a special token"),
        (["a b"], {"special_tokens": ["cat"], "profile": "uncased"}, "'cat' cannot be a special token"),
        (["a b"], {"special_tokens": ["--"]}, "'--' cannot be a special token"),
        (["a b"], {"profile": ["lossless"]}, "unknown profile"),
        (["a b"], {"memory_limit": "4GB"}, "memory_limit must be a whole number"),
        (["a b"], {"pruning_rate": None}, "pruning_rate must be a number"),
        (["a b"], {"trees": LeftBranching}, "trees of type type have no split_scores"),
        ("a b", {"trees": "nothing"}, r"cannot be a single string \('a b'\): pass pathlib.Path"),
        ("a b", {"trees": "neural"}, "cannot be a single string"),
        (7, {}, "a corpus must be paths, texts or word counts, not int"),
    ],
)
def test_bad_input(corpus, options, message):
    with pytest.raises(TreetokError, match=message):
        train(corpus, **{"vocab_size": 300, **options})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0]], "returned 1 results for 2 words"),
        ([[1.0], [1.0]], "shape"),
        ([[1.0, float("nan")], [1.0, 2.0]], "not a finite number"),
        ([None, [1.0, 2.0]], "no list of numbers for 'abc'|shape"),
        ([["x", "y"], [1.0, 2.0]], "no list of numbers for 'abc'"),
        (None, "returned NoneType, not a list"),
        (iter([]), "not a list"),
    ],
)
def test_invalid_scores_from_a_source(answer, message):
    class Bad:
        def split_scores(self, words):
            return answer

    with pytest.raises(TreetokError, match=message):
        train(["abc abd"], 300, trees=Bad(), profile="uncased")


def test_a_stream_of_texts_is_not_kept_in_memory():
    import tracemalloc

    line = "the walkers walked and the talkers talked " * 500

    def texts():
        # Every text is another string, 4 MB in all.
        return (f"{line} {number}" for number in range(200))

    tracemalloc.start()
    tokenizer = train(texts(), 300)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert tokenizer.settings["text_sha256"] == train(reversed(list(texts())), 300).settings["text_sha256"]


def test_plain_names_make_room_for_words(monkeypatch):
    """Rare names leave their room to rare words; a text that capitalises every other word has no names."""
    monkeypatch.setattr(weights, "WORDS_PER_NAME", 1000)
    words = [f"{first}{second}a" for first in "bcdfghklmn" for second in "aeiou"]
    names = [word.capitalize() + "x" for word in words]
    text = " ".join((names + words) * 6 + ["and"] * 30_000)
    size = 310

    def whole(tokenizer, strings):
        entries = {entry for entry, _ in tokenizer.state.entries}
        return sum(" " + string in entries for string in strings)

    aligned, plain = (train([text], size, plain_names=plain) for plain in (False, True))
    assert plain.settings["plain_names"] is True and "plain_names" not in aligned.settings
    assert whole(plain, words) > whole(aligned, words)
    assert whole(plain, names) < whole(aligned, names)
    for options in ({"corpus": [text.replace("and", "And")]}, {"corpus": [text], "alignment": 0}):
        aligned = train(vocab_size=size, **options)
        with pytest.warns(TreetokWarning, match="plain_names has no effect: "):
            plain = train(vocab_size=size, plain_names=True, **options)
        assert plain.state.entries == aligned.state.entries


def test_plain_names_do_nothing_to_frequent_names():
    """In a short text all words are frequent."""
    aligned = train(SAMPLE_FILES, 1200)
    with pytest.warns(TreetokWarning, match="no names rarer than one in 100000 words"):
        assert train(SAMPLE_FILES, 1200, plain_names=True).state.entries == aligned.state.entries


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plain_names": 1}, "plain_names must be true or false, not 1"),
        ({"plain_names": True, "vocab": "paper"}, "plain_names is for vocab='compact' alone"),
        ({"plain_names": True, "profile": "uncased"}, "the profile 'uncased' has no capitals"),
    ],
)
def test_plain_names_are_refused_where_they_cannot_be(options, message):
    with pytest.raises(TreetokError, match=message):
        train(["a text"], 400, trees="counts", **options)

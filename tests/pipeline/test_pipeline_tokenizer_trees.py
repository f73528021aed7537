"""A tokenizer as a source of trees for another one."""

import dataclasses

import pytest

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.lexicon import Lexicon

TEXT = "The mistranslated paperbacks of windsurfers. Café tables,  windsurfing twice: windsurfing!\n" * 3
EMPTY = Lexicon.from_scores({})


def train(trees, corpus=(TEXT,), vocab_size=300, **options):
    return TreeTokenizer.train(list(corpus), vocab_size, trees, progress=False, **options)


def test_trees_are_those_of_the_tokenizer():
    en = TreeTokenizer.load("en")
    mine = train("en")
    assert mine.vocab_size == 300
    # Words of the text, words that only the tokenizer knows, words that neither has seen.
    for word in ("windsurfing", "mistranslated", "blackbirds", "unblorkedly"):
        assert mine.tree(word) == en.tree(word)
    assert (mine.settings["trees"], mine.settings["trees_from"]) == ("tokenizer", "en")
    assert mine.decode(mine.encode(TEXT)) == TEXT


def test_a_tokenizer_is_an_object_a_state_or_a_directory(lossless, tmp_path):
    lossless.save(tmp_path / "counted")
    for trees, name in (
        (lossless, "a tokenizer"),
        (lossless.state, "a tokenizer"),
        (tmp_path / "counted", "counted"),
    ):
        mine = train(str(trees) if name == "counted" else trees)
        for word in ("windsurfing", "mistranslated", "lighthouses", "unblorkedly"):
            assert mine.tree(word) == lossless.tree(word)
        assert mine.settings["trees_from"] == name
        # What was learned there is kept, but for words of one's own text.
        assert set(lossless.state.lexicon.words()) <= set(mine.state.lexicon.words())
    # And it is a source again.
    mine.save(tmp_path / "mine")
    again = train(str(tmp_path / "mine"))
    assert again.tree("lighthouses") == lossless.tree("lighthouses")
    again.save(tmp_path / "again")
    assert TreeTokenizer.load(tmp_path / "again").encode(TEXT) == again.encode(TEXT)


def test_the_lexicon_may_be_small(lossless):
    """The most frequent words of one's own text first, then what the other tokenizer knows."""
    text = "windsurfing " * 9 + "bluebottles " * 5 + "greenhorns " * 2 + "seldom"
    known = lossless.state.lexicon.words()
    assert train(lossless, [text], lexicon_size=2).state.lexicon.words() == ["bluebottles", "windsurfing"]
    # `seldom` is a word seen once, whose tree is that of the source anyway.
    more = train(lossless, [text], lexicon_size=6).state.lexicon.words()
    own = {"windsurfing", "bluebottles", "greenhorns"}
    assert more == sorted(own | set([word for word in known if word not in own][:3]))


def test_the_trees_of_another_profile(lossless, uncased):
    mine = train(uncased, [f"{TEXT} éclair"], vocab_size=300, profile="lossless")
    assert mine.tree("windsurfing") == uncased.tree("windsurfing")
    # Accents are stripped there, and looked at here.
    assert mine.tree("Café").scores() == uncased.tree("cafe").scores()
    # Also where the text has the word only once.
    assert mine.state.lexicon.scores("éclair") is not None
    assert mine.tree("éclair").scores() == uncased.tree("eclair").scores()
    assert mine.decode(mine.encode(TEXT)) == TEXT
    assert train(lossless, profile="uncased", vocab_size=70).tree("paperbacks") == lossless.tree("paperbacks")


def test_trees_of_a_tokenizer_with_another_version_of_the_profile():
    """From version 2 to version 1 and back."""
    text = f"{TEXT} The friend’s हिन्दी books, {'東京' * 20}tower. " * 2
    tree = TreeTokenizer.load("en").tree("windsurfing")
    old = train("en", [text], vocab_size=400, profile_version=1)
    new = train(old, [text], vocab_size=400)
    for tokenizer, version in ((old, 1), (new, 2)):
        assert tokenizer.state.profile_version == version
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.tree("windsurfing") == tree
    assert max(map(len, new.tokenize("東京" * 20))) <= 8 < max(map(len, old.tokenize("東京" * 20)))
    old = train("en-uncased", [text], vocab_size=100, profile="uncased", profile_version=1)
    new = train(old, [text], vocab_size=100, profile="uncased")
    assert old.tree("windsurfing") == new.tree("windsurfing") == tree
    assert (old.tokenize("friend’s")[-1], new.tokenize("friend’s")[-1]) == ("s", "’s")


def test_a_small_text_is_helped_by_the_vocabulary_of_the_tokenizer(lossless):
    # Its vocabulary is what matters here: other trees take less time.
    en = dataclasses.replace(TreeTokenizer.load("en").state, lexicon=EMPTY, source=lossless.state.source)
    plain, with_prior = (train(en, SAMPLE_FILES, 3000, prior=prior) for prior in (0, 2_000_000))
    # By default the prior does not outweigh the text.
    default = train(en, SAMPLE_FILES, 3000)
    words = default.settings["words_in_corpus"]
    # Rare tokens are rounded away.
    assert 0.8 * words < default.settings["prior_words"] <= words
    assert train(en, SAMPLE_FILES, 3000, prior=words).state.entries == default.state.entries
    counts = dict(en.entries)

    def frequent(tokenizer):
        """How often the tokens of a vocabulary occur in much text."""
        return sum(counts.get(entry, 0) for entry, _ in tokenizer.state.entries)

    assert frequent(with_prior) > 1.02 * frequent(plain)
    text = SAMPLE_FILES[0].read_text(encoding="utf-8")
    assert with_prior.decode(with_prior.encode(text)) == text


def test_what_is_no_source_of_trees(tmp_path):
    with pytest.raises(TreetokError, match="unknown trees 'nope': choose 'neural', 'counts' or a tokenizer"):
        train("nope")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TreetokError, match=r"is not a tokenizer: treetok\.json is missing"):
        train(str(tmp_path / "empty"))
    with pytest.raises(TreetokError, match="a prior needs a tokenizer of the same profile"):
        train("en-uncased", prior=5)
    with pytest.raises(TreetokError, match="prior must be at most"):
        train("en", prior=10**20)
    with pytest.raises(TreetokError, match="prior is for the trees of a tokenizer alone"):
        train("counts", prior=5)
    with pytest.raises(TreetokError, match="preset: for neural trees alone"):
        train("en", preset="tiny")


def test_the_command(lossless, tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    lossless.save(tmp_path / "counted")
    out, trees = tmp_path / "out", str(tmp_path / "counted")
    command = ["train", str(tmp_path / "text.txt"), "-o", str(out), "--trees", trees, "--vocab-size", "300"]
    assert main(command) == 0
    assert "300 tokens" in capsys.readouterr().out
    assert TreeTokenizer.load(out).state.entries == train(lossless).state.entries
    assert not (out / "training").exists()
